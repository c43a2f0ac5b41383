//! The adapters for WhatsApp providers: parse and verify webhooks, send messages, and classify errors.
//!
//! Each provider has one folder ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with the modules `parse`,
//! `verify`, `send` and `errors`; its [`webhook`] handler combines the first two behind one interface. The parsers
//! tolerate what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as
//! `Unsupported`, an unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text contains a
//! person's text, name or number.

pub mod aws_social;
mod client;
mod config;
mod credential_policy;
pub mod dialog360;
#[cfg(test)]
mod errors_page;
pub mod evolution;
pub mod meta;
#[cfg(test)]
mod outbound_page;
mod registry;
mod simulation;
pub mod webhook;
pub mod wire;

#[cfg(test)]
use recado_testkit::servers::scripted as stand_in;

pub use client::WhatsApp;
pub use config::{ProviderConfig, Simulation};
pub use credential_policy::{
    check_credential_and_url, find_credential_ref, is_listed_host, normalize, uses_installation_host,
};
pub use registry::{
    describe_webhook_setup, explain_refusal, interpret_event, is_sent_as_text, list_named_keys,
    required_keys, split_webhook, webhook_handler, webhook_handlers, write_simulated_webhook,
};
pub use simulation::{SimulatedMessage, SimulatedOutbox};
pub use webhook::SimulatedInbound;
pub use wire::json::WebhookParseError;
