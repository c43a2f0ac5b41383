//! What the routes of the API share, and routes of no feature: tokens, sessions of the console, metrics, catch-ups. The routes of features are
//! theirs; `recado-features` lists all of them.

pub mod auth;
pub mod catch_up;
pub mod console_sessions;
pub mod context;
pub mod error_mapping;
pub mod message_fields;
pub mod metrics;
pub mod metrics_page;
pub mod pieced_json;
#[cfg(feature = "schema")]
pub mod problem_answers;
pub mod provider_setup;
pub mod public_status;
pub mod refused_tokens;
pub mod request;
pub mod tokens;
pub mod view;
