//! The adapters for WhatsApp providers: parse and verify webhooks, send messages, and classify errors.
//!
//! Each provider has one folder ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with the modules `parse`,
//! `verify`, `send` and `errors`; its [`webhook`] handler combines the first two behind one interface. The parsers
//! tolerate what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as
//! `Unsupported`, an unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text contains a
//! person's text, name or number.

pub mod admin_request;
pub mod aws_social;
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
mod interpret;
mod json;
mod media_file;
pub mod meta;
pub mod onboarding;
#[cfg(test)]
mod outbound_page;
mod providers;
mod registry;
mod simulation;
#[cfg(test)]
mod stand_in;
mod support;
pub mod webhook;

pub use config::{ProviderConfig, Simulation};
pub use interpret::interpret_event;
pub use providers::WhatsApp;
pub use recado_domain::provider::Provider;
pub use registry::{ALL_PROVIDERS, capabilities, find_credential_ref, normalize};
pub use simulation::{SimulatedMessage, SimulatedOutbox};
pub use support::explain_refusal;

use aws_social::AllowedTopics;
use jiff::Timestamp;
use recado_domain::inbound::WebhookItem;
use registry::ProviderModule;

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

/// Splits a webhook body into items, in order. `received_at` is used as the time of a status that has none. For
/// 360dialog's number in the URL use [`dialog360::split_webhook`]; for the allowed topics of AWS's events use
/// [`aws_social::split_queue_message`].
pub fn split_webhook(
    provider: Provider,
    body: &[u8],
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, WebhookParseError> {
    match ProviderModule::from_provider(provider) {
        Some(ProviderModule::Evolution) => evolution::split_webhook(body, received_at),
        Some(ProviderModule::Meta) => meta::split_webhook(body, received_at),
        Some(ProviderModule::Dialog360) => dialog360::split_webhook(body, None, received_at),
        Some(ProviderModule::AwsSocial) => {
            aws_social::split_queue_message(body, &AllowedTopics::default(), received_at)
        }
        None => Err(WebhookParseError::NotEnvelope {
            what: "there is no such provider",
        }),
    }
}
