use recado_domain::media_type::MediaType;
use std::fmt;
use std::future::{Future, ready};
use std::time::Duration;

/// A recording that is to be transcribed.
#[derive(Clone, PartialEq, Eq)]
pub struct Recording {
    /// The file.
    pub bytes: Vec<u8>,
    /// The file's type.
    pub media_type: MediaType,
    /// `true` if the instance is simulated: the simulated transcriber answers, and no server is asked.
    pub simulated: bool,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("bytes", &self.bytes.len())
            .field("media_type", &self.media_type)
            .field("simulated", &self.simulated)
            .finish()
    }
}

/// The words of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The words; empty if nobody speaks.
    pub text: String,
    /// Name of the model that transcribed.
    pub model: String,
}

/// The reason why a recording was not transcribed. No variant contains words of the recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptionError {
    /// The installation has no server of transcriptions.
    #[error("no transcription is set up")]
    NotConfigured,
    /// The file is larger than the installation lets be transcribed.
    #[error("the recording has {bytes} bytes, and at most {max} are transcribed")]
    TooLarge {
        /// Size of the file.
        bytes: usize,
        /// Largest size that is transcribed.
        max: usize,
    },
    /// The key is missing or was refused.
    #[error("the key of the transcription was refused: {0}")]
    Credentials(String),
    /// The server was throttled, overloaded, unreachable or too slow.
    #[error("the transcription is unavailable: {why}")]
    Unavailable {
        /// Description of the failure.
        why: String,
        /// Time that the server asks to wait.
        after: Option<Duration>,
    },
    /// The server refused the file, and would refuse it again.
    #[error("the transcription refused the recording: {0}")]
    Refused(String),
}

impl TranscriptionError {
    /// Returns `true` if the same recording may be transcribed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Credentials(_) | Self::Unavailable { .. })
    }

    /// Returns the words for people and the model that stand in place of the transcript.
    pub fn describe_placeholder(&self) -> &'static str {
        match self {
            Self::NotConfigured => "not transcribed: no transcription is set up",
            Self::TooLarge { .. } => "not transcribed: the recording is too large",
            Self::Credentials(_) | Self::Unavailable { .. } => "not transcribed yet",
            Self::Refused(_) => "not transcribed: the recording cannot be read",
        }
    }
}

/// A transcriber of recordings.
pub trait Transcriber: Send + Sync {
    /// Transcribes a recording, in one attempt: the caller repeats what may pass.
    fn transcribe_recording(
        &self,
        recording: Recording,
    ) -> impl Future<Output = Result<Transcript, TranscriptionError>> + Send {
        drop(recording);
        ready(Err(TranscriptionError::NotConfigured))
    }
}
