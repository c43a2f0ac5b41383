//! Maps the errors of requests about occasions to HTTP problems.

use crate::OccasionRequestError;
use recado_http::api::view::ListError;
use recado_http::problem::HttpProblem;

impl From<OccasionRequestError> for HttpProblem {
    fn from(error: OccasionRequestError) -> Self {
        match error {
            OccasionRequestError::Tenant(error) => error.into(),
            OccasionRequestError::NotFound(_) => Self::not_found(error.to_string()),
            OccasionRequestError::Port(error) => Self::from_port_error(&error),
        }
    }
}

impl ListError for OccasionRequestError {
    fn is_unreadable_input(&self) -> bool {
        matches!(self, Self::Port(error) if error.is_unreadable_input())
    }
}
