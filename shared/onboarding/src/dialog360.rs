//! Sets up numbers of 360dialog.

mod admin_client;
mod check_setup;
mod connect;
mod sign;

pub(crate) use check_setup::{REQUIREMENTS, check_setup};
pub(crate) use connect::connect_instance;
pub(crate) use sign::sign_webhook;
