//! Maps the errors of the use cases to HTTP problems.

use crate::problem::HttpProblem;
use crate::problem_code::ProblemCode;
use axum::http::StatusCode;
use recado_pipeline::NotSendable;
use recado_pipeline::alert::NotificationError;
use recado_pipeline::configure::ConfigureError;
use recado_pipeline::deliver::{DeliverError, InvitationError};
use recado_pipeline::occasions::{OccasionRequestError, TenantChoiceError};
use recado_pipeline::operate::OperateError;
use recado_pipeline::ports::PortError;

impl From<OperateError> for HttpProblem {
    fn from(error: OperateError) -> Self {
        let code = ProblemCode::of_operate_error(&error);
        let status = match &error {
            OperateError::NotFound(_) => StatusCode::NOT_FOUND,
            OperateError::NotSendable(why) => not_sendable_status(why),
            OperateError::Annotation(why) if why.is_of_request() => StatusCode::UNPROCESSABLE_ENTITY,
            OperateError::KeyReused
            | OperateError::Refused(_)
            | OperateError::EffectNotUnknown
            | OperateError::Annotation(_)
            | OperateError::DamagedLetter => StatusCode::CONFLICT,
            OperateError::Busy => return Self::unavailable(error.to_string()).with_code(code),
            OperateError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}

impl From<DeliverError> for HttpProblem {
    fn from(error: DeliverError) -> Self {
        let code = ProblemCode::of_deliver_error(&error);
        let status = match &error {
            DeliverError::NotFound(_) => StatusCode::NOT_FOUND,
            DeliverError::NotSendable(why) => not_sendable_status(why),
            DeliverError::Recipient(_) => StatusCode::UNPROCESSABLE_ENTITY,
            DeliverError::TooFarAhead => StatusCode::BAD_REQUEST,
            DeliverError::KeyReused | DeliverError::NotPending(_) => StatusCode::CONFLICT,
            DeliverError::Busy => return Self::unavailable(error.to_string()).with_code(code),
            DeliverError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}

impl From<TenantChoiceError> for HttpProblem {
    fn from(error: TenantChoiceError) -> Self {
        match &error {
            TenantChoiceError::Unknown => Self::not_found(error.to_string()),
            TenantChoiceError::Unnamed => Self::bad_request(error.to_string()),
            TenantChoiceError::Port(error) => Self::from_port_error(error),
        }
    }
}

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

impl From<OccasionRequestError> for HttpProblem {
    fn from(error: OccasionRequestError) -> Self {
        match error {
            OccasionRequestError::Tenant(error) => error.into(),
            OccasionRequestError::NotFound(_) => Self::not_found(error.to_string()),
            OccasionRequestError::Port(error) => Self::from_port_error(&error),
        }
    }
}

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

impl From<ConfigureError> for HttpProblem {
    fn from(error: ConfigureError) -> Self {
        let code = ProblemCode::of_configure_error(&error);
        let problem = match &error {
            ConfigureError::Invalid(_)
            | ConfigureError::ModelRefuses { .. }
            | ConfigureError::TemplateUnfit { .. }
            | ConfigureError::Occasion(_)
            | ConfigureError::InvitationTemplate(_)
            | ConfigureError::InvitationEntry { .. } => {
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
            }
            ConfigureError::TenantPermission { .. } => Self::new(StatusCode::FORBIDDEN, error.to_string()),
            ConfigureError::NotFound(_) => Self::not_found(error.to_string()),
            ConfigureError::StillOwes(_)
            | ConfigureError::LastSecretVersion
            | ConfigureError::Exists(_)
            | ConfigureError::InUse { .. } => Self::new(StatusCode::CONFLICT, error.to_string()),
            ConfigureError::Changed(_) => Self::new(StatusCode::PRECONDITION_FAILED, error.to_string()),
            ConfigureError::Port(error) => Self::from_port_error(error),
        };
        problem.with_code(code)
    }
}

/// Returns the status of a message that cannot be sent. 400: the request itself is wrong. 404: something that the
/// request names does not exist. 409: the message that the request names is not sent yet.
fn not_sendable_status(why: &NotSendable) -> StatusCode {
    match why {
        NotSendable::Content(_)
        | NotSendable::Provider(_)
        | NotSendable::PrivateSource
        | NotSendable::UploadTooOld => StatusCode::BAD_REQUEST,
        NotSendable::NoSuchMessage(_) | NotSendable::NoSuchUpload => StatusCode::NOT_FOUND,
        NotSendable::NotYetSent(_) | NotSendable::InstanceDisabled => StatusCode::CONFLICT,
    }
}

/// Maps an error of a list that was requested with or without a cursor. With a cursor, input that the store cannot read
/// is reported as a bad cursor (400).
pub(super) fn list_problem(error: impl Into<OperateError>, with_cursor: bool) -> HttpProblem {
    match error.into() {
        OperateError::Port(PortError::Invalid { .. }) if with_cursor => {
            HttpProblem::bad_request("the cursor is not one that a list gave")
        }
        error => error.into(),
    }
}
