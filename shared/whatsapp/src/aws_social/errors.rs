//! Classifies the errors of AWS End User Messaging Social. AWS's service model has no field for Meta's error code: most
//! of Meta's refusals come later, as a `failed` status. Some come as `DependencyException`, whose text may begin with
//! the code.

use crate::meta::errors as meta;
use crate::wire::error_class::ErrorClass::{self, Credentials, Permanent, Refused, Throttled};
use crate::wire::error_table::not_sent_reason::{BODY_CHECKED, KEY_CHECKED, LIMIT_CHECKED, REQUEST_REFUSED};
use crate::wire::error_table::{StatusRow, class_by_status};
use recado_ports::ports::SendOutcome;

/// One row of the table: name of the exception, class, title, and the reason why it is certain that nothing was sent.
pub(crate) type AwsErrorRow = (&'static str, ErrorClass, &'static str, &'static str);

pub(crate) const DEPENDENCY: &str = "DependencyException";

/// AWS's exceptions by name. If AWS itself fails, or reports that Meta failed, nobody knows how far the message had
/// come: its outcome is unknown.
pub(crate) const TABLE: [AwsErrorRow; 15] = [
    ("ValidationException", Permanent, "bad request", BODY_CHECKED),
    (
        "InvalidParametersException",
        Permanent,
        "bad parameters",
        BODY_CHECKED,
    ),
    (
        "LimitExceededException",
        Permanent,
        "over a limit of the account",
        LIMIT_CHECKED,
    ),
    (
        "ResourceNotFoundException",
        Refused,
        "no such number",
        BODY_CHECKED,
    ),
    (
        "AccessDeniedException",
        Credentials,
        "not allowed by AWS",
        KEY_CHECKED,
    ),
    (
        "AccessDeniedByMetaException",
        Credentials,
        "not allowed by Meta",
        KEY_CHECKED,
    ),
    (
        "UnrecognizedClientException",
        Credentials,
        "AWS credentials not known",
        KEY_CHECKED,
    ),
    (
        "InvalidSignatureException",
        Credentials,
        "AWS credentials wrong",
        KEY_CHECKED,
    ),
    (
        "ExpiredTokenException",
        Credentials,
        "AWS credentials expired",
        KEY_CHECKED,
    ),
    (
        "MissingAuthenticationTokenException",
        Credentials,
        "AWS credentials missing",
        KEY_CHECKED,
    ),
    ("ThrottledRequestException", Throttled, "throttled", LIMIT_CHECKED),
    ("ThrottlingException", Throttled, "throttled", LIMIT_CHECKED),
    ("InternalServiceException", OUTCOME_UNKNOWN, "AWS failed", ""),
    (DEPENDENCY, OUTCOME_UNKNOWN, "Meta failed", ""),
    (
        "ServiceUnavailableException",
        OUTCOME_UNKNOWN,
        "AWS is not available",
        "",
    ),
];

const OUTCOME_UNKNOWN: ErrorClass = ErrorClass::Unknown { timed_out: false };

/// Classes by HTTP status, for a refusal whose exception is not in [`TABLE`]. The first row that fits counts.
pub(crate) const BY_STATUS: [StatusRow; 5] = [
    (401, 401, Credentials, KEY_CHECKED),
    (403, 403, Credentials, KEY_CHECKED),
    (429, 429, Throttled, LIMIT_CHECKED),
    (400, 499, Refused, REQUEST_REFUSED),
    (0, 999, OUTCOME_UNKNOWN, ""),
];

/// A refusal as AWS sends it.
#[derive(Debug, Clone, Copy)]
pub(super) struct AwsRefusal<'a> {
    pub(super) status: u16,
    /// Name of the exception.
    pub(super) code: Option<&'a str>,
    /// Text of the exception. It is never logged or stored, because it may contain a phone number.
    pub(super) message: Option<&'a str>,
}

/// Classifies a refusal: returns the outcome of send attempt number `attempt` (from 1).
pub(super) fn classify_answer(refusal: AwsRefusal<'_>, attempt: u32) -> SendOutcome {
    let code = refusal.code.unwrap_or_default();
    if code == DEPENDENCY
        && let Some((_, _, class, title, _)) = refusal
            .message
            .and_then(parse_meta_code)
            .and_then(meta::find_error)
    {
        return class.into_send_outcome(format!("{DEPENDENCY}: {title}"), None, attempt);
    }
    if let Some((name, class, title, _)) = TABLE.iter().find(|(name, ..)| *name == code) {
        return class.into_send_outcome(format!("{name}: {title}"), None, attempt);
    }
    class_by_status(refusal.status, &BY_STATUS).into_send_outcome(
        format!("HTTP {} without a known name", refusal.status),
        None,
        attempt,
    )
}

/// Returns the number in `(#code) title`, Meta's way to write an error; `None` if the text has another form.
fn parse_meta_code(message: &str) -> Option<i64> {
    let (_, rest) = message.split_once("(#")?;
    let (code, _) = rest.split_once(')')?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::reason::Reason;

    fn outcome(status: u16, code: &str, message: &str) -> SendOutcome {
        let refusal = AwsRefusal {
            status,
            code: Some(code),
            message: Some(message),
        };
        classify_answer(refusal, 1)
    }

    #[test]
    fn every_exception_is_classed_by_its_name_and_what_it_says_is_not_repeated() {
        for (name, class, title, _) in &TABLE {
            let found = outcome(418, name, "to 5511900000001");
            assert_eq!(
                found,
                class.into_send_outcome(format!("{name}: {title}"), None, 1)
            );
        }
    }

    #[test]
    fn a_refusal_of_metas_inside_counts_as_metas() {
        assert!(matches!(
            outcome(502, DEPENDENCY, "(#131047) Re-engagement message"),
            SendOutcome::Permanent {
                reason: Reason::WindowClosed,
                ..
            }
        ));
        for other in [
            "(#131000) Something went wrong",
            "Meta is down",
            "(#x) y",
            "(#999999) y",
            "(",
        ] {
            assert!(
                matches!(outcome(502, DEPENDENCY, other), SendOutcome::Unknown { .. }),
                "{other}"
            );
        }
        assert!(matches!(
            outcome(400, "ValidationException", "(#1) y"),
            SendOutcome::Permanent { .. }
        ));
    }

    #[test]
    fn a_refusal_without_a_name_is_judged_by_its_status() {
        let plain = |status| {
            classify_answer(
                AwsRefusal {
                    status,
                    code: None,
                    message: None,
                },
                1,
            )
        };
        assert!(matches!(plain(403), SendOutcome::Credentials { .. }));
        assert!(matches!(
            plain(429),
            SendOutcome::Retryable { after: Some(_), .. }
        ));
        assert!(matches!(
            plain(400),
            SendOutcome::Refused {
                everything: false,
                ..
            }
        ));
        assert!(matches!(
            plain(500),
            SendOutcome::Unknown { timed_out: false, .. }
        ));
    }
}
