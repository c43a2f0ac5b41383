//! Sending: Meta's body, carried by an AWS call.

use recado_domain::ids::ExternalId;
#[cfg(not(feature = "aws-social"))]
use recado_pipeline::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use std::time::Duration;

#[cfg(feature = "aws-social")]
pub use sdk::{AwsSocialClient, MediaBucket, S3Location};

#[cfg(feature = "aws-social")]
mod sdk;

/// AWS's client, of which there is none without the feature `aws-social`.
#[cfg(not(feature = "aws-social"))]
#[derive(Debug, Clone)]
pub enum AwsSocialClient {}

/// Why nothing can be sent without a client.
pub(crate) const NO_CLIENT: &str = if cfg!(feature = "aws-social") {
    "no client of AWS End User Messaging Social was set up"
} else {
    "built without the feature aws-social, so nothing is sent by AWS End User Messaging Social"
};

/// A number as it is reached.
#[cfg_attr(
    not(feature = "aws-social"),
    expect(dead_code, reason = "read with the feature only")
)]
pub(crate) struct AwsSocialEndpoint<'a> {
    pub(crate) client: &'a AwsSocialClient,
    /// AWS's id of it, bare.
    pub(crate) number: &'a ExternalId,
    /// Of Meta's Graph API, such as `v24.0`.
    pub(crate) version: &'a str,
    pub(crate) timeout: Duration,
}

/// Sends. AWS has no token by which it would know a repetition, so nothing is repeated here.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn send_message(at: &AwsSocialEndpoint<'_>, _: &OutgoingMessage) -> SendOutcome {
    match *at.client {}
}

/// Asks nothing: there is no client.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn fetch_connection(client: &AwsSocialClient, _: Duration) -> ConnectionAnswer {
    match *client {}
}

#[cfg(feature = "aws-social")]
pub(crate) use sdk::{fetch_connection, send_message};
