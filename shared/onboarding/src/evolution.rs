//! Sets up instances of Evolution API.

mod admin_client;
mod check_setup;
mod connect;
mod pair;
mod sign;

pub(crate) use check_setup::{SETUP_REQUIREMENTS, check_setup};
pub(crate) use connect::connect_webhook;
pub use pair::PairingAnswer;
pub(crate) use pair::pair_phone;
pub(crate) use sign::{authenticate, example_webhook, example_webhook_in_shell, is_evolution_body};
