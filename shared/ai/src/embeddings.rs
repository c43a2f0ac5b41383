//! Vectors of texts, by a server with the interface of `OpenAI` (`POST {base}/v1/embeddings`): `OpenAI` itself and many others,
//! also on one's own machine. The simulated model takes the place of one only where the setting names it.

#[cfg(test)]
mod tests;

use crate::openai_server::{ServerFailure, build_server_url, exchange_with_server};
use async_trait::async_trait;
use futures::future::{Either, select};
use recado_domain::config::CredentialRef;
use recado_knowledge_search::hash_ngrams;
use recado_ports::ports::{Embedder, EmbeddingError, Embeddings, Secrets, System};
use recado_ports::settings::VariableReader;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use std::pin::pin;
use std::time::Duration;

/// Name of the environment variable that holds the key.
pub const EMBEDDINGS_KEY: &str = "RECADO_EMBEDDINGS_KEY";

/// Name of the simulated model, which is also the value of the setting that asks for it.
const SIMULATED: &str = "simulated";

/// Dimensions of the simulated model.
const SIMULATED_DIMENSIONS: usize = 512;

/// Longest text that is sent. Embedding models read some thousand words.
const TEXT_BYTES_MAX: usize = 32_000;

/// Length of all texts of one request, beyond which the next texts go into another.
const REQUEST_BYTES_MAX: usize = 400_000;

/// Largest answer that is read: 256 vectors of 4096 dimensions, each number in 24 characters.
const ANSWER_BYTES_MAX: u64 = 256 * 4096 * 24;

/// Where vectors come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddingSource {
    /// From nowhere: there is no embedding model.
    Off,
    /// From the letters of the texts, without a model.
    Simulated,
    /// From a server at this address, with or without `/v1`.
    Server(String),
}

/// The settings of the embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// Where vectors come from (`RECADO_EMBEDDINGS_URL`).
    pub source: EmbeddingSource,
    /// Name of the model (`RECADO_EMBEDDINGS_MODEL`).
    pub model: String,
    /// Reference to the key. A server without a key is asked without one.
    pub key: CredentialRef,
    /// Largest number of texts in one request (`RECADO_EMBEDDINGS_BATCH`).
    pub batch: usize,
    /// Longest time for one request (`RECADO_EMBEDDINGS_TIMEOUT_SECONDS`).
    pub timeout: Duration,
}

impl Default for EmbeddingSettings {
    fn default() -> Self {
        Self {
            source: EmbeddingSource::Off,
            model: "text-embedding-3-small".to_owned(),
            key: CredentialRef::Env(EMBEDDINGS_KEY.to_owned()),
            batch: 64,
            timeout: Duration::from_secs(20),
        }
    }
}

impl EmbeddingSettings {
    /// Reads the settings from the environment. The key is read when it is needed.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let usual = Self::default();
        reader.add_known_names(&[EMBEDDINGS_KEY]);
        let address = "must be simulated, or a URL that begins with http:// or https://";
        let seconds = reader.read_number(
            &["RECADO_EMBEDDINGS_TIMEOUT_SECONDS"],
            (1.0, 60.0),
            usual.timeout.as_secs_f64(),
        );
        Self {
            source: reader.read_parsed(
                "RECADO_EMBEDDINGS_URL",
                usual.source,
                address,
                |text| match text {
                    SIMULATED => Some(EmbeddingSource::Simulated),
                    url => build_endpoint_url(url).map(|_| EmbeddingSource::Server(url.to_owned())),
                },
            ),
            model: reader.read_text("RECADO_EMBEDDINGS_MODEL").unwrap_or(usual.model),
            key: usual.key,
            batch: reader.read_number(&["RECADO_EMBEDDINGS_BATCH"], (1, 256), usual.batch),
            timeout: Duration::from_secs_f64(seconds),
        }
    }
}

fn build_endpoint_url(base: &str) -> Option<Url> {
    build_server_url(base, "embeddings")
}

/// A client of a server with an embedding model. It asks `S` for the key at every call, so a new key needs no restart.
#[derive(Debug, Clone)]
pub struct EmbeddingClient<S, A> {
    http: reqwest::Client,
    settings: EmbeddingSettings,
    secrets: S,
    system: A,
}

#[derive(Serialize)]
struct EmbeddingQuestion<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

#[derive(Deserialize)]
struct EmbeddingAnswer {
    data: Vec<IndexedVector>,
}

#[derive(Deserialize)]
struct IndexedVector {
    index: usize,
    embedding: Vec<f32>,
}

impl<S: Secrets, A: System> EmbeddingClient<S, A> {
    /// Creates a client that sends through `http`, which should follow no redirects (as `recado_http_client` makes it).
    pub fn new(http: reqwest::Client, settings: EmbeddingSettings, secrets: S, system: A) -> Self {
        Self {
            http,
            settings,
            secrets,
            system,
        }
    }

    /// Asks for the vectors of all texts, batch by batch.
    async fn request_vectors(&self, url: &Url, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let mut vectors: Vec<Vec<f32>> = Vec::with_capacity(texts.len());
        for batch in split_batches(texts, self.settings.batch) {
            let call = pin!(self.request_batch(url, batch));
            let alarm = pin!(self.system.sleep(self.settings.timeout));
            let answered = match select(call, alarm).await {
                Either::Left((answered, _)) => answered?,
                Either::Right(_) => return Err(EmbeddingError::TooSlow),
            };
            vectors.extend(answered);
        }
        let dimensions = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != dimensions) {
            return Err(unusable_answer("vectors of different dimensions"));
        }
        Ok(vectors)
    }

    async fn request_batch(&self, url: &Url, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingError> {
        let question = EmbeddingQuestion {
            model: &self.settings.model,
            input: texts,
            encoding_format: "float",
        };
        let request = self.http.post(url.clone()).json(&question);
        let key = &self.settings.key;
        let body = exchange_with_server(url, request, &self.secrets, key, ANSWER_BYTES_MAX).await?;
        parse_vectors(&body, texts.len())
    }
}

impl From<ServerFailure> for EmbeddingError {
    fn from(failure: ServerFailure) -> Self {
        match failure {
            ServerFailure::Credentials(why) => Self::Credentials(why),
            ServerFailure::Unavailable { why, after } => Self::Unavailable { why, after },
            ServerFailure::Refused(why) => Self::Refused(why),
        }
    }
}

/// Returns the failure of an answer that does not fit the question. Another attempt may get a better one.
fn unusable_answer(what: &str) -> EmbeddingError {
    ServerFailure::unavailable(format!("an answer with {what}")).into()
}

/// Splits texts into batches of `most` texts and [`REQUEST_BYTES_MAX`] at most.
fn split_batches(texts: &[String], most: usize) -> Vec<&[String]> {
    let mut batches = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (place, text) in texts.iter().enumerate() {
        if place > start && (place - start >= most || bytes + text.len() > REQUEST_BYTES_MAX) {
            batches.extend(texts.get(start..place));
            (start, bytes) = (place, 0);
        }
        bytes += text.len();
    }
    batches.extend(texts.get(start..).filter(|rest| !rest.is_empty()));
    batches
}

/// Reads the vectors of an answer in the order of their `index`: one for each text, of finite numbers.
fn parse_vectors(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, EmbeddingError> {
    let answer: EmbeddingAnswer =
        serde_json::from_slice(body).map_err(|_| unusable_answer("another form than vectors"))?;
    if answer.data.len() != texts {
        return Err(unusable_answer("another number of vectors than texts"));
    }
    let mut data = answer.data;
    data.sort_by_key(|vector| vector.index);
    if data
        .iter()
        .enumerate()
        .any(|(place, vector)| vector.index != place)
    {
        return Err(unusable_answer(
            "vectors whose numbers are not those of the texts",
        ));
    }
    let is_vector = |vector: &IndexedVector| {
        !vector.embedding.is_empty() && vector.embedding.iter().all(|x| x.is_finite())
    };
    if !data.iter().all(is_vector) {
        return Err(unusable_answer("a vector that is empty or not finite"));
    }
    Ok(data.into_iter().map(|vector| vector.embedding).collect())
}

/// Refuses texts that no server takes.
fn check_texts(texts: &[String]) -> Result<(), EmbeddingError> {
    if texts.iter().any(|text| text.trim().is_empty()) {
        return Err(EmbeddingError::Refused("a text is empty".to_owned()));
    }
    match texts.iter().map(String::len).max() {
        Some(bytes) if bytes > TEXT_BYTES_MAX => Err(EmbeddingError::Refused(format!(
            "a text has {bytes} bytes, and at most {TEXT_BYTES_MAX} are sent"
        ))),
        _ => Ok(()),
    }
}

#[async_trait]
impl<S: Secrets, A: System> Embedder for EmbeddingClient<S, A> {
    fn embedding_model(&self) -> Option<&str> {
        match &self.settings.source {
            EmbeddingSource::Off => None,
            EmbeddingSource::Simulated => Some(SIMULATED),
            EmbeddingSource::Server(_) => Some(&self.settings.model),
        }
    }

    async fn embed_texts(&self, texts: &[String], within: Duration) -> Result<Embeddings, EmbeddingError> {
        let model = self
            .embedding_model()
            .ok_or(EmbeddingError::NotConfigured)?
            .to_owned();
        check_texts(texts)?;
        let vectors = match &self.settings.source {
            EmbeddingSource::Server(base) => {
                let url = build_endpoint_url(base)
                    .ok_or_else(|| EmbeddingError::Refused("the server's URL cannot be used".to_owned()))?;
                let call = pin!(self.request_vectors(&url, texts));
                let alarm = pin!(self.system.sleep(within));
                match select(call, alarm).await {
                    Either::Left((answered, _)) => answered?,
                    Either::Right(_) => return Err(EmbeddingError::TooSlow),
                }
            }
            _ => texts
                .iter()
                .map(|text| hash_ngrams(text, SIMULATED_DIMENSIONS))
                .collect(),
        };
        Ok(Embeddings {
            dimensions: vectors.first().map_or(0, Vec::len),
            vectors,
            model,
        })
    }
}
