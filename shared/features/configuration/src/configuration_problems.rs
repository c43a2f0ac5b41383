//! Maps the errors of changes of the configuration to HTTP problems.

use crate::ConfigureError;
use axum::http::StatusCode;
use recado_http::problem::HttpProblem;
use recado_http::problem_code::ProblemCode;

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
