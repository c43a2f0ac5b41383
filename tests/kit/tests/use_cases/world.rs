//! A world on a clock of its own: the real use cases and the real store, a provider that answers as it is told.

use crate::counter::Counter;
use crate::memory::Memory;
use crate::web_pages::WebPages;
use async_trait::async_trait;
use futures::future::BoxFuture;
use recado_domain::access::Caller;
use recado_domain::calendar::TimeSpan;
use recado_domain::config::{Calendar, ConfigError, CredentialRef, Instance, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MessageTemplate};
use recado_domain::context::{MessageContext, QuotedMessage};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::debounce::Debounce;
use recado_domain::decision::{AgentDecision, OfferedDecisions};
use recado_domain::delivery::{Delivery, DeliveryKey};
use recado_domain::effects::EffectId;
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::inbound::{InboundEvent, InboundMessage};
use recado_domain::instance::SeenStanding;
use recado_domain::knowledge::{FoundBlocks, KnowledgeSnapshot, SnapshotName, SplitDocument};
use recado_domain::message::{FileLoss, Message, TextGap, TokenUsage};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::model_files::FileOmission;
use recado_domain::options::SendOptions;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::reason::Reason;
use recado_domain::thread_hold::ThreadControl;
use recado_domain::tools::{McpListing, Tool};
use recado_domain::wake_up::{OutboundJob, SendJob, TurnJob, TurnsJob};
use recado_domain::{SignedDuration, Timestamp};
use recado_embedded::{Clock, Embedded};
use recado_features::FEATURES;
use recado_knowledge_search::hash_ngrams;
use recado_pipeline::ports::{
    BookedEvent, ChatFile, CommitOutcome, ConnectionAnswer, Conversations, CredentialState, DocumentReader,
    DocumentToRead, EffectTool, Embedder, EmbeddingError, Embeddings, EventChange, FetchedDocument,
    FetchedFile, FileBytes, FileError, FileRequest, HistoryError, HistoryPage, HistorySpan, HttpAgentRequest,
    InboundWrite, Inbox, KnowledgeLibrary, KnownVectors, LibraryError, Llm, LlmError, LlmReply, LlmRequest,
    ModelCall, OfferedTool, OutboxStore, OutgoingMessage, PageFailure, PictureAnswer, Providers,
    ReadDocument, ReadingFailure, RecordEventOutcome, Recording, RecordingUse, RefusedFiles,
    SearchedQuestion, SendEvidence, SendOutcome, StoreInboundOutcome, System, TemplateAnswer, ToolExchange,
    ToolFailure, ToolLimits, Tools, Transcriber, Transcript, TranscriptionError, UnacknowledgedSend,
};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Components, Settings, Verdict, handle_turns_message, process};
use recado_sends::{AcceptedMessage, DeliverRequest};
use recado_testkit::builders::{BASE, Fixture, correlation, identity_key};
use recado_testkit::ports::succeed;
use recado_testkit::text_library::TextLibrary;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Time that only waiting moves, and numbers that count.
#[derive(Debug, Clone)]
pub(crate) struct Time {
    now: Arc<AtomicI64>,
    randoms: Arc<AtomicU64>,
    /// Milliseconds that pass when the next number is drawn.
    stall: Arc<AtomicI64>,
    /// What happens at its time, the earliest first, in milliseconds.
    coming: Arc<Mutex<VecDeque<(i64, Meanwhile)>>>,
}

impl Time {
    pub(crate) fn pass(&self, milliseconds: i64) {
        self.now.fetch_add(milliseconds, Ordering::SeqCst);
    }

    /// Lets something happen at this time, if somebody waits then.
    pub(crate) fn happens_at(
        &self,
        at: Timestamp,
        what: impl Future<Output = ()> + std::marker::Send + 'static,
    ) {
        let meanwhile = Meanwhile::default();
        meanwhile.set(what);
        let (at, mut coming) = (at.as_millisecond(), self.coming.lock().unwrap());
        let place = coming.partition_point(|(known, _)| *known <= at);
        coming.insert(place, (at, meanwhile));
    }

    /// Lets the time pass, and what comes in it happen at its time.
    pub(crate) async fn wait(&self, milliseconds: i64) {
        let until = self.now.load(Ordering::SeqCst) + milliseconds;
        while let Some((at, what)) = self.take_next(until) {
            self.now.fetch_max(at, Ordering::SeqCst);
            let what = what.0.lock().unwrap().take();
            what.unwrap().await;
        }
        self.now.fetch_max(until, Ordering::SeqCst);
    }

    fn take_next(&self, until: i64) -> Option<(i64, Meanwhile)> {
        let mut coming = self.coming.lock().unwrap();
        let is_due = coming.front().is_some_and(|(at, _)| *at <= until);
        if is_due { coming.pop_front() } else { None }
    }

    /// Lets the worker that draws the next random number stall there.
    pub(crate) fn stall_at_next_number(&self, milliseconds: i64) {
        self.stall.store(milliseconds, Ordering::SeqCst);
    }
}

#[async_trait]
impl System for Time {
    fn now(&self) -> Timestamp {
        from_unix_millis(self.now.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.pass(self.stall.swap(0, Ordering::SeqCst));
        self.randoms.fetch_add(1, Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        self.wait(i64::try_from(duration.as_millis()).unwrap()).await;
        // Who sleeps lets others go on.
        tokio::task::yield_now().await;
    }
}

/// The longest text that the provider takes.
pub(crate) const TEXT_MAX: usize = 200;

/// What the provider answers next (accepted, if nothing is said), and what it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Provider {
    pub(crate) outcomes: Arc<Mutex<VecDeque<SendOutcome>>>,
    pub(crate) connection: Arc<Mutex<ConnectionAnswer>>,
    /// Its answer about the connection to the next question alone.
    connection_once: Arc<Mutex<Option<ConnectionAnswer>>>,
    /// What it tells of a send of unknown outcome.
    pub(crate) evidence: Arc<Mutex<SendEvidence>>,
    /// Under which names it was asked for that last.
    pub(crate) looked_for: Arc<Mutex<Vec<ContactAddress>>>,
    /// The answer about every contact's picture, and for whom it was asked.
    pub(crate) picture: Arc<Mutex<Option<PictureAnswer>>>,
    pub(crate) pictured: Arc<Mutex<Vec<ContactAddress>>>,
    /// What it has stored of every message.
    pub(crate) stored_content: Arc<Mutex<Option<Content>>>,
    /// Every contact's linked identity, as it tells it for a message that is not acknowledged, and how often it was asked.
    pub(crate) identity: Arc<Mutex<Option<ContactAddress>>>,
    pub(crate) identities_asked: Arc<AtomicU64>,
    pub(crate) asked: Arc<AtomicU64>,
    /// The secrets that are not there.
    pub(crate) lacks: Arc<Mutex<Vec<CredentialRef>>>,
    /// The standing of every number, as it tells it.
    pub(crate) standing: Arc<Mutex<Option<SeenStanding>>>,
    /// Its answer about every template.
    pub(crate) template: Arc<Mutex<TemplateAnswer>>,
    pub(crate) sent: Arc<AtomicU64>,
    contents: Arc<Mutex<Vec<Content>>>,
    recipients: Arc<Mutex<Vec<ContactAddress>>>,
    /// Of which messages the contact was shown that they are read, and whether that somebody types.
    pub(crate) shown: Arc<Mutex<Vec<(String, bool)>>>,
    /// Whether what is shown is shown for ever.
    pub(crate) shows_for_ever: Arc<AtomicBool>,
    pub(crate) memory: Memory,
    /// What happens during the next send, if anything.
    pub(crate) meanwhile: Meanwhile,
    /// How the next files come; the others are not there.
    pub(crate) files: Arc<Mutex<VecDeque<FileAnswer>>>,
    /// Whether it refuses downloads after many that failed.
    pub(crate) blocks_downloads: Arc<AtomicBool>,
    /// The files that it was asked for.
    pub(crate) files_asked: Arc<Mutex<Vec<Media>>>,
    time: Time,
}

/// How the provider answers the question for a file.
#[derive(Debug)]
pub(crate) enum FileAnswer {
    /// These bytes come, of this type.
    Gives(&'static [u8], &'static str),
    /// It fails, in a way that may pass.
    Fails,
    /// It takes longer than anybody waits.
    Hangs,
    /// Something happens before these bytes come.
    GivesAfter(&'static [u8], Meanwhile),
    /// It will never come.
    Lost(FileLoss),
}

/// Something that is done once.
#[derive(Clone, Default)]
pub(crate) struct Meanwhile(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl std::fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meanwhile")
    }
}

impl Meanwhile {
    pub(crate) fn set(&self, what: impl Future<Output = ()> + std::marker::Send + 'static) {
        *self.0.lock().unwrap() = Some(Box::pin(what));
    }
}

impl Provider {
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    /// What it was given to send.
    pub(crate) fn contents(&self) -> Vec<Content> {
        self.contents.lock().unwrap().clone()
    }

    /// To whom it was given them.
    pub(crate) fn recipients(&self) -> Vec<ContactAddress> {
        self.recipients.lock().unwrap().clone()
    }

    pub(crate) fn is(&self, connection: ConnectionAnswer) {
        *self.connection.lock().unwrap() = connection;
    }

    pub(crate) fn answers_once(&self, connection: ConnectionAnswer) {
        *self.connection_once.lock().unwrap() = Some(connection);
    }
}

#[async_trait]
impl Providers for Provider {
    async fn fetch_picture(&self, _: &InstanceConfig, address: &ContactAddress) -> PictureAnswer {
        self.pictured.lock().unwrap().push(address.clone());
        let answer = self.picture.lock().unwrap().clone();
        answer.unwrap_or(PictureAnswer::Unclear)
    }

    async fn fetch_stored_content(&self, _: &InstanceConfig, _: &str) -> Option<Content> {
        self.stored_content.lock().unwrap().clone()
    }

    async fn find_unacknowledged_identity(
        &self,
        _: &InstanceConfig,
        _: UnacknowledgedSend<'_>,
    ) -> Option<ContactAddress> {
        self.identities_asked.fetch_add(1, Ordering::SeqCst);
        self.identity.lock().unwrap().clone()
    }

    fn capabilities(&self, provider: recado_domain::provider::Provider) -> ProviderCapabilities {
        ProviderCapabilities {
            text_max: TEXT_MAX,
            blocks_downloads: self.blocks_downloads.load(Ordering::SeqCst),
            ..provider.capabilities()
        }
    }

    fn normalize(&self, instance: Instance) -> Result<Instance, ConfigError> {
        recado_whatsapp::normalize(instance)
    }

    fn interpret_event(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        if job.kind == EventKind::Connection {
            return InboundEvent::ConnectionChanged;
        }
        if job.kind == EventKind::Failed {
            return crate::unknown::failure(payload);
        }
        let text = |name: &str| payload[name].as_str().unwrap().to_owned();
        if let Some(target) = payload["changes"].as_str() {
            let target = Some(target.to_owned());
            let content = match payload["text"].as_str() {
                _ if payload["content"].is_object() => content(payload, String::new()),
                Some(text) => Content::Edit {
                    target,
                    content: Box::new(Content::from_text(text)),
                },
                None => Content::Deletion { target },
            };
            return InboundEvent::Change(Box::new(InboundMessage {
                address: ContactAddress::parse(&text("address")).unwrap(),
                numberless_identity: None,
                phone: None,
                name: None,
                provider_message_id: None,
                from_me: payload["from_me"].as_bool().unwrap(),
                sent_at: Some(job.received_at),
                content,
                context: MessageContext::default(),
                not_owed: None,
                thread: None,
            }));
        }
        InboundEvent::Message(Box::new(InboundMessage {
            address: ContactAddress::parse(&text("address")).unwrap(),
            numberless_identity: payload["also"].as_str().and_then(ContactAddress::parse),
            phone: None,
            name: payload["name"].as_str().map(str::to_owned),
            provider_message_id: Some(text("id")),
            from_me: payload["from_me"].as_bool().unwrap(),
            sent_at: payload["sent_at"]
                .as_i64()
                .map(from_unix_millis)
                .or(Some(job.received_at)),
            content: content(payload, text("text")),
            not_owed: is_held(payload).then_some(Reason::HeldElsewhere),
            thread: thread_control(payload),
            context: MessageContext {
                by_other_agent: is_held(payload) && payload["from_me"] == true,
                reply_to: quotation(payload),
                ..MessageContext::default()
            },
        }))
    }

    fn sends_as_text(&self, instance: &Instance, question: &Content) -> bool {
        recado_whatsapp::is_sent_as_text(instance, question)
    }

    fn explain_refusal(&self, _: recado_domain::provider::Provider, _: &Content) -> Option<&'static str> {
        None
    }

    async fn send_message(&self, _: &InstanceConfig, message: &OutgoingMessage) -> SendOutcome {
        self.contents.lock().unwrap().push(message.content.clone());
        self.recipients.lock().unwrap().push(message.to.clone());
        let number = self.sent.fetch_add(1, Ordering::SeqCst);
        let told = self.outcomes.lock().unwrap().pop_front();
        let meanwhile = self.meanwhile.0.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        if matches!(told, Some(SendOutcome::Unknown { timed_out: true, .. })) {
            self.time.pass(20_000);
        }
        told.unwrap_or(SendOutcome::Accepted {
            provider_message_id: Some(format!("P{number}")),
            simulated: false,
            held: None,
        })
    }

    async fn check_secret(&self, reference: &CredentialRef) -> CredentialState {
        if self.lacks.lock().unwrap().contains(reference) {
            CredentialState::Missing(reference.describe_missing())
        } else {
            CredentialState::Present
        }
    }

    async fn query_standing(&self, _: &InstanceConfig) -> Option<SeenStanding> {
        *self.standing.lock().unwrap()
    }

    async fn query_connection(&self, _: &InstanceConfig) -> ConnectionAnswer {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.time.pass(300);
        let once = self.connection_once.lock().unwrap().take();
        once.unwrap_or_else(|| self.connection.lock().unwrap().clone())
    }

    async fn check_template(
        &self,
        _: &InstanceConfig,
        _: &MessageTemplate,
        age_max: SignedDuration,
    ) -> TemplateAnswer {
        assert!(age_max.is_positive(), "a send asks for no fresh answer");
        self.template.lock().unwrap().clone()
    }

    async fn find_send_evidence(
        &self,
        _: &InstanceConfig,
        message: &OutgoingMessage,
        also: &[ContactAddress],
        _: Timestamp,
    ) -> SendEvidence {
        let names = std::iter::once(&message.to).chain(also).cloned();
        *self.looked_for.lock().unwrap() = names.collect();
        self.evidence.lock().unwrap().clone()
    }

    async fn mark_messages_read(&self, _: &InstanceConfig, _: &ContactAddress, ids: &[String]) {
        let marks = ids.iter().map(|id| (id.clone(), false));
        self.shown.lock().unwrap().extend(marks);
    }

    async fn show_typing(&self, _: &InstanceConfig, _: &ContactAddress, id: &str) {
        self.shown.lock().unwrap().push((id.to_owned(), true));
        if self.shows_for_ever.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }

    async fn fetch_file(&self, _: &InstanceConfig, file: &FileRequest<'_>) -> Result<FetchedFile, FileError> {
        self.files_asked.lock().unwrap().push(file.media.clone());
        let answer = self.files.lock().unwrap().pop_front();
        let gives = |bytes: &[u8], mime_type: &str| FetchedFile {
            bytes: FileBytes::from_bytes(bytes.to_vec()),
            mime_type: Some(mime_type.to_owned()),
            sha256: None,
        };
        match answer {
            Some(FileAnswer::Gives(bytes, mime_type)) => Ok(gives(bytes, mime_type)),
            Some(FileAnswer::GivesAfter(bytes, meanwhile)) => {
                let meanwhile = meanwhile.0.lock().unwrap().take();
                meanwhile.unwrap().await;
                Ok(gives(bytes, "image/png"))
            }
            Some(FileAnswer::Hangs) => std::future::pending().await,
            Some(FileAnswer::Lost(reason)) => Err(FileError::Lost(reason)),
            Some(FileAnswer::Fails) | None => Err(FileError::Unavailable {
                why: "the test says so",
            }),
        }
    }

    async fn read_history_page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        self.memory.page(bound, span, page)
    }
}

/// What a payload says of who holds the thread: `held`, `passed` or `ours`.
fn thread_control(payload: &Value) -> Option<ThreadControl> {
    match payload["thread"].as_str()? {
        "held" => Some(ThreadControl::Held(Some("ai_agent".to_owned()))),
        "passed" => Some(ThreadControl::PassedToUs),
        _ => Some(ThreadControl::Ours),
    }
}

fn is_held(payload: &Value) -> bool {
    payload["thread"] == "held"
}

/// The message that a payload replies to: its id, its text, or both.
fn quotation(payload: &Value) -> Option<QuotedMessage> {
    let (id, text) = (payload["quoted_id"].as_str(), payload["quoted"].as_str());
    (id.is_some() || text.is_some()).then(|| QuotedMessage {
        id: id.map(str::to_owned),
        text: text.map(str::to_owned),
        message: None,
    })
}

/// A text, or what a payload says under `content`.
fn content(payload: &Value, text: String) -> Content {
    serde_json::from_value(payload["content"].clone()).unwrap_or(Content::Text { text })
}

/// An embedding model, for which a jab is a vaccine.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddingModel {
    pub(crate) name: &'static str,
    pub(crate) dimensions: usize,
    /// The failure of the requests after so many that succeed.
    pub(crate) fails_after: Option<(usize, EmbeddingError)>,
    pub(crate) hangs: bool,
    /// What happens while it answers.
    pub(crate) meanwhile: Meanwhile,
    /// The texts of each request.
    pub(crate) asked: Vec<Vec<String>>,
}

impl EmbeddingModel {
    pub(crate) fn named(name: &'static str) -> Self {
        Self {
            name,
            dimensions: 256,
            fails_after: None,
            hangs: false,
            meanwhile: Meanwhile::default(),
            asked: Vec::new(),
        }
    }
}

/// Says always the same, or refuses to think. Its clones are one model.
#[derive(Debug, Default, Clone)]
pub(crate) struct Model(Arc<ModelState>);

impl Deref for Model {
    type Target = ModelState;

    fn deref(&self) -> &ModelState {
        &self.0
    }
}

/// What a model does next, and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct ModelState {
    pub(crate) says: Mutex<Option<String>>,
    /// Splits documents and searches them.
    pub(crate) library: TextLibrary,
    /// How the readings of documents go.
    pub(crate) documents: Box<DocumentReadings>,
    /// The pages that become documents.
    pub(crate) pages: WebPages,
    /// Set if a search never ends.
    pub(crate) searches_for_ever: AtomicBool,
    /// The embedding model, if there is one.
    pub(crate) embedding: Mutex<Option<EmbeddingModel>>,
    /// What becomes of the calls of tools.
    pub(crate) tooling: Box<Tooling>,
    /// What agents of users answer, in turn, and what they were asked: ids and bodies.
    pub(crate) http_agents: Box<HttpAgents>,
    /// Blocks of documents in the last call.
    pub(crate) knew: Mutex<Option<String>>,
    /// What it was told of the present in the last call.
    pub(crate) present: Mutex<Option<String>>,
    /// What it was asked last in each call.
    pub(crate) asked: Mutex<Vec<String>>,
    /// All that it was shown in the last call.
    pub(crate) read: Mutex<Vec<String>>,
    /// The time that it had in the last call.
    pub(crate) within: Mutex<Duration>,
    /// Whether a call ends the process that makes it.
    pub(crate) ends: AtomicBool,
    /// The model that is down, by its name.
    pub(crate) down: Mutex<Option<String>>,
    /// The model and the system prompt of each call.
    pub(crate) prompts: Mutex<Vec<(String, String)>>,
    /// The model of each call, with the reference to its own key.
    pub(crate) accounts: Mutex<Vec<(String, Option<CredentialRef>)>>,
    /// Whether its key is missing.
    pub(crate) lacks_key: AtomicBool,
    /// What happens during the next call, if anything.
    pub(crate) meanwhile: Meanwhile,
    /// Whether it takes its time, so that others go on meanwhile.
    pub(crate) thinks: AtomicBool,
    /// The decision that it takes with its next answer.
    pub(crate) decides: Mutex<Option<AgentDecision>>,
    /// The instructions of the last request beside the system prompt.
    pub(crate) instructions: Mutex<Vec<String>>,
    /// The decisions that the last request offered.
    pub(crate) offered: Mutex<OfferedDecisions>,
    /// The files of the last request.
    pub(crate) shown: Mutex<Vec<ChatFile>>,
    /// The bytes of files that it refuses, and how many files it takes at most.
    pub(crate) refuses: Mutex<Vec<Vec<u8>>>,
    pub(crate) files_max: Mutex<Option<usize>>,
    /// How often it was asked which files it refuses.
    pub(crate) searches: AtomicU64,
    /// What the next transcriptions give; `None`: no server is set up.
    pub(crate) transcribes: Mutex<Option<VecDeque<Result<&'static str, TranscriptionError>>>>,
    /// The number of recordings that were transcribed or tried.
    pub(crate) transcriptions: AtomicU64,
}

/// The calls of tools: which the model asks for, and what they return.
#[derive(Debug, Default)]
pub(crate) struct Tooling {
    /// The calls of tools that its next answers ask for.
    pub(crate) calls: Mutex<VecDeque<Vec<ModelCall>>>,
    /// The calls that it was shown in the last request.
    pub(crate) exchanges: Mutex<Vec<ToolExchange>>,
    /// The tools that the last request offered.
    pub(crate) tools: Mutex<Vec<OfferedTool>>,
    /// What tools return, in turn. Without more, a tool never answers.
    pub(crate) returns: Mutex<VecDeque<Result<String, ToolFailure>>>,
    /// The answer of a calendar about an event; `None`: it stands as it was booked.
    pub(crate) looks: Mutex<Option<BookedEvent>>,
    /// The clock, if a calendar takes ten seconds for such a question and does not answer it.
    pub(crate) looks_hang: Mutex<Option<Time>>,
    /// Another event stands at the time of what is booked.
    pub(crate) has_other_event: AtomicBool,
    /// The marks in the calendar of whether appointments are confirmed, and how many of them it does not take first.
    pub(crate) marks: Mutex<Vec<bool>>,
    pub(crate) marks_refused: Mutex<u32>,
    /// The tools that servers list; `None`: they do not answer.
    pub(crate) listings: Mutex<Option<Vec<McpListing>>>,
    /// The calls of tools, with their limits.
    pub(crate) called: Mutex<Vec<(String, Value, ToolLimits)>>,
    /// The number of requests after which the process ends; 0: it does not.
    pub(crate) ends_after: AtomicU64,
    /// The number of requests after which the model fails; 0: it does not.
    pub(crate) fails_after: AtomicU64,
    /// The other side of the tools that act.
    pub(crate) acts: Counter,
}

#[async_trait]
impl Transcriber for Model {
    fn explain_refusal(&self, _: u64, _: bool) -> Option<TranscriptionError> {
        let is_set_up = self.transcribes.lock().unwrap().is_some();
        (!is_set_up).then_some(TranscriptionError::NotConfigured)
    }

    fn transcription_model(&self) -> Option<&str> {
        self.transcribes.lock().unwrap().is_some().then_some("whisper")
    }

    async fn transcribe_recording(&self, _: Recording) -> Result<Transcript, TranscriptionError> {
        self.transcriptions.fetch_add(1, Ordering::SeqCst);
        let next = self
            .transcribes
            .lock()
            .unwrap()
            .as_mut()
            .and_then(VecDeque::pop_front);
        let Some(next) = next else {
            return std::future::pending().await;
        };
        next.map(|text| Transcript {
            text: text.to_owned(),
            model: "whisper".to_owned(),
            used: RecordingUse {
                audio_millis: 2_500,
                ..RecordingUse::default()
            },
        })
    }
}

#[async_trait]
impl Embedder for Model {
    fn embedding_model(&self) -> Option<&str> {
        self.embedding.lock().unwrap().as_ref().map(|model| model.name)
    }

    async fn embed_texts(&self, texts: &[String], _: Duration) -> Result<Embeddings, EmbeddingError> {
        let model = {
            let mut model = self.embedding.lock().unwrap();
            let model = model.as_mut().ok_or(EmbeddingError::NotConfigured)?;
            model.asked.push(texts.to_vec());
            model.clone()
        };
        if model.hangs {
            std::future::pending::<()>().await;
        }
        let meanwhile = model.meanwhile.0.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        if let Some((_, error)) = model.fails_after.filter(|(after, _)| model.asked.len() > *after) {
            return Err(error);
        }
        let vector = |text: &String| hash_ngrams(&text.replace("jab", "vaccine"), model.dimensions);
        Ok(Embeddings {
            vectors: texts.iter().map(vector).collect(),
            model: model.name.to_owned(),
            dimensions: model.dimensions,
        })
    }
}

#[async_trait]
impl Tools for Model {
    async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        let called = (tool.model_name().to_owned(), arguments.clone(), limits);
        self.tooling.called.lock().unwrap().push(called);
        let answer = self.tooling.returns.lock().unwrap().pop_front();
        match answer {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }

    async fn list_server_tools(&self, _: &Tool, _: ToolLimits) -> Result<Vec<McpListing>, ToolFailure> {
        let listed = self.tooling.listings.lock().unwrap().clone();
        match listed {
            Some(listed) => Ok(listed),
            None => std::future::pending().await,
        }
    }

    async fn query_busy_times(&self, _: &Calendar, _: TimeSpan) -> Result<Vec<TimeSpan>, ToolFailure> {
        Ok(Vec::new())
    }

    async fn look_at_event(&self, _: &Calendar, _: &EffectId) -> Result<BookedEvent, ToolFailure> {
        let standing = BookedEvent::Present {
            version: "1".to_owned(),
            time: None,
        };
        if let Some(clock) = &*self.tooling.looks_hang.lock().unwrap() {
            clock.pass(10_000);
            return Err(ToolFailure::TimedOut);
        }
        Ok(self.tooling.looks.lock().unwrap().clone().unwrap_or(standing))
    }

    async fn has_other_event(&self, _: &Calendar, _: &EffectId, _: TimeSpan) -> Result<bool, ToolFailure> {
        Ok(self.tooling.has_other_event.load(Ordering::SeqCst))
    }

    async fn mark_event_confirmed(
        &self,
        _: &Calendar,
        _: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), ToolFailure> {
        let mut refused = self.tooling.marks_refused.lock().unwrap();
        if *refused > 0 {
            *refused -= 1;
            return Err(ToolFailure::TimedOut);
        }
        self.tooling.marks.lock().unwrap().push(is_confirmed);
        Ok(())
    }

    fn open_effect_tool<'a>(&'a self, tool: &'a Tool, _: bool) -> Option<Box<dyn EffectTool + 'a>> {
        tool.acts()
            .then(|| Box::new(&self.tooling.acts) as Box<dyn EffectTool + 'a>)
    }
}

impl Model {
    /// The calls of the next answer, unless the model must reply.
    fn calls_for(&self, request: &LlmRequest) -> Vec<ModelCall> {
        self.tooling
            .exchanges
            .lock()
            .unwrap()
            .clone_from(&request.exchanges);
        self.tooling.tools.lock().unwrap().clone_from(&request.tools);
        let next = self.tooling.calls.lock().unwrap().pop_front();
        next.filter(|_| !request.must_reply).unwrap_or_default()
    }
}

#[async_trait]
impl KnowledgeLibrary for Model {
    async fn split_document(
        &self,
        title: &str,
        document: DocumentToRead<'_>,
        block_characters: usize,
    ) -> Result<SplitDocument, ReadingFailure> {
        self.documents.begin_reading().await?;
        Ok(self.library.split(title, &document.bytes, block_characters)?)
    }

    async fn fetch_page(
        &self,
        url: &str,
        private_hosts: bool,
        _: u64,
        _: Duration,
    ) -> Result<FetchedDocument, PageFailure> {
        self.pages.fetch(url, private_hosts)
    }

    async fn renew_analysis(&self, snapshot: KnowledgeSnapshot) -> Result<KnowledgeSnapshot, LibraryError> {
        Ok(self.library.renew(snapshot))
    }

    fn has_snapshot(&self, name: &SnapshotName) -> bool {
        self.library.has(name)
    }

    async fn load_snapshot(&self, name: &SnapshotName, bytes: Vec<u8>) -> Result<(), LibraryError> {
        self.library.load(name, &bytes)
    }

    fn find_snapshot_vectors(&self, name: &SnapshotName) -> Option<KnownVectors> {
        self.library.find_known_vectors(name)
    }

    async fn search_snapshot(
        &self,
        name: &SnapshotName,
        question: SearchedQuestion<'_>,
        limit: usize,
    ) -> Option<FoundBlocks> {
        if self.searches_for_ever.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.library.search(name, question, limit)
    }
}

/// A document says what its bytes say.
#[async_trait]
impl DocumentReader for Model {
    async fn read_document(
        &self,
        document: DocumentToRead<'_>,
        within: Duration,
    ) -> Result<ReadDocument, ReadingFailure> {
        self.documents.times.lock().unwrap().push(within);
        self.documents.begin_reading().await?;
        let text = String::from_utf8(document.bytes).map_err(|_| TextGap::Unreadable)?;
        Ok(ReadDocument { text, is_cut: false })
    }
}

/// How the next readings of documents go.
#[derive(Debug, Default)]
pub(crate) struct DocumentReadings {
    /// The process ends within the reading: it never returns.
    pub(crate) never_end: AtomicBool,
    /// The reasons why the next ones fail.
    pub(crate) failures: Mutex<VecDeque<ReadingFailure>>,
    /// The times that the readings were given.
    pub(crate) times: Mutex<Vec<Duration>>,
}

impl DocumentReadings {
    async fn begin_reading(&self) -> Result<(), ReadingFailure> {
        if self.never_end.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let failure = self.failures.lock().unwrap().pop_front();
        failure.map_or(Ok(()), Err)
    }
}

/// Agents that users run.
#[derive(Debug, Default)]
pub(crate) struct HttpAgents {
    pub(crate) answers: Mutex<VecDeque<Result<Option<LlmReply>, LlmError>>>,
    pub(crate) asked: Mutex<Vec<(String, Value)>>,
}

#[async_trait]
impl Llm for Model {
    async fn ask_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, LlmError> {
        let asked = (request.id.clone(), request.body.clone());
        self.http_agents.asked.lock().unwrap().push(asked);
        let meanwhile = self.meanwhile.0.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        self.http_agents.answers.lock().unwrap().pop_front().unwrap()
    }

    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let asked = request.turns.last().map(|turn| turn.text.clone());
        self.asked.lock().unwrap().extend(asked);
        *self.read.lock().unwrap() = request.turns.iter().map(|turn| turn.text.clone()).collect();
        let files = request.turns.iter().flat_map(|turn| turn.files.clone());
        *self.shown.lock().unwrap() = files.collect();
        *self.within.lock().unwrap() = request.within;
        self.knew.lock().unwrap().clone_from(&request.knowledge);
        self.present.lock().unwrap().clone_from(&request.present);
        assert!(!self.ends.load(Ordering::SeqCst), "the process ends");
        let after = self.tooling.ends_after.load(Ordering::SeqCst);
        let asked_before = u64::try_from(request.exchanges.len()).unwrap();
        assert!(after == 0 || asked_before < after, "the process ends");
        let fails_after = self.tooling.fails_after.load(Ordering::SeqCst);
        if fails_after > 0 && asked_before >= fails_after {
            return Err(LlmError::Unavailable("status 529".to_owned()));
        }
        let meanwhile = self.meanwhile.0.lock().unwrap().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile.await;
        }
        if self.thinks.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        if self.lacks_key.load(Ordering::SeqCst) {
            return Err(LlmError::Credentials("no key".to_owned()));
        }
        let prompt = (request.model.clone(), request.system.clone());
        self.prompts.lock().unwrap().push(prompt);
        let account = (request.model.clone(), request.key.clone());
        self.accounts.lock().unwrap().push(account);
        if self.down.lock().unwrap().as_ref() == Some(&request.model) {
            return Err(LlmError::Unavailable("status 529".to_owned()));
        }
        let shown = request.list_shown_files().count();
        if !self.list_refused(request).is_empty()
            || self.files_max.lock().unwrap().is_some_and(|most| shown > most)
        {
            return Err(LlmError::FilesRefused("status 400".to_owned()));
        }
        let text = self.says.lock().unwrap().clone();
        self.instructions
            .lock()
            .unwrap()
            .clone_from(&request.instructions);
        self.offered.lock().unwrap().clone_from(&request.decisions);
        Ok(LlmReply {
            calls: self.calls_for(request),
            decision: self.decides.lock().unwrap().take(),
            ignored_calls: 0,
            text: text.ok_or_else(|| LlmError::Refused("no case asks the model".to_owned()))?,
            usage: TokenUsage {
                output_tokens: 7,
                ..TokenUsage::default()
            },
            model: request.model.clone(),
        })
    }

    fn find_unopened_files(&self, request: &LlmRequest) -> Vec<(Ordinal, FileOmission)> {
        let is_unopened = |file: &&ChatFile| {
            file.content
                .as_ref()
                .is_ok_and(|bytes| bytes.ends_with(b"ENCRYPTED"))
        };
        let unopened = request.list_shown_files().filter(is_unopened);
        unopened
            .map(|file| (file.ordinal, FileOmission::Encrypted))
            .collect()
    }

    async fn find_refused_files(&self, request: &LlmRequest) -> Option<RefusedFiles> {
        self.searches.fetch_add(1, Ordering::SeqCst);
        Some(RefusedFiles {
            refused: self.list_refused(request),
            ..RefusedFiles::default()
        })
    }
}

impl Model {
    fn list_refused(&self, request: &LlmRequest) -> Vec<Ordinal> {
        let refuses = self.refuses.lock().unwrap();
        let is_refused = |file: &&ChatFile| file.content.as_ref().is_ok_and(|bytes| refuses.contains(bytes));
        request
            .list_shown_files()
            .filter(is_refused)
            .map(|file| file.ordinal)
            .collect()
    }
}

pub(crate) type World = Components<Embedded, Embedded, Provider, Model, Time>;

/// The same world for somebody else.
pub(crate) fn beside(world: &World) -> World {
    let mut beside = Components::new(
        world.store.clone(),
        world.queues.clone(),
        world.providers.clone(),
        Model::default(),
        world.system.clone(),
        &FEATURES,
        world.settings().clone(),
    );
    beside.deps_mut().exclusive_turns = world.exclusive_turns.clone();
    beside
}

pub(crate) struct Setup {
    pub(crate) world: World,
    pub(crate) fixture: Fixture,
    events: AtomicU64,
}

impl Setup {
    /// The contact's newest conversation.
    pub(crate) async fn latest_conversation(&self) -> Option<Conversation> {
        succeed(self.world.store.find_latest_conversation(&self.fixture.thread())).await
    }

    /// A client sends "Olá" by the API; it is accepted, and has not left.
    pub(crate) async fn client_writes(&self, to: &str) -> AcceptedMessage {
        let send = DeliverRequest {
            to: to.to_owned(),
            content: Content::from_text("Olá"),
            options: SendOptions::default(),
            key: None,
            metadata: None,
            send_at: None,
            correlation: correlation(),
        };
        let accepted = recado_sends::accept_message(
            &self.world,
            &Caller::installation(),
            self.fixture.instance(),
            send,
        )
        .await;
        accepted.unwrap()
    }

    pub(crate) async fn set(fixture: Fixture) -> Self {
        Self::set_on(fixture, |clock| Embedded::in_memory(clock).unwrap()).await
    }

    /// The same, on the store that `open` opens.
    pub(crate) async fn set_on(fixture: Fixture, open: impl FnOnce(Clock) -> Embedded) -> Self {
        let time = Time {
            now: Arc::new(AtomicI64::new(BASE.as_millisecond())),
            randoms: Arc::default(),
            stall: Arc::default(),
            coming: Arc::default(),
        };
        let clock = time.clone();
        let store = open(Clock::new(move || clock.now()));
        store.keep_identity_key(&identity_key).await.unwrap();
        put_configuration(&store, &fixture.document()).await.unwrap();
        let providers = Provider {
            outcomes: Arc::default(),
            connection: Arc::new(Mutex::new(ConnectionAnswer::Open)),
            connection_once: Arc::default(),
            evidence: Arc::new(Mutex::new(SendEvidence::None)),
            looked_for: Arc::default(),
            picture: Arc::default(),
            pictured: Arc::default(),
            stored_content: Arc::default(),
            identity: Arc::default(),
            identities_asked: Arc::default(),
            asked: Arc::default(),
            lacks: Arc::default(),
            template: Arc::new(Mutex::new(TemplateAnswer::Unclear)),
            sent: Arc::default(),
            contents: Arc::default(),
            recipients: Arc::default(),
            shown: Arc::default(),
            shows_for_ever: Arc::default(),
            memory: Memory::default(),
            meanwhile: Meanwhile::default(),
            files: Arc::default(),
            standing: Arc::default(),
            blocks_downloads: Arc::default(),
            files_asked: Arc::default(),
            time: time.clone(),
        };
        let world = Components::new(
            store.clone(),
            store,
            providers,
            Model::default(),
            time,
            &FEATURES,
            Settings {
                debounce: Debounce::Fixed(SignedDuration::from_secs(4)),
                ..Settings::default()
            },
        );
        Self {
            world,
            fixture,
            events: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.system.now()
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.world.system.pass(seconds * 1000);
    }

    /// What the next send comes to.
    pub(crate) fn answers(&self, outcome: SendOutcome) {
        self.world.providers.outcomes.lock().unwrap().push_back(outcome);
    }

    pub(crate) fn times_out(&self) {
        self.answers(SendOutcome::Unknown {
            why: "time-out".to_owned(),
            timed_out: true,
        });
    }

    /// A conversation of a new contact with a queued reply of the agent.
    pub(crate) async fn replied(&self) -> Message {
        self.replied_to(&self.fixture.other_contact()).await
    }

    /// The same, of this contact.
    pub(crate) async fn replied_to(&self, fixture: &Fixture) -> Message {
        let (store, mut job) = (&self.world.store, fixture.job());
        job.received_at = self.now();
        let mut conversation = fixture.conversation(1);
        assert_eq!(store.record_event(&job).await.unwrap(), RecordEventOutcome::New);
        let message = fixture.inbound(&mut conversation, &job);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        assert_eq!(
            store.store_inbound(write).await.unwrap(),
            StoreInboundOutcome::Stored
        );
        let ttl = add_millis(self.now(), 1_000);
        succeed(store.change_event(
            &job.event,
            EventChange::Apply {
                at: self.now(),
                expires: ttl,
            },
        ))
        .await;
        let mut reply = fixture.reply(&mut conversation);
        reply.stored_at = self.now();
        let committed = store
            .commit_messages(&conversation, std::slice::from_ref(&reply), &[])
            .await
            .unwrap();
        assert_eq!(committed, CommitOutcome::Committed);
        reply
    }

    /// Records an event of this kind that arrives now.
    pub(crate) async fn event(&self, kind: EventKind, payload: Value) -> InboundJob {
        let name = format!("event-{}", self.events.fetch_add(1, Ordering::SeqCst));
        self.event_named(&name, kind, payload).await
    }

    /// An event of the instance that the provider calls `name`.
    pub(crate) async fn event_named(&self, name: &str, kind: EventKind, payload: Value) -> InboundJob {
        let job = InboundJob {
            event: derive_event_id(
                self.fixture.bound.instance.provider,
                &self.fixture.external(),
                kind,
                name,
            ),
            kind,
            received_at: self.now(),
            payload: EventPayload::Inline(payload),
            ..self.fixture.job()
        };
        assert_eq!(
            self.world.store.record_event(&job).await.unwrap(),
            RecordEventOutcome::New
        );
        job
    }

    /// What is known of the delivery of a message, as the views show it.
    pub(crate) async fn delivery_of(&self, message: &Message) -> Option<Delivery> {
        let (provider, external) = (self.fixture.bound.instance.provider, self.fixture.external());
        let key = if provider.capabilities().echoes_our_id {
            DeliveryKey::from_own_id(provider, &external, &message.message_id())
        } else {
            let stored = succeed(self.world.store.find_message(&message.message_id())).await?;
            DeliveryKey::from_provider_id(provider, &external, &stored.provider_message_id?)
        };
        succeed(self.world.store.find_delivery(&key)).await
    }

    /// One receive of an event.
    pub(crate) async fn receive(&self, job: &InboundJob, receives: u32) -> Verdict {
        process::process(&self.world, &serde_json::to_string(job).unwrap(), receives).await
    }

    /// A message that is no text arrives, and is processed.
    pub(crate) async fn sends(&self, fixture: &Fixture, id: &str, content: &Content) {
        let address = fixture.address.as_str();
        let payload = json!({"address": address, "id": id, "text": "", "from_me": false, "content": content});
        let job = self.event(EventKind::Message, payload).await;
        assert_eq!(self.receive(&job, 1).await, Verdict::Done);
    }

    /// The contact's turn, and the last that was committed in it.
    pub(crate) async fn turn(&self, fixture: &Fixture) -> Message {
        let conversation = self.turns(fixture).await;
        let open = succeed(self.world.store.list_open_messages(conversation.thread_id())).await;
        open.into_iter().next_back().unwrap()
    }

    /// The jobs of turns that are due now; they are gone then.
    pub(crate) async fn due_turns(&self) -> Vec<TurnsJob> {
        let queues = &self.world.queues;
        let due = succeed(queues.receive_messages(QueueName::Turns, 100, Duration::from_secs(60))).await;
        let mut jobs = Vec::new();
        for message in due {
            queues.delete_received(&message.receipt).await.unwrap();
            jobs.push(serde_json::from_str(&message.body).unwrap());
        }
        jobs
    }

    /// The send jobs that are due now; they are gone then.
    pub(crate) async fn due_sends(&self) -> Vec<SendJob> {
        let queues = &self.world.queues;
        let due = succeed(queues.receive_messages(QueueName::Outbound, 100, Duration::from_secs(60))).await;
        let mut jobs = Vec::new();
        for message in due {
            queues.delete_received(&message.receipt).await.unwrap();
            let OutboundJob::Send(job) = serde_json::from_str(&message.body).unwrap() else {
                panic!("no send job: {}", message.body)
            };
            jobs.push(job);
        }
        jobs
    }

    /// Processes the events that are enqueued.
    pub(crate) async fn due_events(&self) {
        let queues = &self.world.queues;
        loop {
            let visibility = Duration::from_secs(30);
            let due = succeed(queues.receive_messages(QueueName::Inbound, 10, visibility)).await;
            if due.is_empty() {
                return;
            }
            for message in due {
                let verdict = process::process(&self.world, &message.body, message.receives).await;
                assert_eq!(verdict, Verdict::Done);
                queues.delete_received(&message.receipt).await.unwrap();
            }
        }
    }

    /// A message that quotes one of ours arrives, and is processed.
    pub(crate) async fn quotes(&self, fixture: &Fixture, id: &str, text: &str, quoted: &str) {
        let address = fixture.address.as_str();
        let payload = json!({"address": address, "id": id, "text": text, "from_me": false, "quoted": quoted});
        let job = self.event(EventKind::Message, payload).await;
        assert_eq!(self.receive(&job, 1).await, Verdict::Done);
    }

    /// One turn job of the contact's turn, which must be done.
    pub(crate) async fn turns(&self, fixture: &Fixture) -> ConversationId {
        let (conversation, verdict) = self.run_turn_job(fixture, None).await;
        assert_eq!(verdict, Verdict::Done);
        conversation
    }

    /// The turn job of a message, or of the turn that is owed (`None`).
    pub(crate) async fn turn_job(&self, fixture: &Fixture, ordinal: Option<u64>) -> TurnJob {
        let latest = succeed(self.world.store.find_latest_conversation(&fixture.thread())).await;
        let conversation = latest.unwrap();
        TurnJob {
            conversation: conversation.id,
            tenant: conversation.tenant,
            ordinal: ordinal.map_or(conversation.turn_upto, Ordinal),
            correlation: correlation(),
            parent: None,
            due: None,
        }
    }

    /// Runs the turn job of a message, or of the turn that is owed (`None`), and returns the conversation and the verdict.
    pub(crate) async fn run_turn_job(
        &self,
        fixture: &Fixture,
        ordinal: Option<u64>,
    ) -> (ConversationId, Verdict) {
        let job = self.turn_job(fixture, ordinal).await;
        let conversation = job.conversation.clone();
        let body = serde_json::to_string(&TurnsJob::Turn(job)).unwrap();
        let verdict = handle_turns_message(&self.world, &body, 1, None).await;
        (conversation, verdict)
    }

    /// A message arrives, and is processed.
    pub(crate) async fn message(&self, fixture: &Fixture, id: &str, text: &str, from_me: bool) {
        let address = fixture.address.as_str();
        let payload = json!({"address": address, "id": id, "text": text, "from_me": from_me});
        let job = self.event(EventKind::Message, payload).await;
        assert_eq!(self.receive(&job, 1).await, Verdict::Done);
    }
}
