//! The language models behind [`recado_pipeline::ports::Llm`], and the transcriber behind
//! [`recado_pipeline::ports::Transcriber`].
//!
//! [`Claude`] asks Anthropic's Messages API. [`Simulated`] answers without a model, deterministically, and says that it
//! is simulated. [`Model`] has both: each request says which of them answers. [`TranscriptionClient`] has recordings
//! transcribed by a server of one's choice. The text of documents is read beside them, without a model.

mod claude;
mod documents;
mod model;
mod simulated;
mod transcription;

pub use claude::{ANTHROPIC_API_KEY, Claude, ClaudeError, ClaudeSettings};
pub use model::{Model, ModelSettings};
pub use simulated::Simulated;
pub use transcription::{
    TRANSCRIPTION_KEY, TRANSCRIPTION_KEY_PARAMETER, TranscriptionClient, TranscriptionSettings,
};
