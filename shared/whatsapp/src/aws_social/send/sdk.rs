//! The calls of AWS's SDK.

mod files;
mod templates;

pub(crate) use files::fetch_file;
pub use files::{MediaBucket, S3Location};
pub(crate) use templates::fetch_template;

use super::super::errors::{AwsRefusal, classify_answer};
use super::AwsSocialEndpoint;
use crate::meta::body::build_message_body;
use crate::meta::upload::find_inline_file;
use crate::wire::error_class::ErrorClass;
use crate::wire::media_file::permanent_failure;
use aws_sdk_socialmessaging::Config;
use aws_sdk_socialmessaging::config::Builder;
use aws_sdk_socialmessaging::config::retry::RetryConfig;
use aws_sdk_socialmessaging::config::timeout::TimeoutConfig;
use aws_sdk_socialmessaging::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_socialmessaging::primitives::Blob;
use recado_ports::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// Size limit of a message, in bytes (AWS's service model).
const MESSAGE_BYTES_MAX: usize = 2_048_000;

/// A client of AWS End User Messaging Social.
#[derive(Debug, Clone)]
pub struct AwsSocialClient {
    calls: aws_sdk_socialmessaging::Client,
    bucket: Option<Arc<dyn MediaBucket>>,
}

impl AwsSocialClient {
    /// Creates a client from `config`, which may be an `SdkConfig`. The SDK's own retries are switched off, because AWS
    /// would send the message twice. A file that is not on the web cannot be sent without a [`MediaBucket`].
    pub fn new(config: impl Into<Builder>) -> Self {
        let config = config.into().retry_config(RetryConfig::disabled()).build();
        Self {
            calls: aws_sdk_socialmessaging::Client::from_conf(config),
            bucket: None,
        }
    }

    /// Returns the same client with a bucket. AWS reads files from it that are not on the web.
    #[must_use]
    pub fn with_bucket(self, bucket: Arc<dyn MediaBucket>) -> Self {
        Self {
            bucket: Some(bucket),
            ..self
        }
    }
}

/// Sends a message. A file that the message itself carries is first uploaded to AWS, within the same time limit. AWS has
/// no idempotency token, so nothing is repeated here. The message id in AWS's answer is AWS's own, not the id in
/// statuses: statuses carry Recado's id.
pub(crate) async fn send_message(at: &AwsSocialEndpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    match find_inline_file(message) {
        Ok(None) => post_message(at, message, at.timeout).await,
        Ok(Some(file)) => match files::upload_from_bucket(at, message, &file).await {
            Ok(message) => post_message(at, &message, at.timeout / files::TIMEOUT_SHARE).await,
            Err(outcome) => outcome,
        },
        Err(outcome) => outcome,
    }
}

/// Checks if AWS can be reached, by listing one account. Any answer below 500 shows that, even a refusal: a role that
/// may send does not need the permission to list accounts.
pub(crate) async fn fetch_connection(client: &AwsSocialClient, timeout: Duration) -> ConnectionAnswer {
    let listed = client
        .calls
        .list_linked_whats_app_business_accounts()
        .max_results(1)
        .customize()
        .config_override(config_with_timeout(timeout))
        .send()
        .await;
    match listed {
        Ok(_) => ConnectionAnswer::Open,
        Err(SdkError::ServiceError(refused)) if refused.raw().status().as_u16() < 500 => {
            ConnectionAnswer::Open
        }
        Err(_) => ConnectionAnswer::Unreachable,
    }
}

async fn post_message(
    at: &AwsSocialEndpoint<'_>,
    message: &OutgoingMessage,
    timeout: Duration,
) -> SendOutcome {
    let body = match build_message_body(message) {
        Ok(body) => body.to_string().into_bytes(),
        Err(refused) => return refused,
    };
    if body.len() > MESSAGE_BYTES_MAX {
        return permanent_failure("message too large");
    }
    let sent = at
        .client
        .calls
        .send_whats_app_message()
        .origination_phone_number_id(format_origin(at))
        .message(Blob::new(body))
        .meta_api_version(at.version)
        .customize()
        .config_override(config_with_timeout(timeout))
        .send()
        .await;
    match sent {
        Ok(output) if output.message_id.is_some() => SendOutcome::Accepted {
            provider_message_id: output.message_id,
            simulated: false,
            held: None,
        },
        Ok(_) => SendOutcome::Unknown {
            why: "an answer without a message id".to_owned(),
            timed_out: false,
        },
        Err(error) => classify_sdk_error(&error, message.attempt),
    }
}

/// Returns AWS's name for the number, `phone-number-id-{id}`.
fn format_origin(at: &AwsSocialEndpoint<'_>) -> String {
    format!("phone-number-id-{}", at.number)
}

/// Sets all time-outs to `timeout`, because the shared configuration may have shorter ones.
fn config_with_timeout(timeout: Duration) -> Builder {
    let times = TimeoutConfig::builder()
        .connect_timeout(timeout)
        .read_timeout(timeout)
        .operation_attempt_timeout(timeout)
        .operation_timeout(timeout)
        .build();
    Config::builder().timeout_config(times)
}

fn classify_sdk_error<E: ProvideErrorMetadata + Error + 'static>(
    error: &SdkError<E>,
    attempt: u32,
) -> SendOutcome {
    let (class, why) = match error {
        SdkError::ServiceError(refused) => {
            let refusal = AwsRefusal {
                status: refused.raw().status().as_u16(),
                code: refused.err().code(),
                message: refused.err().message(),
            };
            return classify_answer(refusal, attempt);
        }
        SdkError::ConstructionFailure(_) | SdkError::DispatchFailure(_) if lacks_credentials(error) => {
            (ErrorClass::Credentials, "no AWS credentials")
        }
        SdkError::ConstructionFailure(_) => (ErrorClass::Retry, "the request could not be built"),
        _ if never_connected(error) => (ErrorClass::Unreached, "no connection to AWS"),
        SdkError::TimeoutError(_) => (ErrorClass::Unknown { timed_out: true }, "time-out"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            (ErrorClass::Unknown { timed_out: true }, "time-out")
        }
        SdkError::DispatchFailure(failure) if failure.is_user() => {
            (ErrorClass::Retry, "the request could not be sent")
        }
        _ => (ErrorClass::Unknown { timed_out: false }, "connection broken"),
    };
    class.into_send_outcome(why.to_owned(), None, attempt)
}

/// Returns `true` if the error was caused by missing AWS credentials. The SDK has no error kind for this, so the texts
/// of the causes are searched.
fn lacks_credentials(error: &(dyn Error + 'static)) -> bool {
    list_causes(error).any(|cause| cause.to_string().to_lowercase().contains("credential"))
}

/// Returns `true` if no connection was made. The HTTP client reports this in one of the causes, by its error kind.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    list_causes(error).any(|cause| cause.to_string() == "client error (Connect)")
}

/// Lists the error and its causes.
fn list_causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

#[cfg(test)]
mod tests;
