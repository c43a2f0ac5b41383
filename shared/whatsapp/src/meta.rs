//! Meta's WhatsApp Cloud API. Facts are from its documentation of 2025-10 to 2026-11 and from bodies seen in tests of
//! public projects.

pub(crate) mod body;
pub(crate) mod errors;
pub(crate) mod media;
pub(crate) mod parse;
pub(crate) mod send;
mod support;
pub(crate) mod templates;
pub(crate) mod upload;
mod verify;
pub(crate) mod webhook;

pub use templates::read_template;
pub use verify::{answer_handshake, verify_signature};

pub(crate) use body::is_sent_as_text;
pub(crate) use parse::{interpret_payload, split_webhook};
pub(crate) use send::{MetaEndpoint, fetch_connection, fetch_standing, mark_read, send_message};
pub(crate) use support::content_support;
