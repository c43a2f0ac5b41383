//! The call itself.

use super::super::errors::{Refusal, classify};
use super::Endpoint;
use crate::class::Class;
use crate::meta::body::body;
use aws_sdk_socialmessaging::Config;
use aws_sdk_socialmessaging::config::Builder;
use aws_sdk_socialmessaging::config::retry::RetryConfig;
use aws_sdk_socialmessaging::config::timeout::TimeoutConfig;
use aws_sdk_socialmessaging::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_socialmessaging::operation::send_whats_app_message::SendWhatsAppMessageError;
use aws_sdk_socialmessaging::primitives::Blob;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use std::error::Error;

/// The most that a message may hold, in bytes (AWS's service model).
const MESSAGE_BYTES_MAX: usize = 2_048_000;

/// AWS's client.
#[derive(Debug, Clone)]
pub struct Client(aws_sdk_socialmessaging::Client);

impl Client {
    /// A client of `config` (an `SdkConfig` will do) that repeats nothing by itself: AWS would send twice.
    pub fn new(config: impl Into<Builder>) -> Self {
        let config = config.into().retry_config(RetryConfig::disabled()).build();
        Self(aws_sdk_socialmessaging::Client::from_conf(config))
    }
}

/// Sends. AWS has no token by which it would know a repetition, so nothing is repeated here. The id that it answers is its
/// own, not the one in statuses: those carry ours.
pub(crate) async fn send(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let body = match body(message) {
        Ok(body) => body.to_string().into_bytes(),
        Err(refused) => return refused,
    };
    if body.len() > MESSAGE_BYTES_MAX {
        return SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "message too large".to_owned(),
        };
    }
    // All of them, since the shared configuration may have shorter ones.
    let times = TimeoutConfig::builder()
        .connect_timeout(at.timeout)
        .read_timeout(at.timeout)
        .operation_attempt_timeout(at.timeout)
        .operation_timeout(at.timeout)
        .build();
    let sent = at
        .client
        .0
        .send_whats_app_message()
        .origination_phone_number_id(format!("phone-number-id-{}", at.number))
        .message(Blob::new(body))
        .meta_api_version(at.version)
        .customize()
        .config_override(Config::builder().timeout_config(times))
        .send()
        .await;
    match sent {
        Ok(output) => SendOutcome::Accepted {
            provider_message_id: output.message_id,
            simulated: false,
        },
        Err(error) => failure(&error, message.attempt),
    }
}

fn failure(error: &SdkError<SendWhatsAppMessageError>, attempt: u32) -> SendOutcome {
    let (class, why) = match error {
        SdkError::ServiceError(refused) => {
            let refusal = Refusal {
                status: refused.raw().status().as_u16(),
                code: refused.err().code(),
                message: refused.err().message(),
            };
            return classify(refusal, attempt);
        }
        SdkError::ConstructionFailure(_) | SdkError::DispatchFailure(_) if lacks_credentials(error) => {
            (Class::Credentials, "no AWS credentials")
        }
        SdkError::ConstructionFailure(_) => (Class::Retry, "the request could not be built"),
        SdkError::TimeoutError(_) => (Class::Unknown { timed_out: true }, "time-out"),
        SdkError::DispatchFailure(failure) if failure.is_timeout() => {
            (Class::Unknown { timed_out: true }, "time-out")
        }
        SdkError::DispatchFailure(failure) if failure.is_user() => {
            (Class::Retry, "the request could not be sent")
        }
        // No connection and a broken one look alike here.
        _ => (Class::Unknown { timed_out: false }, "connection broken"),
    };
    class.outcome(why.to_owned(), None, attempt)
}

/// The SDK has no kind of error for it; one of the causes says so.
fn lacks_credentials(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.to_string().to_lowercase().contains("credential") {
            return true;
        }
        cause = error.source();
    }
    false
}

#[cfg(test)]
mod tests;
