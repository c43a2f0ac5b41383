use super::PortResult;
use async_trait::async_trait;
use recado_domain::config::{CredentialRef, HttpAgent};
use recado_domain::decision::{AgentDecision, OfferedDecisions};
use recado_domain::ids::Ordinal;
use recado_domain::media_type::MediaType;
use recado_domain::message::TokenUsage;
use recado_domain::model_files::FileOmission;
use recado_domain::usage::ModelUse;
use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;

/// The author of a text in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The contact.
    User,
    /// The business: the agent or a person.
    Assistant,
}

/// A part of the conversation as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTurn {
    /// Author of the text.
    pub speaker: Speaker,
    /// Text of this part.
    pub text: String,
    /// Files of this part, in their order. Only the contact's are shown.
    pub files: Vec<ChatFile>,
}

impl ChatTurn {
    /// Makes a part without files.
    pub fn from_text(speaker: Speaker, text: impl Into<String>) -> Self {
        Self {
            speaker,
            text: text.into(),
            files: Vec::new(),
        }
    }
}

/// A file as the model sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct ChatFile {
    /// The message that holds the file.
    pub ordinal: Ordinal,
    /// The words by which the text refers to the file, such as `[file 1]`.
    pub label: String,
    /// The name of the file, as its sender gave it.
    pub name: Option<String>,
    /// The file's type.
    pub media_type: MediaType,
    /// The file, or the reason why it is not shown.
    pub content: Result<Vec<u8>, FileOmission>,
}

impl fmt::Debug for ChatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatFile")
            .field("media_type", &self.media_type)
            .field("content", &self.content.as_ref().map(Vec::len))
            .finish_non_exhaustive()
    }
}

/// A request to a language model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LlmRequest {
    /// Name of the model, with its provider unless that is Anthropic: `openai::gpt-4.1`.
    pub model: String,
    /// Reference to a key of the tenant's own. `None`: the installation's key for the model's provider.
    pub key: Option<CredentialRef>,
    /// System prompt, marked for prompt caching.
    pub system: String,
    /// Further instructions, after the system prompt. They change more often, so they are not cached.
    pub instructions: Vec<String>,
    /// The present as the agent is told of it: the time, the opening hours, the contact's name. It changes with each turn, and stands
    /// after the instructions.
    pub present: Option<String>,
    /// Blocks of the agent's documents about the contact's last messages, or words that nothing was found, after the instructions. They
    /// change with each turn.
    pub knowledge: Option<String>,
    /// Decisions that the model may take with its reply. The request names tools only for these.
    pub decisions: OfferedDecisions,
    /// Tools that the model may call before it replies, sorted by their names.
    pub tools: Vec<OfferedTool>,
    /// The calls of tools so far, after the conversation.
    pub exchanges: Vec<ToolExchange>,
    /// `true` if the model must reply now, without a call.
    pub must_reply: bool,
    /// Conversation so far. The contact speaks first and last, and the speakers alternate.
    pub turns: Vec<ChatTurn>,
    /// Maximum length of the reply, in tokens.
    pub max_tokens: u32,
    /// Maximum duration of the request, retries included.
    pub within: Duration,
    /// `true` if the instance is simulated: the simulated model answers, and no real one is asked.
    pub simulated: bool,
}

impl LlmRequest {
    /// Lists the files that the request shows, the oldest first.
    pub fn list_shown_files(&self) -> impl Iterator<Item = &ChatFile> {
        let files = self.turns.iter().flat_map(|turn| &turn.files);
        files.filter(|file| file.content.is_ok())
    }

    /// Takes the files of messages out, for this reason.
    pub fn omit_shown_files(&mut self, omitted: &[Ordinal], why: FileOmission) {
        let files = self.turns.iter_mut().flat_map(|turn| &mut turn.files);
        for file in files.filter(|file| file.content.is_ok() && omitted.contains(&file.ordinal)) {
            file.content = Err(why);
        }
    }
}

/// The files for which a model refused a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusedFiles {
    /// The messages whose files the model refuses, each by itself.
    pub refused: Vec<Ordinal>,
    /// The messages whose files were not tried: one of them may be refused.
    pub untested: Vec<Ordinal>,
    /// The tokens of the requests that found them.
    pub used: Vec<ModelUse>,
}

/// A tool that the model may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedTool {
    /// Name of the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON schema of the arguments.
    pub arguments: Map<String, Value>,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelCall {
    /// The model's id of the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments of the call.
    pub arguments: Value,
    /// Marks of the model's provider, which are given back as they came.
    pub marks: Vec<String>,
}

/// The calls of one answer of the model, with their results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolExchange {
    /// The model's words beside the calls.
    pub said: String,
    /// The calls.
    pub calls: Vec<ModelCall>,
    /// The result of each call, as the model reads it.
    pub results: Vec<String>,
}

/// The answer of a language model: a reply, or calls of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmReply {
    /// Calls of tools, if the model asks for some before it replies. Calls that would decide are among them: the model decides
    /// with its reply.
    pub calls: Vec<ModelCall>,
    /// Text of the answer. It is empty only if the model handed over without words, or calls tools.
    pub text: String,
    /// The decision that the model took with the answer.
    pub decision: Option<AgentDecision>,
    /// Number of tool calls that decided nothing, because they could not be read or were one too many.
    pub ignored_calls: u32,
    /// Tokens that the request used.
    pub usage: TokenUsage,
    /// Name of the model that answered, as the model's API reports it.
    pub model: String,
}

/// The reason why the model gave no answer. No variant contains the response's body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is missing or was refused: turns wait until there is a valid key.
    #[error("the model's credentials are missing or were refused: {0}")]
    Credentials(String),
    /// The model was throttled, overloaded, unreachable or too slow, after all retries.
    #[error("the model is unavailable: {0}")]
    Unavailable(String),
    /// The model refused the request, and would refuse it again.
    #[error("the model refused the request: {0}")]
    Refused(String),
    /// The model refused the request, perhaps for a file that it shows.
    #[error("the model refused the request with its files: {0}")]
    FilesRefused(String),
}

/// A request to an agent that the user runs.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpAgentRequest<'a> {
    /// The endpoint.
    pub agent: &'a HttpAgent,
    /// Id of the request, the same at every repetition.
    pub id: String,
    /// The body.
    pub body: Value,
    /// Decisions that the agent may take with its reply.
    pub decisions: OfferedDecisions,
    /// Maximum duration of the request, repetitions included.
    pub within: Duration,
    /// `true` if the endpoint may be on this machine or in a private network, and without TLS.
    pub private_hosts: bool,
}

/// A language model.
#[async_trait]
pub trait Llm: Send + Sync {
    /// Returns `true` if there is a key for the real model now. It is not tried.
    async fn has_key(&self) -> PortResult<bool> {
        Ok(true)
    }

    /// Lists the names of the models that the key opens. Empty if they cannot be asked for.
    async fn list_models(&self) -> Vec<String> {
        Vec::new()
    }

    /// Asks the model for the next reply. Retries failures that may pass (429, 5xx, overloaded), honouring
    /// `retry-after`, within [`LlmRequest::within`].
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError>;

    /// Finds the files of a request that the model does not open, with the reasons. No request is made.
    fn find_unopened_files(&self, request: &LlmRequest) -> Vec<(Ordinal, FileOmission)> {
        let _ = request;
        Vec::new()
    }

    /// Finds the files for which the model refused a request ([`LlmError::FilesRefused`]), by few small requests, in half of
    /// [`LlmRequest::within`]. `None`: the model refuses a request without files, too.
    async fn find_refused_files(&self, request: &LlmRequest) -> Option<RefusedFiles> {
        let _ = request;
        None
    }

    /// Asks an agent that the user runs for the next reply. `None`: it says that nothing is to be answered. Failures that may pass
    /// are repeated as those of a model are, and an answer that cannot be read counts as one.
    async fn ask_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, LlmError> {
        let _ = request;
        Err(LlmError::Unavailable(
            "no agent of users is asked here".to_owned(),
        ))
    }

    /// Asks an agent that the user runs whether it takes requests: any answer of the class 2xx says that it does.
    async fn check_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<(), LlmError> {
        let _ = request;
        Err(LlmError::Unavailable(
            "no agent of users is asked here".to_owned(),
        ))
    }
}
