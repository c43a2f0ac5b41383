//! Maps errors of the AWS SDK to errors of the ports.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use recado_ports::ports::{PortError, PortResult};
use std::error::Error;
use std::fmt;

/// An AWS request that did not succeed: its kind, code and message. Neither the request nor the response is kept, since
/// both hold text that people wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsError {
    /// The service's code (`ThrottlingException`), or the kind of failure (`timeout`).
    pub code: String,
    /// The service's description of the error.
    pub message: Option<String>,
}

impl AwsError {
    /// Makes the error of a code without a description.
    pub(crate) fn of_code(code: impl Into<String>) -> Self {
        let (code, message) = (code.into(), None);
        Self { code, message }
    }
}

impl fmt::Display for AwsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.code),
            None => f.write_str(&self.code),
        }
    }
}

impl Error for AwsError {}

/// The codes of requests that will never succeed unchanged. Missing permissions and resources are not among them:
/// somebody can add them while a message waits.
const PERMANENT_ERROR_CODES: [&str; 6] = [
    "ValidationException",
    "ItemCollectionSizeLimitExceededException",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "BatchRequestTooLong",
    "EntityTooLarge",
];

/// Returns the code of an error, or the kind of failure.
pub(crate) fn error_code<E: ProvideErrorMetadata, R>(error: &SdkError<E, R>) -> &str {
    match error {
        SdkError::ConstructionFailure(_) => "construction",
        SdkError::TimeoutError(_) => "timeout",
        SdkError::DispatchFailure(failure) if failure.is_timeout() => "timeout",
        SdkError::DispatchFailure(_) => "connection",
        SdkError::ResponseError(_) => "response",
        SdkError::ServiceError(service) => service.err().code().unwrap_or("service"),
        _ => "unknown",
    }
}

/// Maps the error of operation `what` to a port's error. Errors that will never pass are `Invalid`, all others
/// `Unavailable`.
pub(crate) fn port_error<E: ProvideErrorMetadata, R>(
    what: &'static str,
    error: &SdkError<E, R>,
) -> PortError {
    let code = error_code(error);
    let message = match error {
        SdkError::ServiceError(service) => service.err().message().map(str::to_owned),
        _ => None,
    };
    let cause = AwsError {
        code: code.to_owned(),
        message,
    };
    let is_permanent = PERMANENT_ERROR_CODES.iter().any(|known| code.ends_with(known));
    if is_permanent {
        PortError::invalid(what, cause)
    } else {
        PortError::unavailable(what, cause)
    }
}

/// Maps the result of operation `what`. An error of `code` means that there is nothing: `None`.
pub(crate) fn none_if_missing<T, E: ProvideErrorMetadata, R>(
    what: &'static str,
    code: &str,
    sent: Result<T, SdkError<E, R>>,
) -> PortResult<Option<T>> {
    match sent {
        Ok(output) => Ok(Some(output)),
        Err(error) if error_code(&error) == code => Ok(None),
        Err(error) => Err(port_error(what, &error)),
    }
}

/// Maps the error of a request that could not be built.
pub(crate) fn invalid_request(what: &'static str, error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::invalid(what, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    fn error(code: &str) -> PortError {
        let metadata = ErrorMetadata::builder().code(code).message("said so").build();
        port_error(
            "test",
            &SdkError::<_, ()>::service_error(PutItemError::generic(metadata), ()),
        )
    }

    #[test]
    fn what_may_pass_is_retryable_and_what_cannot_is_not() {
        for code in [
            "ThrottlingException",
            "AccessDeniedException",
            "ResourceNotFoundException",
            "InternalServerError",
        ] {
            assert!(error(code).is_retryable(), "{code}");
        }
        assert!(!error("ValidationException").is_retryable());
        assert!(port_error("test", &SdkError::<PutItemError, ()>::timeout_error("slow")).is_retryable());
    }
}
