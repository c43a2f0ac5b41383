//! The models that an installation uses.

mod tools;

use crate::documents::DocumentReaderPool;
use crate::embeddings::EmbeddingClient;
use crate::http_agent::HttpAgents;
use crate::knowledge::{fetch_document, find_index_vectors, load_index, renew_snapshot, search_index};
use crate::model_client::{ModelClient, ModelClientError, ModelClientSettings};
use crate::model_provider::OTHER_PROVIDERS;
use crate::model_settings::ModelSettings;
use crate::simulated::Simulated;
use crate::transcription::TranscriptionClient;
use async_trait::async_trait;
use recado_domain::config::{USUAL_MODEL_PROVIDER, split_model_name};
use recado_domain::ids::Ordinal;
use recado_domain::knowledge::{FoundBlocks, KnowledgeSnapshot, SnapshotName, SplitDocument};
use recado_domain::model_files::FileOmission;
use recado_google_calendar::GoogleCalendar;
use recado_http_client::GuardedClients;
use recado_knowledge_search::{KnowledgeIndexCache, SplitSettings};
use recado_ports::ports::{
    DocumentReader, DocumentToRead, Embedder, EmbeddingError, Embeddings, FetchedDocument, HttpAgentRequest,
    KnowledgeLibrary, KnownVectors, LibraryError, Llm, LlmError, LlmReply, LlmRequest, PageFailure,
    PortResult, ReadDocument, ReadingFailure, Recording, RefusedFiles, SearchedQuestion, Secrets, System,
    Transcriber, Transcript, TranscriptionError,
};
use recado_tools::{AgentTools, HttpTools};
use std::sync::Arc;
use std::time::Duration;

/// The models of an installation. A request says whether the real or the simulated one answers it. Clones share their parts.
#[derive(Debug, Clone)]
pub struct Model<S, A> {
    parts: Arc<ModelParts<S, A>>,
}

#[derive(Debug)]
struct ModelParts<S, A> {
    /// Claude. Without a key, every call fails with [`LlmError::Credentials`], and turns wait until a key is set.
    claude: ModelClient<S, A>,
    /// The models of other providers, in the order of [`OTHER_PROVIDERS`].
    others: Vec<ModelClient<S, A>>,
    /// The simulated model, which answers for simulated instances.
    simulated: Simulated<A>,
    /// The server that transcribes recordings, if there is one.
    transcription: TranscriptionClient<S, A>,
    /// The embedding model, if there is one.
    embeddings: EmbeddingClient<S, A>,
    tools: AgentTools<S, A>,
    /// The agents that users run.
    http_agents: HttpAgents<S, A>,
    /// The indexes of knowledge that this process uses.
    index_cache: KnowledgeIndexCache,
    /// The clients for pages that become documents.
    pages: GuardedClients,
    documents: DocumentReaderPool,
}

impl<S: Secrets + Clone, A: System + Clone> Model<S, A> {
    /// Creates the models.
    pub fn new(
        http: reqwest::Client,
        settings: &ModelSettings,
        secrets: S,
        system: A,
    ) -> Result<Self, ModelClientError> {
        let of_claude = ModelClientSettings {
            base_url: settings.base_url.clone(),
            ..ModelClientSettings::default()
        };
        let others = OTHER_PROVIDERS.iter().zip(&settings.other_base_urls);
        let others = others.map(|(provider, base_url)| {
            let of_provider = ModelClientSettings {
                base_url: base_url.clone(),
                ..ModelClientSettings::of_provider(provider)
            };
            ModelClient::new(http.clone(), of_provider, secrets.clone(), system.clone())
        });
        let clients = GuardedClients::default();
        let parts = ModelParts {
            others: others.collect::<Result<_, _>>()?,
            tools: AgentTools::new(
                HttpTools::new(clients.clone(), secrets.clone()),
                GoogleCalendar::new(
                    http.clone(),
                    secrets.clone(),
                    system.clone(),
                    settings.calendar.clone(),
                ),
            ),
            pages: clients.clone(),
            documents: DocumentReaderPool::new(settings.documents),
            http_agents: HttpAgents::new(clients, secrets.clone(), system.clone()),
            claude: ModelClient::new(http.clone(), of_claude, secrets.clone(), system.clone())?,
            embeddings: EmbeddingClient::new(
                http.clone(),
                settings.embeddings.clone(),
                secrets.clone(),
                system.clone(),
            ),
            transcription: TranscriptionClient::new(
                http,
                settings.transcription.clone(),
                secrets,
                system.clone(),
            ),
            simulated: Simulated::new(system, settings.simulated_latency),
            index_cache: KnowledgeIndexCache::with_capacity(settings.knowledge_kept_bytes),
        };
        Ok(Self {
            parts: Arc::new(parts),
        })
    }
}

impl<S: Secrets, A: System> Model<S, A> {
    /// Returns the client of the provider that has a model.
    fn find_client(&self, model: &str) -> Result<&ModelClient<S, A>, LlmError> {
        let (name, _) = split_model_name(model);
        if name == USUAL_MODEL_PROVIDER {
            return Ok(&self.parts.claude);
        }
        let mut others = OTHER_PROVIDERS.iter().zip(&self.parts.others);
        let found = others.find(|(provider, _)| provider.name == name);
        let names = || {
            let names: Vec<&str> = OTHER_PROVIDERS.iter().map(|provider| provider.name).collect();
            names.join(", ")
        };
        found
            .map(|(_, client)| client)
            .ok_or_else(|| LlmError::Refused(format!("no provider of models is named `{name}`: {}", names())))
    }
}

#[async_trait]
impl<S: Secrets, A: System> Llm for Model<S, A> {
    async fn has_key(&self) -> PortResult<bool> {
        if self.parts.claude.has_key().await? {
            return Ok(true);
        }
        for client in &self.parts.others {
            if client.has_key().await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn list_models(&self) -> Vec<String> {
        self.parts.claude.list_models().await
    }

    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        if request.simulated {
            self.parts.simulated.generate_reply(request).await
        } else {
            self.find_client(&request.model)?.generate_reply(request).await
        }
    }

    fn find_unopened_files(&self, request: &LlmRequest) -> Vec<(Ordinal, FileOmission)> {
        match self.find_client(&request.model) {
            Ok(client) if !request.simulated => client.find_unopened_files(request),
            _ => Vec::new(),
        }
    }

    async fn find_refused_files(&self, request: &LlmRequest) -> Option<RefusedFiles> {
        match self.find_client(&request.model) {
            Ok(client) if !request.simulated => client.find_refused_files(request).await,
            _ => None,
        }
    }

    async fn ask_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, LlmError> {
        self.parts.http_agents.ask(request).await
    }

    async fn check_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<(), LlmError> {
        self.parts.http_agents.check(request).await
    }
}

#[async_trait]
impl<S: Secrets, A: System> DocumentReader for Model<S, A> {
    async fn read_document(
        &self,
        document: DocumentToRead<'_>,
        within: Duration,
    ) -> Result<ReadDocument, ReadingFailure> {
        self.parts.documents.read_text(document, within).await
    }
}

#[async_trait]
impl<S: Secrets, A: System> Embedder for Model<S, A> {
    fn embedding_model(&self) -> Option<&str> {
        self.parts.embeddings.embedding_model()
    }

    async fn embed_texts(&self, texts: &[String], within: Duration) -> Result<Embeddings, EmbeddingError> {
        self.parts.embeddings.embed_texts(texts, within).await
    }
}

#[async_trait]
impl<S: Secrets, A: System> KnowledgeLibrary for Model<S, A> {
    async fn split_document(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        block_characters: usize,
    ) -> Result<SplitDocument, ReadingFailure> {
        let settings = SplitSettings {
            characters_max: block_characters,
        };
        let documents = &self.parts.documents;
        documents.split_into_blocks(title, document, settings).await
    }

    async fn fetch_page(
        &self,
        url: &str,
        private_hosts: bool,
        bytes_max: u64,
        within: Duration,
    ) -> Result<FetchedDocument, PageFailure> {
        fetch_document(&self.parts.pages, url, private_hosts, bytes_max, within).await
    }

    async fn renew_analysis(&self, snapshot: KnowledgeSnapshot) -> Result<KnowledgeSnapshot, LibraryError> {
        renew_snapshot(snapshot).await
    }

    fn has_snapshot(&self, name: &SnapshotName) -> bool {
        self.parts.index_cache.find_index(name).is_some()
    }

    async fn load_snapshot(&self, name: &SnapshotName, bytes: Vec<u8>) -> Result<(), LibraryError> {
        load_index(&self.parts.index_cache, name, bytes).await
    }

    fn find_snapshot_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        find_index_vectors(&self.parts.index_cache, name)
    }

    async fn search_snapshot(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        search_index(&self.parts.index_cache, name, question, limit).await
    }
}

#[async_trait]
impl<S: Secrets, A: System> Transcriber for Model<S, A> {
    fn explain_refusal(&self, bytes: u64, simulated: bool) -> Option<TranscriptionError> {
        if simulated {
            return None;
        }
        self.parts.transcription.explain_refusal(bytes, false)
    }

    fn transcription_model(&self) -> Option<&str> {
        self.parts.transcription.transcription_model()
    }

    async fn transcribe_recording(&self, recording: Recording) -> Result<Transcript, TranscriptionError> {
        if recording.simulated {
            return self.parts.simulated.transcribe_recording(recording).await;
        }
        self.parts.transcription.transcribe_recording(recording).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{DocumentSettings, ReadingPlace};
    use crate::embeddings::EmbeddingSettings;
    use crate::model_client::tests::{KeyBox, Time, request};
    use crate::transcription::TranscriptionSettings;
    use recado_domain::ids::TenantId;
    use recado_domain::media_type::MediaType;
    use recado_domain::message::TextGap;
    use recado_google_calendar::GoogleCalendarConfig;

    fn model(keys: KeyBox) -> Model<KeyBox, Time> {
        let http = recado_http_client::build_http_client().unwrap();
        let settings = ModelSettings {
            base_url: "http://127.0.0.1:9".to_owned(),
            other_base_urls: OTHER_PROVIDERS
                .each_ref()
                .map(|provider| provider.base_url.to_owned()),
            simulated_latency: Duration::ZERO,
            transcription: TranscriptionSettings::default(),
            embeddings: EmbeddingSettings::default(),
            calendar: GoogleCalendarConfig::default(),
            documents: DocumentSettings {
                place: ReadingPlace::Thread,
                ..DocumentSettings::default()
            },
            knowledge_kept_bytes: 0,
        };
        Model::new(http, &settings, keys, Time::default()).unwrap()
    }

    #[tokio::test]
    async fn the_request_decides_which_model_answers_and_the_key_does_not() {
        let simulated = LlmRequest {
            simulated: true,
            ..request()
        };
        for keys in [KeyBox::empty(), KeyBox::with("k")] {
            let reply = model(keys).generate_reply(&simulated).await.unwrap();
            assert!(reply.text.starts_with("[simulated]"));
            assert_eq!(reply.model, "simulated");
        }
    }

    #[tokio::test]
    async fn a_transcript_is_simulated_for_a_simulated_instance_and_for_no_other() {
        let recording = |simulated| Recording {
            bytes: b"OggS".to_vec(),
            media_type: recado_domain::media_type::MediaType::Ogg,
            simulated,
        };
        let model = model(KeyBox::empty());
        let transcript = model.transcribe_recording(recording(true)).await.unwrap();
        assert_eq!(
            transcript.text,
            "[simulated] the words of a recording (ogg) of 4 bytes"
        );
        assert_eq!(transcript.model, "simulated");
        let real = model.transcribe_recording(recording(false)).await;
        assert_eq!(real, Err(TranscriptionError::NotConfigured));
    }

    #[tokio::test]
    async fn a_document_is_read_and_a_damaged_one_refused() {
        let model = model(KeyBox::empty());
        let tenant = TenantId::parse("t1").unwrap();
        let document = |bytes: &[u8], media_type| DocumentToRead {
            tenant: &tenant,
            bytes: bytes.to_vec(),
            media_type,
            charset: None,
        };
        let within = Duration::from_secs(20);
        let read = model
            .read_document(document(b"dose;2 ml", MediaType::Csv), within)
            .await;
        assert_eq!(read.unwrap().text, "dose;2 ml");
        for (bytes, media_type, gap) in [
            (&b"PK"[..], MediaType::Docx, TextGap::Unreadable),
            (b"OggS", MediaType::Ogg, TextGap::OtherType),
        ] {
            let refused = model.read_document(document(bytes, media_type), within).await;
            assert_eq!(refused, Err(gap.into()));
        }
    }

    #[tokio::test]
    async fn a_key_is_looked_for_and_not_tried() {
        assert!(!model(KeyBox::empty()).has_key().await.unwrap());
        assert!(model(KeyBox::with("k")).has_key().await.unwrap());
    }

    #[tokio::test]
    async fn a_provider_that_does_not_exist_is_refused_with_those_that_do() {
        let asked = LlmRequest {
            model: "acme::gpt".to_owned(),
            ..request()
        };
        let error = model(KeyBox::with("k")).generate_reply(&asked).await.unwrap_err();
        assert!(matches!(error, LlmError::Refused(_)));
        assert!(
            error
                .to_string()
                .contains("`acme`: openai, gemini, bedrock, ollama"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn claude_without_a_key_says_so_and_nothing_is_sent() {
        assert!(matches!(
            model(KeyBox::empty()).generate_reply(&request()).await,
            Err(LlmError::Credentials(_))
        ));
    }
}
