//! What it means that a server did not answer, or refused. Texts of servers are kept only where the model may read them.

use crate::hide_secret;
use recado_domain::secret::Secret;
use recado_ports::ports::ToolFailure;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;

/// Greatest length of a server's own words about an error, in characters.
const WORDS_MAX: usize = 500;

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
    /// Judges why a session could not be opened.
    pub(super) fn from_start(error: &ClientInitializeError, secret: Option<&Secret>) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::from_transport(error),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Self::from_start(fallback, secret)
            }
            ClientInitializeError::JsonRpcError(said) => Self::from_answer(said, secret),
            _ => Self::Failed("it does not speak the protocol in a version that is known here".to_owned()),
        }
    }

    /// Judges why a request brought no result.
    pub(super) fn from_service_error(error: &ServiceError, secret: Option<&Secret>) -> Self {
        match error {
            ServiceError::McpError(said) => Self::from_answer(said, secret),
            ServiceError::TransportSend(error) => Self::from_transport(error),
            ServiceError::Timeout { .. } => Self::TimedOut,
            ServiceError::TransportClosed => Self::Failed("the connection was closed".to_owned()),
            _ => Self::Failed("it answered with something that is not understood here".to_owned()),
        }
    }

    fn from_answer(said: &ErrorData, secret: Option<&Secret>) -> Self {
        let words: String = said.message.chars().take(WORDS_MAX).collect();
        let words = format!("it says: {}", hide_secret(&words, secret));
        match said.code {
            ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND | ErrorCode::INVALID_REQUEST => {
                Self::Rejected(words)
            }
            _ => Self::Failed(words),
        }
    }

    fn from_transport(error: &DynamicTransportError) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error.error.as_ref());
        while let Some(current) = cause {
            if let Some(known) = current.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
                return Self::from_exchange(known);
            }
            cause = current.source();
        }
        Self::Failed("the connection broke".to_owned())
    }

    fn from_exchange(error: &StreamableHttpError<reqwest::Error>) -> Self {
        match error {
            StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                Self::Credentials
            }
            StreamableHttpError::SessionExpired => Self::SessionEnded,
            StreamableHttpError::Client(error) if error.is_connect() => {
                Self::NothingLeft("there is no connection to its server".to_owned())
            }
            StreamableHttpError::Client(error) if error.is_timeout() => Self::TimedOut,
            StreamableHttpError::HttpStatus(found) => Self::from_status(found.status),
            StreamableHttpError::UnexpectedServerResponse(text) => match read_status(text) {
                Some(status) => Self::from_status(status),
                None => Self::Failed("its server answered with something else than the protocol".to_owned()),
            },
            StreamableHttpError::ResponseBodyTooLarge { .. } | StreamableHttpError::Sse(_) => {
                Self::Failed("its answer is too large, or broke off".to_owned())
            }
            _ => Self::Failed("its server answered with something else than the protocol".to_owned()),
        }
    }

    fn from_status(status: u16) -> Self {
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

/// Reads the status of an answer that the client describes as `HTTP 404 Not Found: …`.
fn read_status(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.get(..3)?.parse().ok()
}
