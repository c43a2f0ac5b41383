//! Checks of what is set up: keys, secrets, models and providers, before they are needed.
//!
//! Its types and rules are in [`recado_domain::config`].

pub mod check_routes;
pub mod key_check;
pub mod missing_secrets;
pub mod model_check;
pub mod named_secrets;
pub mod self_check;
