//! Sets up numbers of Meta's Cloud API.

mod admin_client;
mod check_setup;
mod connect;
mod sign;

use crate::number_question::NumberQuestion;
pub(crate) use check_setup::{REQUIREMENTS, check_setup, judge_template};
pub(crate) use connect::{VERIFY_TOKEN, connect_instance};
pub(crate) use sign::{is_meta_body, sign_webhook};

/// The question about a number at this provider.
pub(crate) const NUMBER_QUESTION: NumberQuestion = NumberQuestion {
    provider: "Meta's Cloud API",
    called: "the phone_number_id of the number",
    example: "100000000000001",
    settings: &["META_ACCESS_TOKEN", "META_APP_SECRET", "META_VERIFY_TOKEN"],
};
