//! What 360dialog's refusals mean: its own layer's by what they say and by HTTP status, those that it passes on by Meta's
//! code.
//!
//! Its own come in several shapes, `{"error": {"message", "code"}}`, `{"meta": {"developer_message"}}` or plain text, and
//! with a status that means something else elsewhere: a throttle says 400. What it says is not repeated in `why`.

use crate::class::Class;
use crate::exchange::Answer;
use crate::json::integer;
use crate::meta::errors as meta;
use crate::refusals::{Row, certain, find, row, unknown};
use recado_pipeline::ports::SendOutcome;
use serde_json::Value;

/// Looked at before Meta's codes.
pub(crate) const OWN: [Row; 5] = [
    row(
        (400, 499),
        &["exceeded the endpoint rate limit"],
        Class::Throttled,
        "endpoint rate limit",
        certain::LIMIT,
    ),
    row(
        (400, 499),
        &["lack of payment"],
        Class::Credentials,
        "disabled for lack of payment",
        certain::KEY,
    ),
    row(
        (400, 499),
        &["api has been disabled"],
        Class::Credentials,
        "API disabled",
        certain::KEY,
    ),
    row(
        (401, 401),
        &[],
        Class::Credentials,
        "key missing or wrong",
        certain::KEY,
    ),
    unknown((502, 502), &[], true, "the API behind it is not available"),
];

/// Looked at where no code of Meta's is there.
pub(crate) const BY_STATUS: [Row; 8] = [
    row(
        (403, 403),
        &[],
        Class::Credentials,
        "endpoint blocked",
        certain::KEY,
    ),
    unknown((408, 408), &[], true, "time-out"),
    unknown((504, 504), &[], true, "gateway time-out"),
    row(
        (429, 429),
        &[],
        Class::Throttled,
        "too many requests",
        certain::LIMIT,
    ),
    row((404, 404), &[], Class::Retry, "no such route", certain::BEFORE),
    row(
        (300, 399),
        &[],
        Class::Retry,
        "redirect not followed",
        certain::BEFORE,
    ),
    row((400, 499), &[], Class::Permanent, "refused", certain::REFUSED),
    unknown((0, 999), &[], false, "server error"),
];

/// What an answer that is no success means for the send it answers, attempt number `attempt` (from 1).
pub(super) fn classify(answer: &Answer, attempt: u32) -> SendOutcome {
    let said = said(&answer.body);
    if let Some(row) = find(&OWN, answer.status, &said) {
        return outcome(row, answer, attempt);
    }
    if has_metas_code(answer) {
        return meta::classify(answer, attempt);
    }
    match find(&BY_STATUS, answer.status, &said) {
        Some(row) => outcome(row, answer, attempt),
        // The last row fits everything.
        None => Class::Unknown { timed_out: false }.outcome(String::new(), None, attempt),
    }
}

fn outcome(row: &Row, answer: &Answer, attempt: u32) -> SendOutcome {
    let why = format!("HTTP {}: {}", answer.status, row.title);
    row.class.outcome(why, answer.retry_after, attempt)
}

/// Whether Meta said it: 360dialog's own layer writes the HTTP status where Meta has its code.
fn has_metas_code(answer: &Answer) -> bool {
    let code = answer.body.get("error").and_then(|error| error.get("code"));
    code.and_then(integer)
        .is_some_and(|code| code != i64::from(answer.status))
}

/// All texts of an answer, in lower case, one in each line.
fn said(body: &Value) -> String {
    let mut text = String::new();
    gather(body, &mut text);
    text.to_lowercase()
}

/// The body's depth bounds this.
fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(said) => {
            text.push_str(said);
            text.push('\n');
        }
        Value::Array(members) => members.iter().for_each(|member| gather(member, text)),
        Value::Object(fields) => fields.values().for_each(|field| gather(field, text)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::reason::Reason;
    use serde_json::json;
    use std::time::Duration;

    fn outcome(status: u16, body: Value) -> SendOutcome {
        let answer = Answer {
            status,
            body,
            retry_after: None,
        };
        classify(&answer, 1)
    }

    #[test]
    fn a_throttle_that_says_400_is_waited_for() {
        for body in [
            json!({"error": {"message": "You have exceeded the endpoint rate limit", "code": 400}}),
            json!({"meta": {"success": false, "http_code": 400, "developer_message": "Exceeded the endpoint rate limit."}}),
            json!("exceeded the endpoint rate limit"),
        ] {
            let expected = SendOutcome::Retryable {
                why: "HTTP 400: endpoint rate limit".to_owned(),
                after: Some(Duration::from_secs(60)),
            };
            assert_eq!(outcome(400, body), expected);
        }
    }

    #[test]
    fn an_account_that_is_shut_waits_for_somebody_to_open_it() {
        for (status, said) in [
            (400, "API has been disabled"),
            (400, "Channel paused due to lack of payment"),
            (403, "lack of payment"),
            (401, "invalid api_key"),
            (403, "This endpoint is blocked"),
        ] {
            let found = outcome(status, json!({"meta": {"developer_message": said}}));
            assert!(
                matches!(found, SendOutcome::Credentials { .. }),
                "{said}: {found:?}"
            );
        }
    }

    #[test]
    fn metas_code_counts_whatever_the_status() {
        let code = |status, code: i64| {
            outcome(
                status,
                json!({"error": {"message": format!("(#{code}) Title"), "code": code}}),
            )
        };
        let seconds = Duration::from_secs;
        assert!(
            matches!(code(403, 131_056), SendOutcome::Retryable { after: Some(wait), .. } if wait == seconds(6))
        );
        assert!(
            matches!(code(403, 130_429), SendOutcome::Retryable { after: Some(wait), .. } if wait == seconds(1))
        );
        assert!(
            matches!(code(429, 613), SendOutcome::Retryable { after: Some(wait), .. } if wait == seconds(300))
        );
        assert!(matches!(
            code(400, 131_047),
            SendOutcome::Permanent {
                reason: Reason::WindowClosed,
                ..
            }
        ));
        assert!(matches!(code(500, 100), SendOutcome::Permanent { .. }));
    }

    #[test]
    fn without_a_code_the_status_decides_and_a_500_is_not_known() {
        let plain = |status| outcome(status, Value::Null);
        assert!(matches!(
            plain(500),
            SendOutcome::Unknown { timed_out: false, .. }
        ));
        assert!(matches!(plain(502), SendOutcome::Unknown { timed_out: true, .. }));
        assert!(matches!(
            plain(503),
            SendOutcome::Unknown { timed_out: false, .. }
        ));
        assert!(matches!(plain(504), SendOutcome::Unknown { timed_out: true, .. }));
        assert!(matches!(
            plain(429),
            SendOutcome::Retryable { after: Some(_), .. }
        ));
        assert!(matches!(plain(422), SendOutcome::Permanent { .. }));
        let own = outcome(422, json!({"error": {"message": "no", "code": 422}}));
        assert!(matches!(own, SendOutcome::Permanent { why, .. } if why == "HTTP 422: refused"));
    }

    #[test]
    fn what_it_says_is_not_repeated() {
        let said = json!({"error": {"message": "Maria 5511900000001 exceeded the endpoint rate limit"}});
        assert!(
            matches!(outcome(400, said), SendOutcome::Retryable { why, .. } if why == "HTTP 400: endpoint rate limit")
        );
    }
}
