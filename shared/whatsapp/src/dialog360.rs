//! 360dialog: Meta's numbers through a partner. Facts are from its documentation of 2026 and from bodies seen in tests
//! of public projects.

pub(crate) mod errors;
mod media;
mod parse;
mod send;
mod verify;
pub(crate) mod webhook;

pub use crate::meta::parse::{AddressedNumbers, read_addressed_numbers};
pub use media::media_url;
pub use parse::split_webhook;
pub use verify::{
    Dialog360Credentials, Dialog360Sender, SECRET_HEADER, SIGNATURE_HEADER, verify_credentials,
};

pub(crate) use media::fetch_file;
pub(crate) use send::{Dialog360Endpoint, fetch_connection, fetch_template};
