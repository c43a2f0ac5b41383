//! The language models behind [`recado_pipeline::ports::Llm`].
//!
//! [`Claude`] asks Anthropic's Messages API. [`Simulated`] answers without a model, deterministically, and says that it
//! is simulated; an installation on one machine uses it until somebody sets a key. [`Model`] is the choice between the
//! two, made once at start.

mod claude;
mod model;
mod simulated;

pub use claude::{ANTHROPIC_API_KEY, Claude, ClaudeError, ClaudeSettings};
pub use model::{Model, ModelSettings};
pub use simulated::Simulated;
