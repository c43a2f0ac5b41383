use recado_domain::message::TokenUsage;
use std::future::Future;
use std::time::Duration;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The contact.
    User,
    /// The business: the agent, or a person.
    Assistant,
}

/// A part of the conversation, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatTurn {
    /// Who.
    pub speaker: Speaker,
    /// What.
    pub text: String,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmRequest {
    /// Which model.
    pub model: String,
    /// The system prompt; marked for prompt caching.
    pub system: String,
    /// The conversation. It begins with the contact, speakers alternate, and the contact speaks last.
    pub turns: Vec<ChatTurn>,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
    /// How long it may take, retries included.
    pub within: Duration,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmReply {
    /// The text.
    pub text: String,
    /// What it cost.
    pub usage: TokenUsage,
    /// Which model answered, as it calls itself.
    pub model: String,
}

/// Why there is no answer. No variant holds the response's body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is missing or was refused: turns wait until it is there.
    #[error("the model's credentials are missing or were refused: {0}")]
    Credentials(String),
    /// Throttled, overloaded, unreachable or too slow, after all retries.
    #[error("the model is unavailable: {0}")]
    Unavailable(String),
    /// The request will never succeed.
    #[error("the model refused the request: {0}")]
    Refused(String),
}

/// A language model.
pub trait Llm: Send + Sync {
    /// Asks for the next turn. Retries what may pass (429, 5xx, overloaded), honouring `retry-after`, within
    /// [`LlmRequest::within`].
    fn generate_reply(&self, request: &LlmRequest)
    -> impl Future<Output = Result<LlmReply, LlmError>> + Send;
}
