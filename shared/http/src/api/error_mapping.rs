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
        let conflict = |code| (StatusCode::CONFLICT, Some(code));
        let (status, code) = match &error {
            OperateError::NotFound(_) => (StatusCode::NOT_FOUND, None),
            OperateError::NotSendable(why) => judge_not_sendable(why),
            OperateError::Annotation(why) if why.is_of_request() => (
                StatusCode::UNPROCESSABLE_ENTITY,
                Some(ProblemCode::of_annotation_error(*why)),
            ),
            OperateError::Annotation(why) => conflict(ProblemCode::of_annotation_error(*why)),
            OperateError::KeyReused => conflict(ProblemCode::KeyReused),
            OperateError::Refused(why) => conflict(ProblemCode::of_conversation_error(*why)),
            OperateError::EffectNotUnknown => conflict(ProblemCode::EffectNotUnknown),
            OperateError::DamagedLetter => conflict(ProblemCode::DamagedLetter),
            OperateError::Busy => {
                return Self::unavailable(error.to_string()).with_code(Some(ProblemCode::Busy));
            }
            OperateError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}

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
        let (status, code) = match &error {
            ConfigureError::Invalid(_)
            | ConfigureError::ModelRefuses { .. }
            | ConfigureError::TemplateUnfit { .. }
            | ConfigureError::Occasion(_)
            | ConfigureError::InvitationTemplate(_)
            | ConfigureError::InvitationEntry { .. } => (StatusCode::UNPROCESSABLE_ENTITY, None),
            ConfigureError::TenantPermission { .. } => (StatusCode::FORBIDDEN, Some(ProblemCode::Role)),
            ConfigureError::NotFound(_) => (StatusCode::NOT_FOUND, None),
            ConfigureError::StillOwes(_) => (StatusCode::CONFLICT, Some(ProblemCode::StillOwed)),
            ConfigureError::LastSecretVersion | ConfigureError::Exists(_) | ConfigureError::InUse { .. } => {
                (StatusCode::CONFLICT, None)
            }
            ConfigureError::Changed(_) => (
                StatusCode::PRECONDITION_FAILED,
                Some(ProblemCode::ChangedMeanwhile),
            ),
            ConfigureError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string()).with_code(code)
    }
}

/// Judges a message that cannot be sent. 400: the request itself is wrong. 404: something that the request names does not exist.
/// 409: the message that the request names is not sent yet.
fn judge_not_sendable(why: &NotSendable) -> (StatusCode, Option<ProblemCode>) {
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
