//! The adapters for WhatsApp providers: parse and verify webhooks, send messages, and classify errors.
//!
//! Each provider has one folder ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with the modules `parse`,
//! `verify`, `send` and `errors`; its [`webhook`] handler combines the first two behind one interface. The parsers
//! tolerate what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as
//! `Unsupported`, an unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text contains a
//! person's text, name or number.

pub mod admin_request;
pub mod aws_social;
mod client;
mod cloud;
mod config;
mod credential_policy;
pub mod dialog360;
mod error_class;
mod error_table;
mod error_title;
#[cfg(test)]
mod errors_page;
pub mod evolution;
mod http_exchange;
mod json;
mod media_file;
pub mod meta;
pub mod onboarding;
#[cfg(test)]
mod outbound_page;
mod registry;
mod simulation;
#[cfg(test)]
mod stand_in;
mod support;
pub mod webhook;

pub use client::WhatsApp;
pub use config::{ProviderConfig, Simulation};
pub use credential_policy::{find_credential_ref, normalize};
pub use registry::{explain_refusal, interpret_event, split_webhook};
pub use simulation::{SimulatedMessage, SimulatedOutbox};

/// The reason why a body is not a valid webhook: HTTP 400. The texts never repeat the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookParseError {
    /// Body is not JSON, or nested deeper than 128 levels.
    #[error("the body is not JSON")]
    NotJson,
    /// Body has more values than any provider sends at once. In memory it would take many times its own size.
    #[error("the body holds too many values")]
    TooManyValues,
    /// Body is JSON, but not of this provider's form.
    #[error("the body is not a webhook of this provider: {what}")]
    NotEnvelope {
        /// Description of the missing or wrong part.
        what: &'static str,
    },
}
