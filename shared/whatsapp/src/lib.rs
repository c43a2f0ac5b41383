//! The providers' edge: what webhooks hold, whether they are authentic, how messages are sent, what errors mean.
//!
//! One folder per provider ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with four rooms: `parse`, `verify`,
//! `send`, `errors`; its [`webhook`] puts the first two behind a door that is the same for all. Everything is tolerant of
//! what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as `Unsupported`, an
//! unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text holds what a person wrote, their name
//! or their number.

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

/// Why a webhook's body is no webhook: HTTP 400. The texts never repeat the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookParseError {
    /// Not JSON, or nested deeper than 128 levels.
    #[error("the body is not JSON")]
    NotJson,
    /// JSON of more values than any provider sends in one body: built, it would take many times its own size.
    #[error("the body holds too many values")]
    TooManyValues,
    /// JSON, but not what this provider sends.
    #[error("the body is not a webhook of this provider: {what}")]
    NotEnvelope {
        /// What is missing or wrong.
        what: &'static str,
    },
}

/// Splits a webhook body into items, in order. `received_at` is the time of a status that carries none. What stands beside
/// the body (the number in 360dialog's URL, the topics that AWS's events may come from) is for [`dialog360::split_webhook`] and
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
