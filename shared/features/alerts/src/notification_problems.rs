//! Maps the errors of notifications to HTTP problems.

use crate::NotificationError;
use axum::http::StatusCode;
use recado_http::problem::HttpProblem;

impl From<NotificationError> for HttpProblem {
    fn from(error: NotificationError) -> Self {
        match &error {
            NotificationError::NotFound => Self::not_found(error.to_string()),
            NotificationError::NoDestination => Self::new(StatusCode::CONFLICT, error.to_string()),
            NotificationError::Busy => Self::unavailable(error.to_string()),
            NotificationError::Port(error) => Self::from_port_error(error),
        }
    }
}
