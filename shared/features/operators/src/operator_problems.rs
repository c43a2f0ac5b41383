//! Maps the errors of operators' requests to HTTP problems.

use crate::OperateError;
use axum::http::StatusCode;
use recado_http::api::error_mapping::judge_not_sendable;
use recado_http::api::view::ListError;
use recado_http::problem::HttpProblem;
use recado_http::problem_code::ProblemCode;

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

impl ListError for OperateError {
    fn is_unreadable_input(&self) -> bool {
        matches!(self, Self::Port(error) if error.is_unreadable_input())
    }
}
