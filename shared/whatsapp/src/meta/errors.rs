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
use crate::wire::json::{get_text, parse_integer};
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
const LIMITS: &str = not_sent_reason::LIMIT_CHECKED;

const TIMED_OUT: ErrorClass = Unknown { timed_out: true };
const UNCLEAR: ErrorClass = Unknown { timed_out: false };

/// Class for a limit of a whole app or account: retry after 300 seconds.
const ACCOUNT_LIMIT: ErrorClass = RetryAfter(300);

/// Builds the row of a single code.
const fn code_row(code: i64, class: ErrorClass, title: &'static str, certain: &'static str) -> MetaErrorRow {
    (code, code, class, title, certain)
}

pub(crate) const TABLE: [MetaErrorRow; 68] = [
    code_row(0, Credentials, "authentication failed", RIGHTS),
    code_row(1, UNCLEAR, "unknown error", ""),
    code_row(2, TIMED_OUT, "service down", ""),
    code_row(3, Credentials, "no capability or permission", RIGHTS),
    code_row(4, ACCOUNT_LIMIT, "app call limit", LIMITS),
    code_row(10, Credentials, "permission denied", RIGHTS),
    code_row(33, Refused, "number deleted", RIGHTS),
    code_row(100, Permanent, "bad parameter", CHECKED),
    code_row(190, Credentials, "token expired or revoked", RIGHTS),
    (200, 299, Credentials, "permission missing", RIGHTS),
    // This and other refusals of a whole account or number wait for credentials: the owner can solve them, and the
    // messages wait.
    code_row(368, Credentials, "blocked for a policy violation", RIGHTS),
    code_row(400, Permanent, "media not downloaded", FILE),
    code_row(613, ACCOUNT_LIMIT, "call limit", LIMITS),
    code_row(80_007, ACCOUNT_LIMIT, "account rate limit", LIMITS),
    code_row(130_403, Permanent, "blocked by the business", RECIPIENT),
    code_row(130_429, RetryAfter(1), "throughput limit", LIMITS),
    code_row(130_472, Permanent, "user is part of an experiment", RECIPIENT),
    code_row(130_497, Permanent, "country not allowed", RIGHTS),
    code_row(130_501, Permanent, "unsupported message type", CHECKED),
    code_row(131_000, UNCLEAR, "something went wrong", ""),
    code_row(131_005, Credentials, "access denied", RIGHTS),
    code_row(131_008, Permanent, "parameter missing", CHECKED),
    code_row(131_009, Permanent, "parameter invalid", CHECKED),
    code_row(131_014, Permanent, "media link failed", FILE),
    code_row(131_016, TIMED_OUT, "service unavailable", ""),
    code_row(131_021, Permanent, "recipient is the sender", CHECKED),
    code_row(131_026, Permanent, "undeliverable", RECIPIENT),
    code_row(131_030, Permanent, "recipient not in the test list", CHECKED),
    code_row(131_031, Credentials, "account locked", RIGHTS),
    code_row(131_037, Credentials, "display name not approved", RIGHTS),
    code_row(131_042, Credentials, "payment problem", RIGHTS),
    code_row(131_045, Credentials, "number not registered", RIGHTS),
    code_row(
        131_047,
        WindowClosed,
        "more than 24 hours since the last message",
        CHECKED,
    ),
    code_row(131_048, RetryAfter(3600), "spam limit of the number", LIMITS),
    code_row(
        131_049,
        Permanent,
        "not delivered for a healthy ecosystem",
        RECIPIENT,
    ),
    code_row(131_050, Permanent, "recipient stopped marketing", RECIPIENT),
    code_row(131_051, Permanent, "unsupported message type", CHECKED),
    code_row(131_052, Permanent, "media failed", FILE),
    // In most cases Meta could not download the file from its link.
    code_row(131_053, RetryOnce, "media failed", FILE),
    code_row(131_055, Permanent, "marketing templates only", RECIPIENT),
    // Meta asks for a wait of 4^n seconds; it allows one message in 6 seconds.
    code_row(131_056, PairRateLimit, "pair rate limit", LIMITS),
    code_row(131_057, RetryAfter(60), "number in maintenance", RIGHTS),
    code_row(131_062, Permanent, "needs a phone number", RECIPIENT),
    code_row(131_063, Permanent, "marketing templates only", CHECKED),
    code_row(
        131_064,
        Permanent,
        "limit of the template's classification",
        LIMITS,
    ),
    code_row(132_000, Permanent, "template parameter count", CHECKED),
    code_row(132_001, Permanent, "template missing in this language", CHECKED),
    (
        132_005,
        132_007,
        Permanent,
        "template too long or against policy",
        CHECKED,
    ),
    code_row(132_012, Permanent, "template parameter format", CHECKED),
    (
        132_015,
        132_016,
        Permanent,
        "template paused or disabled",
        CHECKED,
    ),
    code_row(132_018, Permanent, "template parameters", CHECKED),
    (132_068, 132_069, Permanent, "flow blocked or throttled", CHECKED),
    code_row(133_000, Refused, "deregistration incomplete", RIGHTS),
    code_row(133_004, TIMED_OUT, "server unavailable", ""),
    (
        133_005,
        133_010,
        Credentials,
        "number not verified or registered",
        RIGHTS,
    ),
    code_row(133_015, RetryAfter(300), "number just deleted", RIGHTS),
    code_row(133_016, Refused, "too many registrations", LIMITS),
    code_row(134_011, Permanent, "payment terms not accepted", OTHER_CALLS),
    code_row(134_100, Permanent, "marketing templates only", RECIPIENT),
    code_row(134_101, RetryAfter(600), "template being synchronised", CHECKED),
    code_row(134_102, Permanent, "template unavailable", CHECKED),
    code_row(135_000, Permanent, "generic parameter error", CHECKED),
    (
        136_024,
        136_025,
        Permanent,
        "verification code not sent or wrong",
        OTHER_CALLS,
    ),
    code_row(138_006, Permanent, "no call permission", OTHER_CALLS),
    code_row(139_100, Permanent, "block list: not all were taken", OTHER_CALLS),
    code_row(139_102, Retry, "block list: changed meanwhile", OTHER_CALLS),
    code_row(139_200, Permanent, "direct send blocked", RIGHTS),
    code_row(2_593_109, Permanent, "history not shared", OTHER_CALLS),
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
    (408, 408, TIMED_OUT, ""),
    (502, 502, TIMED_OUT, ""),
    (504, 504, TIMED_OUT, ""),
    (429, 429, Throttled, LIMITS),
    (300, 399, Retry, not_sent_reason::BEFORE_HANDLER),
    (404, 404, Retry, not_sent_reason::BEFORE_HANDLER),
    (400, 499, Refused, not_sent_reason::REQUEST_REFUSED),
    (0, 999, UNCLEAR, ""),
];

/// Classes by HTTP status, for a code that is not in the table. If Meta sets `is_transient`, a permanent refusal becomes
/// retryable.
pub(crate) const UNKNOWN_CODE: [StatusRow; 4] = [
    (401, 401, Credentials, not_sent_reason::KEY_CHECKED),
    (429, 429, Throttled, LIMITS),
    (400, 499, Refused, not_sent_reason::REQUEST_REFUSED),
    (0, 999, UNCLEAR, ""),
];

fn is_unknown_number(error: &Value) -> bool {
    let number = |key| error.get(key).and_then(parse_integer);
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
    match error.get("code").and_then(parse_integer) {
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
    let code = error.get("code").and_then(parse_integer);
    if let Some((_, _, _, title, _)) = code.and_then(find_error) {
        return (*title).to_owned();
    }
    let said = ["title", "message"]
        .iter()
        .find_map(|key| get_text(error, key))
        .unwrap_or_default();
    // Meta's messages begin with `(#code) `.
    let named = code.map(|code| format!("(#{code})")).unwrap_or_default();
    mask_error_title(said.strip_prefix(&named).unwrap_or(said))
}

/// Returns the reason why an accepted message failed later, from the error object of its status.
pub(super) fn reason_of_failure(error: &Value) -> Reason {
    let code = error.get("code").and_then(parse_integer);
    match code.and_then(find_error) {
        Some((_, _, WindowClosed, ..)) => Reason::WindowClosed,
        _ => Reason::WhatsappPermanentError,
    }
}

/// Classifies an answer that is not a 2xx: returns the outcome of send attempt number `attempt` (from 1).
pub(crate) fn classify_answer(answer: &HttpResponse, attempt: u32) -> SendOutcome {
    let error = answer.body.get("error");
    let code = error.and_then(|error| error.get("code")).and_then(parse_integer);
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
