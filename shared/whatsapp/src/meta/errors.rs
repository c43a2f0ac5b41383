//! What Meta's error codes mean, in answers and in `failed` statuses.
//!
//! The code decides, not the HTTP status: documentation of one year gives 400 for a throttle, of another 429. Codes and
//! meanings are from Meta's error reference; classes and waits are ours.

use crate::class::Class::{
    self, Credentials, Once, Pair, Permanent, Retry, RetryAfter, Throttled, Unknown, Window,
};
use crate::error_title::error_title;
use crate::exchange::Answer;
use recado_domain::reason::Reason;
use recado_pipeline::ports::SendOutcome;
use serde_json::Value;

/// First code, last code, class, title.
pub(crate) type Row = (i64, i64, Class, &'static str);

/// How long the limits of a whole app or account last.
const ACCOUNT: Class = RetryAfter(300);

pub(crate) const TABLE: [Row; 63] = [
    (0, 0, Credentials, "authentication failed"),
    (1, 1, Retry, "unknown error"),
    (2, 2, Retry, "service down"),
    (3, 3, Credentials, "no capability or permission"),
    (4, 4, ACCOUNT, "app call limit"),
    (10, 10, Credentials, "permission denied"),
    (33, 33, Permanent, "number deleted"),
    (100, 100, Permanent, "bad parameter"),
    (190, 190, Credentials, "token expired or revoked"),
    (200, 299, Credentials, "permission missing"),
    // This and other refusals of a whole account or number: its owner can mend them, and its messages wait for that.
    (368, 368, Credentials, "blocked for a policy violation"),
    (400, 400, Permanent, "media not downloaded"),
    (613, 613, ACCOUNT, "call limit"),
    (80_007, 80_007, ACCOUNT, "account rate limit"),
    (130_429, 130_429, RetryAfter(1), "throughput limit"),
    (130_472, 130_472, Permanent, "user is part of an experiment"),
    (130_497, 130_497, Permanent, "country not allowed"),
    (130_501, 130_501, Permanent, "unsupported message type"),
    (131_000, 131_000, Retry, "something went wrong"),
    (131_005, 131_005, Credentials, "access denied"),
    (131_008, 131_008, Permanent, "parameter missing"),
    (131_009, 131_009, Permanent, "parameter invalid"),
    (131_014, 131_014, Permanent, "media link failed"),
    (131_016, 131_016, Retry, "service unavailable"),
    (131_021, 131_021, Permanent, "recipient is the sender"),
    (131_026, 131_026, Permanent, "undeliverable"),
    (131_030, 131_030, Permanent, "recipient not in the test list"),
    (131_031, 131_031, Credentials, "account locked"),
    (131_037, 131_037, Credentials, "display name not approved"),
    (131_042, 131_042, Credentials, "payment problem"),
    (131_045, 131_045, Credentials, "number not registered"),
    (
        131_047,
        131_047,
        Window,
        "more than 24 hours since the last message",
    ),
    (131_048, 131_048, RetryAfter(3600), "spam limit of the number"),
    (
        131_049,
        131_049,
        Permanent,
        "not delivered for a healthy ecosystem",
    ),
    (131_050, 131_050, Permanent, "recipient stopped marketing"),
    (131_051, 131_051, Permanent, "unsupported message type"),
    (131_052, 131_052, Permanent, "media failed"),
    // Mostly a link that Meta could not fetch.
    (131_053, 131_053, Once, "media failed"),
    (131_055, 131_055, Permanent, "marketing templates only"),
    // Meta asks for 4^n seconds; one message in 6 seconds is what it allows.
    (131_056, 131_056, Pair, "pair rate limit"),
    (131_057, 131_057, RetryAfter(60), "number in maintenance"),
    (131_062, 131_062, Permanent, "needs a phone number"),
    (132_000, 132_000, Permanent, "template parameter count"),
    (132_001, 132_001, Permanent, "template missing in this language"),
    (132_005, 132_007, Permanent, "template too long or against policy"),
    (132_012, 132_012, Permanent, "template parameter format"),
    (132_015, 132_016, Permanent, "template paused or disabled"),
    (132_068, 132_069, Permanent, "flow blocked or throttled"),
    (133_000, 133_000, Permanent, "deregistration incomplete"),
    (133_004, 133_004, Retry, "server unavailable"),
    (133_005, 133_010, Credentials, "number not verified or registered"),
    (133_015, 133_015, RetryAfter(300), "number just deleted"),
    (133_016, 133_016, Permanent, "too many registrations"),
    (134_011, 134_011, Permanent, "payment terms not accepted"),
    (134_100, 134_100, Permanent, "marketing templates only"),
    (134_101, 134_101, RetryAfter(600), "template being synchronised"),
    (134_102, 134_102, Permanent, "template unavailable"),
    (135_000, 135_000, Permanent, "generic parameter error"),
    (136_024, 136_025, Permanent, "verification code not sent or wrong"),
    (138_006, 138_006, Permanent, "no call permission"),
    (139_100, 139_100, Permanent, "block list: not all were taken"),
    (139_102, 139_102, Retry, "block list: changed meanwhile"),
    (2_593_109, 2_593_109, Permanent, "history not shared"),
];

/// Code, subcode, class and title of what Meta says of a number that does not exist, or that the token has no right to:
/// all that is sent for it is refused so.
pub(crate) const OBJECT: Row = (100, 33, Credentials, "number unknown, or no right to it");

/// What an answer without a code, which comes from something in between, means by its status: the first row that fits
/// counts.
pub(crate) const WITHOUT_CODE: [(u16, u16, Class); 10] = [
    (401, 401, Credentials),
    (403, 403, Credentials),
    (408, 408, Unknown { timed_out: true }),
    (504, 504, Unknown { timed_out: true }),
    (429, 429, Throttled),
    (300, 399, Retry),
    (404, 404, Retry),
    (502, 503, Retry),
    (400, 499, Permanent),
    (0, 999, Unknown { timed_out: false }),
];

/// What a code that is not in the table means by its status; Meta's own `is_transient` counts first. Meta answered, so a
/// 5xx has not taken the message.
pub(crate) const UNKNOWN_CODE: [(u16, u16, Class); 4] = [
    (401, 401, Credentials),
    (429, 429, Throttled),
    (500, 599, Retry),
    (0, 999, Permanent),
];

fn is_object(error: &Value) -> bool {
    let number = |key| error.get(key).and_then(crate::json::integer);
    (number("code"), number("error_subcode")) == (Some(OBJECT.0), Some(OBJECT.1))
}

fn by_status(status: u16, rows: &[(u16, u16, Class)]) -> Class {
    rows.iter()
        .find(|(first, last, _)| (*first..=*last).contains(&status))
        .map_or(Unknown { timed_out: false }, |(.., class)| *class)
}

pub(crate) fn known(code: i64) -> Option<&'static Row> {
    TABLE
        .iter()
        .find(|(first, last, ..)| (*first..=*last).contains(&code))
}

/// An error object's code and a title without personal data: ours for a known code, else Meta's own, masked.
pub(crate) fn describe(error: &Value) -> String {
    match error.get("code").and_then(crate::json::integer) {
        Some(code) => format!("{code} {}", title(error)).trim_end().to_owned(),
        None => "no code".to_owned(),
    }
}

/// The title alone.
pub(super) fn title(error: &Value) -> String {
    if is_object(error) {
        return OBJECT.3.to_owned();
    }
    let code = error.get("code").and_then(crate::json::integer);
    if let Some((.., title)) = code.and_then(known) {
        return (*title).to_owned();
    }
    let said = ["title", "message"]
        .iter()
        .find_map(|key| crate::json::text(error, key))
        .unwrap_or_default();
    // Meta's messages begin with `(#code) `.
    let named = code.map(|code| format!("(#{code})")).unwrap_or_default();
    error_title(said.strip_prefix(&named).unwrap_or(said))
}

/// Why an accepted message failed after all, by the error object of its status.
pub(super) fn late_reason(error: &Value) -> Reason {
    let code = error.get("code").and_then(crate::json::integer);
    match code.and_then(known) {
        Some((_, _, Window, _)) => Reason::WindowClosed,
        _ => Reason::WhatsappPermanentError,
    }
}

/// What an answer that is not a 2xx means for the send it answers, attempt number `attempt` (from 1).
pub(crate) fn classify(answer: &Answer, attempt: u32) -> SendOutcome {
    let error = answer.body.get("error");
    let code = error
        .and_then(|error| error.get("code"))
        .and_then(crate::json::integer);
    let (class, why) = match (code, error) {
        (Some(code), Some(error)) => (class_of(code, error, answer.status), describe(error)),
        _ => (
            by_status(answer.status, &WITHOUT_CODE),
            format!("HTTP {} without an error code", answer.status),
        ),
    };
    class.outcome(why, answer.retry_after, attempt)
}

fn class_of(code: i64, error: &Value, status: u16) -> Class {
    match known(code) {
        Some(_) if is_object(error) => OBJECT.2,
        Some((_, _, class, _)) => *class,
        None if error.get("is_transient").and_then(Value::as_bool) == Some(true) => Retry,
        None => by_status(status, &UNKNOWN_CODE),
    }
}

#[cfg(test)]
mod tests;
