//! Sends messages through AWS: an AWS API call carries Meta's body.

#[cfg(not(feature = "aws-social"))]
use crate::wire::template_lookup::TemplateLookup;
#[cfg(not(feature = "aws-social"))]
use recado_domain::content::MessageTemplate;
use recado_domain::ids::ExternalId;
#[cfg(not(feature = "aws-social"))]
use recado_ports::ports::{
    ConnectionAnswer, FetchedFile, FileError, FileRequest, OutgoingMessage, SendOutcome,
};
use std::time::Duration;

#[cfg(feature = "aws-social")]
pub use sdk::{AwsSocialClient, MediaBucket, S3Location};

#[cfg(feature = "aws-social")]
mod sdk;

/// AWS's client. Without the feature `aws-social` this type has no values, so no client can exist.
#[cfg(not(feature = "aws-social"))]
#[derive(Debug, Clone)]
pub enum AwsSocialClient {}

/// Reason why nothing can be sent without a client.
pub(crate) const NO_CLIENT: &str = if cfg!(feature = "aws-social") {
    "no client of AWS End User Messaging Social was set up"
} else {
    "built without the feature aws-social, so nothing is sent by AWS End User Messaging Social"
};

/// A sending number and the AWS client that reaches it.
#[cfg_attr(
    not(feature = "aws-social"),
    expect(dead_code, reason = "read with the feature only")
)]
pub(crate) struct AwsSocialEndpoint<'a> {
    pub(crate) client: &'a AwsSocialClient,
    /// AWS's bare id of the number.
    pub(crate) number: &'a ExternalId,
    /// Version of Meta's Graph API, such as `v24.0`.
    pub(crate) version: &'a str,
    pub(crate) timeout: Duration,
}

/// Never runs: without the feature `aws-social` no client exists.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn send_message(at: &AwsSocialEndpoint<'_>, _: &OutgoingMessage) -> SendOutcome {
    match *at.client {}
}

/// Never runs: without the feature `aws-social` no client exists.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn fetch_connection(client: &AwsSocialClient, _: Duration) -> ConnectionAnswer {
    match *client {}
}

/// Never runs: without the feature `aws-social` no client exists.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn fetch_template(at: &AwsSocialEndpoint<'_>, _: &MessageTemplate) -> TemplateLookup {
    match *at.client {}
}

/// Never runs: without the feature `aws-social` no client exists.
#[cfg(not(feature = "aws-social"))]
pub(crate) async fn fetch_file(
    at: &AwsSocialEndpoint<'_>,
    _: &FileRequest<'_>,
) -> Result<FetchedFile, FileError> {
    match *at.client {}
}

#[cfg(feature = "aws-social")]
pub(crate) use sdk::{fetch_connection, fetch_file, fetch_template, send_message};
