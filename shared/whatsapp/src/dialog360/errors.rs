//! Classifies 360dialog's errors. Errors of 360dialog's own layer are recognized by text and HTTP status; errors that
//! 360dialog passes on from Meta, by Meta's code.
//!
//! 360dialog's own errors have several forms, `{"error": {"message", "code"}}`, `{"meta": {"developer_message"}}` or
//! plain text, and unusual statuses: a throttled request is answered with 400. The text is not repeated in `why`.

use crate::meta::errors as meta;
use crate::wire::error_class::ErrorClass::{self, Credentials, Refused, Retry, Throttled};
use crate::wire::error_table::not_sent_reason::{
    BEFORE_HANDLER, KEY_CHECKED, LIMIT_CHECKED, REQUEST_REFUSED,
};
use crate::wire::error_table::{ErrorRow, error_row, find_error_row, status_row, unknown_outcome_row};
use crate::wire::http_exchange::HttpResponse;
use crate::wire::json::parse_integer;
use recado_ports::ports::SendOutcome;
use serde_json::Value;

/// Errors of 360dialog's own layer by text. They are checked before Meta's codes.
pub(crate) const OWN_ERRORS: [ErrorRow; 5] = [
    error_row(
        (400, 499),
        &["exceeded the endpoint rate limit"],
        Throttled,
        "endpoint rate limit",
        LIMIT_CHECKED,
    ),
    error_row(
        (400, 499),
        &["lack of payment"],
        Credentials,
        "disabled for lack of payment",
        KEY_CHECKED,
    ),
    error_row(
        (400, 499),
        &["api has been disabled"],
        Credentials,
        "API disabled",
        KEY_CHECKED,
    ),
    status_row(401, Credentials, "key missing or wrong", KEY_CHECKED),
    unknown_outcome_row((502, 502), &[], true, "the API behind it is not available"),
];

/// Classes by HTTP status, for answers without a code of Meta's.
pub(crate) const BY_STATUS: [ErrorRow; 8] = [
    status_row(403, Credentials, "endpoint blocked", KEY_CHECKED),
    unknown_outcome_row((408, 408), &[], true, "time-out"),
    unknown_outcome_row((504, 504), &[], true, "gateway time-out"),
    status_row(429, Throttled, "too many requests", LIMIT_CHECKED),
    status_row(404, Retry, "no such route", BEFORE_HANDLER),
    error_row((300, 399), &[], Retry, "redirect not followed", BEFORE_HANDLER),
    error_row((400, 499), &[], Refused, "refused", REQUEST_REFUSED),
    unknown_outcome_row((0, 999), &[], false, "server error"),
];

/// Classifies an answer that is not a 2xx: returns the outcome of send attempt number `attempt` (from 1).
pub(super) fn classify_answer(answer: &HttpResponse, attempt: u32) -> SendOutcome {
    let said = collect_texts(&answer.body);
    if let Some(row) = find_error_row(&OWN_ERRORS, answer.status, &said) {
        return outcome_of_row(row, answer, attempt);
    }
    if has_meta_code(answer) {
        return meta::classify_answer(answer, attempt);
    }
    match find_error_row(&BY_STATUS, answer.status, &said) {
        Some(row) => outcome_of_row(row, answer, attempt),
        // This case never occurs: the last row fits every answer.
        None => ErrorClass::Unknown { timed_out: false }.into_send_outcome(String::new(), None, attempt),
    }
}

fn outcome_of_row(row: &ErrorRow, answer: &HttpResponse, attempt: u32) -> SendOutcome {
    let why = format!("HTTP {}: {}", answer.status, row.title);
    row.class.into_send_outcome(why, answer.retry_after, attempt)
}

/// Returns `true` if the error has a code of Meta's. 360dialog's own layer writes the HTTP status where Meta writes its
/// code.
fn has_meta_code(answer: &HttpResponse) -> bool {
    let code = answer.body.get("error").and_then(|error| error.get("code"));
    code.and_then(parse_integer)
        .is_some_and(|code| code != i64::from(answer.status))
}

/// Returns all texts of an answer, in lower case, one per line.
fn collect_texts(body: &Value) -> String {
    let mut text = String::new();
    append_texts(body, &mut text);
    text.to_lowercase()
}

/// Recursion ends because the JSON reader limits the depth of a body.
fn append_texts(value: &Value, text: &mut String) {
    match value {
        Value::String(said) => {
            text.push_str(said);
            text.push('\n');
        }
        Value::Array(members) => members.iter().for_each(|member| append_texts(member, text)),
        Value::Object(fields) => fields.values().for_each(|field| append_texts(field, text)),
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
        let answer = HttpResponse {
            status,
            body,
            retry_after: None,
        };
        classify_answer(&answer, 1)
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
        assert!(matches!(
            plain(422),
            SendOutcome::Refused {
                everything: false,
                ..
            }
        ));
        let own = outcome(422, json!({"error": {"message": "no", "code": 422}}));
        assert!(matches!(own, SendOutcome::Refused { why, .. } if why == "HTTP 422: refused"));
    }

    #[test]
    fn what_it_says_is_not_repeated() {
        let said = json!({"error": {"message": "Maria 5511900000001 exceeded the endpoint rate limit"}});
        assert!(
            matches!(outcome(400, said), SendOutcome::Retryable { why, .. } if why == "HTTP 400: endpoint rate limit")
        );
    }
}
