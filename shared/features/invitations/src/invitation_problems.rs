//! Maps the errors of invitations to HTTP problems.

use crate::InvitationError;
use axum::http::StatusCode;
use recado_http::problem::HttpProblem;

impl From<InvitationError> for HttpProblem {
    fn from(error: InvitationError) -> Self {
        match error {
            InvitationError::Tenant(error) => error.into(),
            InvitationError::NotFound(_) => Self::not_found(error.to_string()),
            InvitationError::Cursor => Self::bad_request(error.to_string()),
            InvitationError::Order(_) => Self::new(StatusCode::CONFLICT, error.to_string()),
            InvitationError::BatchSize
            | InvitationError::UnknownOccasion(_)
            | InvitationError::UnknownTemplate(_)
            | InvitationError::Template(_)
            | InvitationError::Channel(_)
            | InvitationError::NoPhone
            | InvitationError::NoEmail
            | InvitationError::OtherPhone
            | InvitationError::WindowClosed
            | InvitationError::Address(_)
            | InvitationError::Email(_)
            | InvitationError::OptedOut
            | InvitationError::TooLate
            | InvitationError::BatchTime
            | InvitationError::Phone(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
            InvitationError::Deliver(error) => error.into(),
            InvitationError::Port(error) => Self::from_port_error(&error),
        }
    }
}
