//! The language models behind [`recado_pipeline::ports::Llm`].
//!
//! [`Claude`] asks Anthropic's Messages API. [`Simulated`] answers without a model, deterministically, and says that it
//! is simulated. [`Model`] has both: each request says which of them answers.

mod claude;
mod model;
mod simulated;

pub use claude::{ANTHROPIC_API_KEY, Claude, ClaudeError, ClaudeSettings};
pub use model::{Model, ModelSettings};
pub use simulated::Simulated;
