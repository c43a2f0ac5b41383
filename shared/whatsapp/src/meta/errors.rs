//! Classifies Meta's error codes, in answers and in `failed` statuses.
//!
//! The code decides, not the HTTP status: documentation of one year gives 400 for a throttled request, of another 429.
//! Codes and meanings are from Meta's error reference; classes and waits are Recado's own.

use crate::wire::error_class::ErrorClass::{
    self, Credentials, PairRateLimit, Permanent, Refused, Retry, RetryAfter, RetryOnce, Throttled, Unknown,
    WindowClosed,
};
use crate::wire::error_table::{StatusRow, class_by_status, not_sent_reason};
use crate::wire::error_title::mask_error_title;
use crate::wire::http_exchange::HttpResponse;
use recado_domain::reason::Reason;
use recado_ports::ports::SendOutcome;
use serde_json::Value;

/// One row: first code, last code, class, title, and the reason why it is certain that nothing was sent.
pub(crate) type MetaErrorRow = (i64, i64, ErrorClass, &'static str, &'static str);

const CHECKED: &str = "the message is checked first";
const RIGHTS: &str = "the account is checked first";
const FILE: &str = "the file is fetched first";
const RECIPIENT: &str = "Meta does not deliver it";
const OTHER_CALLS: &str = "no answer to a send";

/// Class for a limit of a whole app or account: retry after 300 seconds.
const ACCOUNT_LIMIT: ErrorClass = RetryAfter(300);

pub(crate) const TABLE: [MetaErrorRow; 68] = [
    (0, 0, Credentials, "authentication failed", RIGHTS),
    (1, 1, Unknown { timed_out: false }, "unknown error", ""),
    (2, 2, Unknown { timed_out: true }, "service down", ""),
    (3, 3, Credentials, "no capability or permission", RIGHTS),
    (
        4,
        4,
        ACCOUNT_LIMIT,
        "app call limit",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (10, 10, Credentials, "permission denied", RIGHTS),
    (33, 33, Refused, "number deleted", RIGHTS),
    (100, 100, Permanent, "bad parameter", CHECKED),
    (190, 190, Credentials, "token expired or revoked", RIGHTS),
    (200, 299, Credentials, "permission missing", RIGHTS),
    // This and other refusals of a whole account or number wait for credentials: the owner can solve them, and the
    // messages wait.
    (368, 368, Credentials, "blocked for a policy violation", RIGHTS),
    (400, 400, Permanent, "media not downloaded", FILE),
    (
        613,
        613,
        ACCOUNT_LIMIT,
        "call limit",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (
        80_007,
        80_007,
        ACCOUNT_LIMIT,
        "account rate limit",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (130_403, 130_403, Permanent, "blocked by the business", RECIPIENT),
    (
        130_429,
        130_429,
        RetryAfter(1),
        "throughput limit",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (
        130_472,
        130_472,
        Permanent,
        "user is part of an experiment",
        RECIPIENT,
    ),
    (130_497, 130_497, Permanent, "country not allowed", RIGHTS),
    (130_501, 130_501, Permanent, "unsupported message type", CHECKED),
    (
        131_000,
        131_000,
        Unknown { timed_out: false },
        "something went wrong",
        "",
    ),
    (131_005, 131_005, Credentials, "access denied", RIGHTS),
    (131_008, 131_008, Permanent, "parameter missing", CHECKED),
    (131_009, 131_009, Permanent, "parameter invalid", CHECKED),
    (131_014, 131_014, Permanent, "media link failed", FILE),
    (
        131_016,
        131_016,
        Unknown { timed_out: true },
        "service unavailable",
        "",
    ),
    (131_021, 131_021, Permanent, "recipient is the sender", CHECKED),
    (131_026, 131_026, Permanent, "undeliverable", RECIPIENT),
    (
        131_030,
        131_030,
        Permanent,
        "recipient not in the test list",
        CHECKED,
    ),
    (131_031, 131_031, Credentials, "account locked", RIGHTS),
    (131_037, 131_037, Credentials, "display name not approved", RIGHTS),
    (131_042, 131_042, Credentials, "payment problem", RIGHTS),
    (131_045, 131_045, Credentials, "number not registered", RIGHTS),
    (
        131_047,
        131_047,
        WindowClosed,
        "more than 24 hours since the last message",
        CHECKED,
    ),
    (
        131_048,
        131_048,
        RetryAfter(3600),
        "spam limit of the number",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (
        131_049,
        131_049,
        Permanent,
        "not delivered for a healthy ecosystem",
        RECIPIENT,
    ),
    (
        131_050,
        131_050,
        Permanent,
        "recipient stopped marketing",
        RECIPIENT,
    ),
    (131_051, 131_051, Permanent, "unsupported message type", CHECKED),
    (131_052, 131_052, Permanent, "media failed", FILE),
    // In most cases Meta could not download the file from its link.
    (131_053, 131_053, RetryOnce, "media failed", FILE),
    (131_055, 131_055, Permanent, "marketing templates only", RECIPIENT),
    // Meta asks for a wait of 4^n seconds; it allows one message in 6 seconds.
    (
        131_056,
        131_056,
        PairRateLimit,
        "pair rate limit",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (131_057, 131_057, RetryAfter(60), "number in maintenance", RIGHTS),
    (131_062, 131_062, Permanent, "needs a phone number", RECIPIENT),
    (131_063, 131_063, Permanent, "marketing templates only", CHECKED),
    (
        131_064,
        131_064,
        Permanent,
        "limit of the template's classification",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (132_000, 132_000, Permanent, "template parameter count", CHECKED),
    (
        132_001,
        132_001,
        Permanent,
        "template missing in this language",
        CHECKED,
    ),
    (
        132_005,
        132_007,
        Permanent,
        "template too long or against policy",
        CHECKED,
    ),
    (132_012, 132_012, Permanent, "template parameter format", CHECKED),
    (
        132_015,
        132_016,
        Permanent,
        "template paused or disabled",
        CHECKED,
    ),
    (132_018, 132_018, Permanent, "template parameters", CHECKED),
    (132_068, 132_069, Permanent, "flow blocked or throttled", CHECKED),
    (133_000, 133_000, Refused, "deregistration incomplete", RIGHTS),
    (
        133_004,
        133_004,
        Unknown { timed_out: true },
        "server unavailable",
        "",
    ),
    (
        133_005,
        133_010,
        Credentials,
        "number not verified or registered",
        RIGHTS,
    ),
    (133_015, 133_015, RetryAfter(300), "number just deleted", RIGHTS),
    (
        133_016,
        133_016,
        Refused,
        "too many registrations",
        not_sent_reason::LIMIT_CHECKED,
    ),
    (
        134_011,
        134_011,
        Permanent,
        "payment terms not accepted",
        OTHER_CALLS,
    ),
    (134_100, 134_100, Permanent, "marketing templates only", RECIPIENT),
    (
        134_101,
        134_101,
        RetryAfter(600),
        "template being synchronised",
        CHECKED,
    ),
    (134_102, 134_102, Permanent, "template unavailable", CHECKED),
    (135_000, 135_000, Permanent, "generic parameter error", CHECKED),
    (
        136_024,
        136_025,
        Permanent,
        "verification code not sent or wrong",
        OTHER_CALLS,
    ),
    (138_006, 138_006, Permanent, "no call permission", OTHER_CALLS),
    (
        139_100,
        139_100,
        Permanent,
        "block list: not all were taken",
        OTHER_CALLS,
    ),
    (
        139_102,
        139_102,
        Retry,
        "block list: changed meanwhile",
        OTHER_CALLS,
    ),
    (139_200, 139_200, Permanent, "direct send blocked", RIGHTS),
    (2_593_109, 2_593_109, Permanent, "history not shared", OTHER_CALLS),
];

/// Meta's error for a number that does not exist or that the token has no right to: code, subcode, class and title. Meta
/// refuses every send of the number with this error.
pub(crate) const UNKNOWN_NUMBER: MetaErrorRow =
    (100, 33, Credentials, "number unknown, or no right to it", RIGHTS);

/// Classes by HTTP status, for an answer without Meta's code, which comes from a server in between. The first row that
/// fits counts.
pub(crate) const WITHOUT_CODE: [StatusRow; 10] = [
    (401, 401, Credentials, not_sent_reason::KEY_CHECKED),
    (403, 403, Credentials, not_sent_reason::KEY_CHECKED),
    (408, 408, Unknown { timed_out: true }, ""),
    (502, 502, Unknown { timed_out: true }, ""),
    (504, 504, Unknown { timed_out: true }, ""),
    (429, 429, Throttled, not_sent_reason::LIMIT_CHECKED),
    (300, 399, Retry, not_sent_reason::BEFORE_HANDLER),
    (404, 404, Retry, not_sent_reason::BEFORE_HANDLER),
    (400, 499, Refused, not_sent_reason::REQUEST_REFUSED),
    (0, 999, Unknown { timed_out: false }, ""),
];

/// Classes by HTTP status, for a code that is not in the table. If Meta sets `is_transient`, a permanent refusal becomes
/// retryable.
pub(crate) const UNKNOWN_CODE: [StatusRow; 4] = [
    (401, 401, Credentials, not_sent_reason::KEY_CHECKED),
    (429, 429, Throttled, not_sent_reason::LIMIT_CHECKED),
    (400, 499, Refused, not_sent_reason::REQUEST_REFUSED),
    (0, 999, Unknown { timed_out: false }, ""),
];

fn is_unknown_number(error: &Value) -> bool {
    let number = |key| error.get(key).and_then(crate::wire::json::parse_integer);
    (number("code"), number("error_subcode")) == (Some(UNKNOWN_NUMBER.0), Some(UNKNOWN_NUMBER.1))
}

pub(crate) fn find_error(code: i64) -> Option<&'static MetaErrorRow> {
    TABLE
        .iter()
        .find(|(first, last, ..)| (*first..=*last).contains(&code))
}

/// Describes an error object without personal data: its code, and a title. The title of a known code is Recado's own,
/// otherwise Meta's, masked.
pub(crate) fn describe_error(error: &Value) -> String {
    match error.get("code").and_then(crate::wire::json::parse_integer) {
        Some(code) => format!("{code} {}", safe_error_title(error))
            .trim_end()
            .to_owned(),
        None => "no code".to_owned(),
    }
}

/// Returns the title of an error object without personal data.
pub(super) fn safe_error_title(error: &Value) -> String {
    if is_unknown_number(error) {
        return UNKNOWN_NUMBER.3.to_owned();
    }
    let code = error.get("code").and_then(crate::wire::json::parse_integer);
    if let Some((_, _, _, title, _)) = code.and_then(find_error) {
        return (*title).to_owned();
    }
    let said = ["title", "message"]
        .iter()
        .find_map(|key| crate::wire::json::get_text(error, key))
        .unwrap_or_default();
    // Meta's messages begin with `(#code) `.
    let named = code.map(|code| format!("(#{code})")).unwrap_or_default();
    mask_error_title(said.strip_prefix(&named).unwrap_or(said))
}

/// Returns the reason why an accepted message failed later, from the error object of its status.
pub(super) fn reason_of_failure(error: &Value) -> Reason {
    let code = error.get("code").and_then(crate::wire::json::parse_integer);
    match code.and_then(find_error) {
        Some((_, _, WindowClosed, ..)) => Reason::WindowClosed,
        _ => Reason::WhatsappPermanentError,
    }
}

/// Classifies an answer that is not a 2xx: returns the outcome of send attempt number `attempt` (from 1).
pub(crate) fn classify(answer: &HttpResponse, attempt: u32) -> SendOutcome {
    let error = answer.body.get("error");
    let code = error
        .and_then(|error| error.get("code"))
        .and_then(crate::wire::json::parse_integer);
    let (class, why) = match (code, error) {
        (Some(code), Some(error)) => (classify_code(code, error, answer.status), describe_error(error)),
        _ => (
            class_by_status(answer.status, &WITHOUT_CODE),
            format!("HTTP {} without an error code", answer.status),
        ),
    };
    class.into_send_outcome(why, answer.retry_after, attempt)
}

fn classify_code(code: i64, error: &Value, status: u16) -> ErrorClass {
    match find_error(code) {
        Some(_) if is_unknown_number(error) => UNKNOWN_NUMBER.2,
        Some((_, _, class, ..)) => *class,
        None => match class_by_status(status, &UNKNOWN_CODE) {
            Refused if error.get("is_transient").and_then(Value::as_bool) == Some(true) => Retry,
            class => class,
        },
    }
}

#[cfg(test)]
mod tests;
