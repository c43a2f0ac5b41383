//! The language models behind [`recado_ports::ports::Llm`], the transcriber behind
//! [`recado_ports::ports::Transcriber`], and the embedding model behind [`recado_ports::ports::Embedder`].
//!
//! [`ModelClient`] asks a provider's API. [`Simulated`] answers without a model, deterministically, and says that it
//! is simulated. [`Model`] has both: each request says which of them answers. [`TranscriptionClient`] has recordings
//! transcribed by a server of one's choice, [`EmbeddingClient`] has another make vectors of texts. The text of documents is read beside them, without a model.

mod documents;
mod embeddings;
mod http_agent;
mod knowledge;
mod model;
mod model_client;
mod model_provider;
mod model_settings;
mod openai_server;
mod pdf;
mod reading_process;
mod simulated;
mod transcription;

pub use documents::{DocumentSettings, ReadingPlace};
pub use embeddings::{EMBEDDINGS_KEY, EmbeddingClient, EmbeddingSettings, EmbeddingSource};
pub use model::Model;
pub use model_client::{ANTHROPIC_API_KEY, ModelClient, ModelClientError, ModelClientSettings};
pub use model_provider::{ModelProvider, OTHER_PROVIDERS};
pub use model_settings::ModelSettings;
pub use pdf::{PdfContent, PdfFailure, read_pdf_beside};
pub use recado_documents::ReadingLimits;
pub use recado_google_calendar::GoogleCalendarConfig;
pub use simulated::Simulated;
pub use transcription::{TRANSCRIPTION_KEY, TranscriptionClient, TranscriptionSettings};
