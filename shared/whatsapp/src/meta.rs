//! Meta's WhatsApp Cloud API. Facts are from its documentation of 2025-10 to 2026-11 and from bodies seen in tests of
//! public projects.

pub(crate) mod body;
mod connection;
pub(crate) mod errors;
pub(crate) mod parse;
mod read_receipt;
pub(crate) mod send;
mod support;
pub(crate) mod upload;
mod verify;
pub(crate) mod webhook;

pub use verify::{answer_handshake, verify_signature};

pub(crate) use connection::fetch_connection;
pub(crate) use parse::{interpret_payload, split_webhook};
pub(crate) use read_receipt::{build_read_receipt, mark_read_and_typing};
pub(crate) use send::{MetaEndpoint, send_message};
pub(crate) use support::content_support;
