use async_trait::async_trait;
use recado_domain::media_type::MediaType;
use recado_domain::message::{TextGap, TokenUsage};
use std::fmt;
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
    /// The measure by which the server charges the recording.
    pub used: RecordingUse,
}

/// The measure by which a server charges a transcription. Nothing, if it does not tell it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecordingUse {
    /// Length of the recording in milliseconds, where it counts.
    pub audio_millis: u64,
    /// Tokens, where these count.
    pub tokens: TokenUsage,
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
        self.text_gap().is_none()
    }

    /// Returns the reason for which there will be no transcript; `None` if the same recording may be transcribed later.
    pub fn text_gap(&self) -> Option<TextGap> {
        match self {
            Self::NotConfigured => Some(TextGap::NotConfigured),
            Self::TooLarge { .. } => Some(TextGap::TooLarge),
            Self::Refused(_) => Some(TextGap::Unreadable),
            Self::Credentials(_) | Self::Unavailable { .. } => None,
        }
    }

    /// Returns the time that the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { after, .. } => *after,
            _ => None,
        }
    }
}

/// A transcriber of recordings.
#[async_trait]
pub trait Transcriber: Send + Sync {
    /// Returns the reason for which no recording of so many bytes is transcribed, where it is known without them.
    /// `simulated` is that of the recording.
    fn explain_refusal(&self, bytes: u64, simulated: bool) -> Option<TranscriptionError> {
        let _ = (bytes, simulated);
        Some(TranscriptionError::NotConfigured)
    }

    /// Returns the name of the model that transcribes; `None` if no server is set up.
    fn transcription_model(&self) -> Option<&str> {
        None
    }

    /// Transcribes a recording, in one attempt: the caller repeats what may pass.
    async fn transcribe_recording(&self, recording: Recording) -> Result<Transcript, TranscriptionError> {
        drop(recording);
        Err(TranscriptionError::NotConfigured)
    }
}
