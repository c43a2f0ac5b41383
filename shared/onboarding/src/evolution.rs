//! Sets up instances of Evolution API.

mod admin_client;
mod check_setup;
mod connect;
mod events;
mod pair;
mod sign;

use crate::number_question::NumberQuestion;
pub(crate) use check_setup::{SETUP_REQUIREMENTS, check_setup};
pub(crate) use connect::connect_webhook;
pub use pair::PairingAnswer;
pub(crate) use pair::pair_phone;
pub(crate) use sign::{authenticate, example_webhook, example_webhook_in_shell, is_evolution_body};

/// The question about a number at this provider.
pub(crate) const NUMBER_QUESTION: NumberQuestion = NumberQuestion {
    provider: "Evolution API",
    called: "the name of the instance",
    example: "suporte-01",
    settings: &["EVOLUTION_API_URL", "EVOLUTION_API_KEY"],
};
