//! What AWS's refusals mean. Its model has no field for Meta's code: most of what Meta refuses comes later, as a `failed`
//! status, and some of it as `DependencyException`, whose text may begin with the code.

use crate::class::Class;
use crate::meta::errors as meta;
use recado_pipeline::ports::SendOutcome;

/// Name of the exception, class, title.
pub(crate) type Row = (&'static str, Class, &'static str);

pub(crate) const DEPENDENCY: &str = "DependencyException";

pub(crate) const TABLE: [Row; 15] = [
    ("ValidationException", Class::Permanent, "bad request"),
    ("InvalidParametersException", Class::Permanent, "bad parameters"),
    (
        "LimitExceededException",
        Class::Permanent,
        "over a limit of the account",
    ),
    ("ResourceNotFoundException", Class::Permanent, "no such number"),
    ("AccessDeniedException", Class::Credentials, "not allowed by AWS"),
    (
        "AccessDeniedByMetaException",
        Class::Credentials,
        "not allowed by Meta",
    ),
    (
        "UnrecognizedClientException",
        Class::Credentials,
        "AWS credentials not known",
    ),
    (
        "InvalidSignatureException",
        Class::Credentials,
        "AWS credentials wrong",
    ),
    (
        "ExpiredTokenException",
        Class::Credentials,
        "AWS credentials expired",
    ),
    (
        "MissingAuthenticationTokenException",
        Class::Credentials,
        "AWS credentials missing",
    ),
    ("ThrottledRequestException", Class::Throttled, "throttled"),
    ("ThrottlingException", Class::Throttled, "throttled"),
    ("InternalServiceException", Class::Retry, "AWS failed"),
    (DEPENDENCY, Class::Retry, "Meta failed"),
    (
        "ServiceUnavailableException",
        Class::Retry,
        "AWS is not available",
    ),
];

/// What a refusal without a name of the table means, by its status: the first row that fits counts.
pub(crate) const BY_STATUS: [(u16, u16, Class); 5] = [
    (401, 401, Class::Credentials),
    (403, 403, Class::Credentials),
    (429, 429, Class::Throttled),
    (400, 499, Class::Permanent),
    (0, 999, Class::Unknown { timed_out: false }),
];

/// A refusal, as AWS words it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    /// The exception's name.
    pub(super) code: Option<&'a str>,
    /// What it says. Not repeated: it may hold a number.
    pub(super) message: Option<&'a str>,
}

/// What a refusal means for the send it answers, attempt number `attempt` (from 1).
pub(super) fn classify(refusal: Refusal<'_>, attempt: u32) -> SendOutcome {
    let code = refusal.code.unwrap_or_default();
    if code == DEPENDENCY
        && let Some((_, _, class, title)) = refusal.message.and_then(metas_code).and_then(meta::known)
    {
        return class.outcome(format!("{DEPENDENCY}: {title}"), None, attempt);
    }
    if let Some((name, class, title)) = TABLE.iter().find(|(name, ..)| *name == code) {
        return class.outcome(format!("{name}: {title}"), None, attempt);
    }
    let class = BY_STATUS
        .iter()
        .find(|(first, last, _)| (*first..=*last).contains(&refusal.status))
        .map_or(Class::Unknown { timed_out: false }, |(.., class)| *class);
    class.outcome(
        format!("HTTP {} without a known name", refusal.status),
        None,
        attempt,
    )
}

/// The code of `(#code) title`, as Meta writes it.
fn metas_code(message: &str) -> Option<i64> {
    let (_, rest) = message.split_once("(#")?;
    let (code, _) = rest.split_once(')')?;
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::reason::Reason;

    fn outcome(status: u16, code: &str, message: &str) -> SendOutcome {
        let refusal = Refusal {
            status,
            code: Some(code),
            message: Some(message),
        };
        classify(refusal, 1)
    }

    #[test]
    fn every_exception_is_classed_by_its_name_and_what_it_says_is_not_repeated() {
        for (name, class, title) in &TABLE {
            let found = outcome(418, name, "to 5511900000001");
            assert_eq!(found, class.outcome(format!("{name}: {title}"), None, 1));
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
        for other in ["Meta is down", "(#x) y", "(#999999) y", "("] {
            assert!(
                matches!(outcome(502, DEPENDENCY, other), SendOutcome::Retryable { .. }),
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
            classify(
                Refusal {
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
        assert!(matches!(plain(400), SendOutcome::Permanent { .. }));
        assert!(matches!(
            plain(500),
            SendOutcome::Unknown { timed_out: false, .. }
        ));
    }
}
