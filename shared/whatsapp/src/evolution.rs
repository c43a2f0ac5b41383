//! Evolution API (Baileys), versions 1 and 2. Facts are from its source at tags 1.8.2 and 2.3.6 to 2.4.0-rc2.

pub(crate) mod errors;
mod evidence;
mod history;
mod jwt;
mod linked_identity;
mod media;
mod parse;
mod read_receipt;
mod send;
mod support;
mod verify;
pub(crate) mod webhook;

pub use parse::read_instance_name;
pub use verify::{EvolutionCredentials, find_proven_secrets};

pub(crate) use evidence::{fetch_stored_content, find_send_evidence};
pub(crate) use history::read_history_page;
pub(crate) use linked_identity::find_unacknowledged_identity;
pub(crate) use media::fetch_file;
pub(crate) use parse::{interpret_event, split_instance_webhook, split_webhook};
pub(crate) use read_receipt::{mark_messages_read, show_typing};
pub(crate) use send::{
    Dialect, EvolutionEndpoint, check_connection, fetch_picture, is_sent_as_text, send_message,
};
pub(crate) use support::content_support;
