//! The providers' edge: what webhooks hold, whether they are authentic, how messages are sent, what errors mean.
//!
//! One folder per provider ([`evolution`], [`meta`], [`dialog360`], [`aws_social`]) with four rooms: `parse`, `verify`,
//! `send`, `errors`; its [`webhook`] puts the first two behind a door that is the same for all. Everything is tolerant of
//! what providers add and leave out: an unknown field is ignored, an unknown kind of message is kept as `Unsupported`, an
//! unknown event is acknowledged as `Ignored`. Nothing here logs, and no error text holds what a person wrote, their name
//! or their number.

pub mod aws_social;
mod catalogue;
mod class;
mod cloud;
mod config;
pub mod dialog360;
mod error_title;
#[cfg(test)]
mod errors_page;
pub mod evolution;
mod exchange;
mod file;
mod interpret;
mod json;
pub mod meta;
#[cfg(test)]
mod outbound_page;
mod providers;
mod reach;
mod refusals;
pub mod setting_up;
pub mod setup;
mod simulation;
#[cfg(test)]
mod stand_in;
mod support;
pub mod webhook;

pub use catalogue::{ALL, adopt, credential, traits};
pub use config::{ProviderConfig, Simulation};
pub use interpret::interpret;
pub use providers::WhatsApp;
pub use recado_domain::provider::Provider;
pub use simulation::{SimulatedMessage, SimulatedOutbox};
pub use support::refuses;

use aws_social::Topics;
use catalogue::Module;
use jiff::Timestamp;
use recado_domain::inbound::WebhookItem;

/// Why a webhook's body is no webhook: HTTP 400. The texts never repeat the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
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
/// the body (the number in 360dialog's URL, the topics that AWS's events may come from) is for [`dialog360::split`] and
/// [`aws_social::split`].
pub fn split(
    provider: Provider,
    body: &[u8],
    received_at: Timestamp,
) -> Result<Vec<WebhookItem>, ParseError> {
    match Module::of(provider) {
        Some(Module::Evolution) => evolution::split(body, received_at),
        Some(Module::Meta) => meta::split(body, received_at),
        Some(Module::Dialog360) => dialog360::split(body, None, received_at),
        Some(Module::AwsSocial) => aws_social::split(body, &Topics::default(), received_at),
        None => Err(ParseError::NotEnvelope {
            what: "there is no such provider",
        }),
    }
}
