//! Sets up numbers of 360dialog.

mod admin_client;
mod check_setup;
mod connect;
mod sign;

use crate::number_question::NumberQuestion;
pub(crate) use check_setup::{REQUIREMENTS, check_setup};
pub(crate) use connect::connect_instance;
pub(crate) use sign::sign_webhook;

/// The question about a number at this provider.
pub(crate) const NUMBER_QUESTION: NumberQuestion = NumberQuestion {
    provider: "360dialog",
    called: "the phone_number_id of the number",
    example: "100000000000001",
    settings: &["D360_API_KEY"],
};
