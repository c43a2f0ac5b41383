//! Sets up numbers of Meta's Cloud API.

mod admin_client;
mod check_setup;
mod connect;
mod sign;

pub(crate) use check_setup::{REQUIREMENTS, check_setup, judge_template};
pub(crate) use connect::{VERIFY_TOKEN, connect_instance};
pub(crate) use sign::{is_meta_body, sign_webhook};
