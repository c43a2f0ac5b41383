//! Judges why a server did not answer, or refused. Texts of servers are kept only where the model may read them.

use crate::hide_secret;
use recado_domain::secret::Secret;
use recado_ports::ports::ToolFailure;
use serde_json::Value;

/// Greatest length of a server's own words about an error, in characters.
const WORDS_MAX: usize = 500;

/// The codes of errors that say that a request was not done: it is malformed, its method is unknown, its arguments are wrong, or its
/// headers do not say what it says.
const REJECTING_CODES: [i64; 4] = [-32_600, -32_601, -32_602, -32_020];

/// The reason why a request to a server brought nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum McpFailure {
    /// No request left, or nobody took it.
    NothingLeft(String),
    /// The credential is missing or was refused.
    Credentials,
    /// The server does not know the session any more. It did nothing.
    SessionEnded,
    /// The server refused the request and did nothing: it does not know the tool, or not these arguments.
    Rejected(String),
    /// The server answered with another error, which says nothing of what it did.
    Failed(String),
    /// There was no answer in time.
    TimedOut,
}

impl McpFailure {
    /// Judges an error of the protocol.
    pub(super) fn from_error(error: &Value, secret: Option<&Secret>) -> Self {
        let message = error["message"].as_str().unwrap_or_default();
        let words: String = message.chars().take(WORDS_MAX).collect();
        let words = format!("it says: {}", hide_secret(&words, secret));
        if error["code"]
            .as_i64()
            .is_some_and(|code| REJECTING_CODES.contains(&code))
        {
            Self::Rejected(words)
        } else {
            Self::Failed(words)
        }
    }

    /// Judges why a request brought no answer.
    pub(super) fn from_request_error(error: &reqwest::Error) -> Self {
        if error.is_builder() {
            Self::NothingLeft("its request could not be written".to_owned())
        } else if error.is_connect() {
            Self::NothingLeft("there is no connection to its server".to_owned())
        } else if error.is_timeout() {
            Self::TimedOut
        } else {
            Self::other_protocol()
        }
    }

    /// Returns the failure of an answer that is not one of the protocol.
    pub(super) fn other_protocol() -> Self {
        Self::Failed("its server answered with something else than the protocol".to_owned())
    }

    /// Returns the failure of a server that speaks other versions of the protocol.
    pub(super) fn other_version() -> Self {
        Self::Failed("it does not speak the protocol in a version that is known here".to_owned())
    }

    /// Returns the failure of an answer that could not be read to its end.
    pub(super) fn broken_answer() -> Self {
        Self::Failed("its answer is too large, or broke off".to_owned())
    }

    /// Returns the failure of a result that has another form than that of its request.
    pub(super) fn other_result() -> Self {
        Self::Failed("it answered with something that is not understood here".to_owned())
    }

    pub(super) fn from_status(status: u16) -> Self {
        let told = format!("its server answers with the status {status}");
        match status {
            401 | 403 => Self::Credentials,
            400 | 402 | 404..=407 | 410 | 411 | 413..=424 | 426..=498 => Self::Rejected(told),
            // Also 408, 409, 412, 425 and 499, which say nothing of what was done.
            _ => Self::Failed(told),
        }
    }

    pub(super) fn from_tool_failure(failure: ToolFailure) -> Self {
        match failure {
            ToolFailure::Credentials => Self::Credentials,
            other => Self::NothingLeft(other.to_string()),
        }
    }

    /// Returns `true` if the next call should open another session, and list the tools again.
    pub(super) fn ends_session(&self) -> bool {
        !matches!(self, Self::Failed(_) | Self::TimedOut)
    }

    /// Returns the failure as the steps of a turn know it.
    pub(super) fn into_tool_failure(self) -> ToolFailure {
        match self {
            Self::Credentials => ToolFailure::Credentials,
            Self::TimedOut => ToolFailure::TimedOut,
            Self::SessionEnded => ToolFailure::Failed("its server ended the session".to_owned()),
            Self::NothingLeft(why) | Self::Rejected(why) | Self::Failed(why) => ToolFailure::Failed(why),
        }
    }
}
