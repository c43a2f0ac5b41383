//! Maps the errors of sends to HTTP problems.

use crate::DeliverError;
use axum::http::StatusCode;
use recado_http::api::error_mapping::judge_not_sendable;
use recado_http::problem::HttpProblem;
use recado_http::problem_code::ProblemCode;

impl From<DeliverError> for HttpProblem {
    fn from(error: DeliverError) -> Self {
        let (status, code) = match &error {
            DeliverError::NotFound(_) => (StatusCode::NOT_FOUND, None),
            DeliverError::NotSendable(why) => judge_not_sendable(why),
            DeliverError::Recipient(_) => (StatusCode::UNPROCESSABLE_ENTITY, None),
            DeliverError::TooFarAhead => (StatusCode::BAD_REQUEST, None),
            DeliverError::KeyReused => (StatusCode::CONFLICT, Some(ProblemCode::KeyReused)),
            DeliverError::NotPending(_) => (StatusCode::CONFLICT, None),
            DeliverError::Busy => {
                return Self::unavailable(error.to_string()).with_code(Some(ProblemCode::Busy));
            }
            DeliverError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}
