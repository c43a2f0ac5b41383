//! The language models behind [`recado_pipeline::ports::Llm`].
//!
//! [`Claude`] asks Anthropic's Messages API. [`Simulated`] answers on its own, deterministically, and says that it is
//! simulated: what one machine uses until somebody sets a key. [`Model`] is the closed choice between the two that the
//! composition makes once at start.

mod claude;
mod client;
mod model;
mod proxy;
mod simulated;

pub use claude::{ANTHROPIC_API_KEY, Claude, ClaudeError, ClaudeSettings};
pub use client::{ClientError, http_client, logs_message_bodies};
pub use model::Model;
pub use simulated::Simulated;
