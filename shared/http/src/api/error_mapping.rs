//! Maps the errors of the use cases to HTTP problems.

use crate::problem::HttpProblem;
use crate::problem_code::ProblemCode;
use axum::http::StatusCode;
use recado_pipeline::NotSendable;
use recado_pipeline::steps::invited_tenant::TenantChoiceError;

impl From<TenantChoiceError> for HttpProblem {
    fn from(error: TenantChoiceError) -> Self {
        match &error {
            TenantChoiceError::Unknown => Self::not_found(error.to_string()),
            TenantChoiceError::Unnamed => Self::bad_request(error.to_string()),
            TenantChoiceError::Port(error) => Self::from_port_error(error),
        }
    }
}

/// Judges a message that cannot be sent. 400: the request itself is wrong. 404: something that the request names does not exist.
/// 409: the message that the request names is not sent yet.
pub fn judge_not_sendable(why: &NotSendable) -> (StatusCode, Option<ProblemCode>) {
    match why {
        NotSendable::Provider(_) => (StatusCode::BAD_REQUEST, Some(ProblemCode::ProviderLacksIt)),
        NotSendable::Content(_) | NotSendable::PrivateSource | NotSendable::UploadTooOld => {
            (StatusCode::BAD_REQUEST, None)
        }
        NotSendable::NoSuchMessage(_) | NotSendable::NoSuchUpload => (StatusCode::NOT_FOUND, None),
        NotSendable::NotYetSent(_) => (StatusCode::CONFLICT, Some(ProblemCode::NotYetSent)),
        NotSendable::InstanceDisabled => (StatusCode::CONFLICT, Some(ProblemCode::InstanceDisabled)),
    }
}
