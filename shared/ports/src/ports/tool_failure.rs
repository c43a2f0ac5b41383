/// The reason why a call brought nothing. The texts are told to the model, so no variant holds a secret. The
/// words of `Failed` may be the tool's own: they are never logged.
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
