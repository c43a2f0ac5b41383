//! AWS End User Messaging Social: Meta's numbers through AWS. Events come over SNS and SQS, and a send is an AWS API
//! call. Facts are from AWS's user guide and service model of 2025 and 2026, and from captured events.
//!
//! Reading events always works. Sending needs the AWS SDK, which the feature `aws-social` adds.

#[cfg(any(test, feature = "aws-social"))]
pub(crate) mod errors;
mod parse;
mod send;
mod verify;

pub use parse::{is_topic_not_allowed, split_queue_message};
pub use send::AwsSocialClient;
#[cfg(feature = "aws-social")]
pub use send::{MediaBucket, S3Location};
pub use verify::AllowedTopics;

pub(crate) use send::{
    AwsSocialEndpoint, NO_CLIENT, fetch_connection, fetch_file, fetch_template, send_message,
};

/// Returns the bare id of a phone number. The AWS console shows the id as `phone-number-id-{id}`; events have it at the
/// end of an ARN.
pub(crate) fn parse_phone_number_id(written: &str) -> &str {
    let last = written.rsplit_once('/').map_or(written, |(_, last)| last);
    last.strip_prefix("phone-number-id-").unwrap_or(last)
}
