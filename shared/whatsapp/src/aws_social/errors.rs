//! What AWS's refusals mean. Its model has no field for Meta's code: most of what Meta refuses comes later, as a `failed`
//! status, and some of it as `DependencyException`, whose text may begin with the code.

use crate::class::Class;
use crate::meta::errors as meta;
use crate::refusals::{StatusRow, by_status, certain};
use recado_pipeline::ports::SendOutcome;

/// Name of the exception, class, title, and why it is certain that nothing was sent.
pub(crate) type Row = (&'static str, Class, &'static str, &'static str);

pub(crate) const DEPENDENCY: &str = "DependencyException";

/// Where AWS itself fails, or says that Meta did, nobody tells how far the message had come.
pub(crate) const TABLE: [Row; 15] = [
    (
        "ValidationException",
        Class::Permanent,
        "bad request",
        certain::BODY,
    ),
    (
        "InvalidParametersException",
        Class::Permanent,
        "bad parameters",
        certain::BODY,
    ),
    (
        "LimitExceededException",
        Class::Permanent,
        "over a limit of the account",
        certain::LIMIT,
    ),
    (
        "ResourceNotFoundException",
        Class::Permanent,
        "no such number",
        certain::BODY,
    ),
    (
        "AccessDeniedException",
        Class::Credentials,
        "not allowed by AWS",
        certain::KEY,
    ),
    (
        "AccessDeniedByMetaException",
        Class::Credentials,
        "not allowed by Meta",
        certain::KEY,
    ),
    (
        "UnrecognizedClientException",
        Class::Credentials,
        "AWS credentials not known",
        certain::KEY,
    ),
    (
        "InvalidSignatureException",
        Class::Credentials,
        "AWS credentials wrong",
        certain::KEY,
    ),
    (
        "ExpiredTokenException",
        Class::Credentials,
        "AWS credentials expired",
        certain::KEY,
    ),
    (
        "MissingAuthenticationTokenException",
        Class::Credentials,
        "AWS credentials missing",
        certain::KEY,
    ),
    (
        "ThrottledRequestException",
        Class::Throttled,
        "throttled",
        certain::LIMIT,
    ),
    (
        "ThrottlingException",
        Class::Throttled,
        "throttled",
        certain::LIMIT,
    ),
    ("InternalServiceException", NOT_KNOWN, "AWS failed", ""),
    (DEPENDENCY, NOT_KNOWN, "Meta failed", ""),
    (
        "ServiceUnavailableException",
        NOT_KNOWN,
        "AWS is not available",
        "",
    ),
];

const NOT_KNOWN: Class = Class::Unknown { timed_out: false };

/// What a refusal without a name of the table means, by its status: the first row that fits counts.
pub(crate) const BY_STATUS: [StatusRow; 5] = [
    (401, 401, Class::Credentials, certain::KEY),
    (403, 403, Class::Credentials, certain::KEY),
    (429, 429, Class::Throttled, certain::LIMIT),
    (400, 499, Class::Permanent, certain::REFUSED),
    (0, 999, NOT_KNOWN, ""),
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
        && let Some((_, _, class, title, _)) = refusal.message.and_then(metas_code).and_then(meta::known)
    {
        return class.outcome(format!("{DEPENDENCY}: {title}"), None, attempt);
    }
    if let Some((name, class, title, _)) = TABLE.iter().find(|(name, ..)| *name == code) {
        return class.outcome(format!("{name}: {title}"), None, attempt);
    }
    by_status(refusal.status, &BY_STATUS).outcome(
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
        for (name, class, title, _) in &TABLE {
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
