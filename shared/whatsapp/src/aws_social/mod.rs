//! AWS End User Messaging Social: Meta's numbers through AWS. Events come over SNS and SQS, sends are an AWS call. Facts are
//! from AWS's user guide and service model of 2025 and 2026, and from captured events.
//!
//! Events are always understood; the AWS SDK for sending comes with the feature `aws-social`.

mod connect;
#[cfg(any(test, feature = "aws-social"))]
pub(crate) mod errors;
mod parse;
mod send;
mod verify;
pub(crate) mod webhook;

pub use parse::{is_of_another_topic, split};
pub use send::Client;
#[cfg(feature = "aws-social")]
pub use send::{Bucket, Place};
pub use verify::Topics;

pub(crate) use connect::{BY_QUEUE, NOT_POSTED};
pub(crate) use send::{Endpoint, NO_CLIENT, connection, send};

use recado_domain::provider::Provider;

/// Its name.
pub const NAME: Provider = Provider::named("aws-social");

/// The bare id of a phone number, which the console shows as `phone-number-id-{id}` and events as the end of an ARN.
pub(crate) fn phone_number_id(written: &str) -> &str {
    let last = written.rsplit_once('/').map_or(written, |(_, last)| last);
    last.strip_prefix("phone-number-id-").unwrap_or(last)
}
