use recado_domain::tools::Tool;
use serde_json::Value;
use std::future::Future;
use std::time::Duration;

/// The limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Maximum duration of the call.
    pub within: Duration,
    /// `true` if the tool may be on this machine or in a private network, and without TLS.
    pub private_hosts: bool,
}

/// The reason why a call brought nothing. The texts are told to the model, so no variant holds a secret or the tool's own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolFailure {
    /// The arguments make no request: the model may try others.
    #[error("the arguments do not fit: {0}")]
    BadArguments(String),
    /// The credential is missing or was refused.
    #[error("the tool's credential is missing or was refused")]
    Credentials,
    /// The tool did not answer in time.
    #[error("the tool did not answer in time")]
    TimedOut,
    /// The tool could not be reached, or answered with an error.
    #[error("the tool failed: {0}")]
    Failed(String),
}

/// The tools of agents.
pub trait Tools: Send + Sync {
    /// Calls a tool that reads. The arguments fit their schema. Returns the part of the answer that the model may read, without
    /// secrets. A call may be repeated, by this turn or another.
    fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> impl Future<Output = Result<String, ToolFailure>> + Send {
        let _ = (tool, arguments, limits);
        std::future::ready(Err(ToolFailure::Failed("there are no tools here".to_owned())))
    }
}
