//! Classifies Evolution's errors.
//!
//! An error body is `{status, error, response: {message}}`, where `message` is a text, a list of texts, a list of lists
//! (the schema check) or a list of objects (the number check). Evolution answers 400 to nearly every error, so the text
//! decides. The text is not repeated in `why`, because it can contain a phone number or a stack trace.

use crate::wire::error_class::ErrorClass::{
    self, Credentials, Disconnected, NewChatRefused, Permanent, Refused, RefusesEverything, Retry, Throttled,
};
use crate::wire::error_table::not_sent_reason::{BEFORE_HANDLER, BODY_CHECKED, KEY_CHECKED, REQUEST_REFUSED};
use crate::wire::error_table::{ErrorRow, error_row, find_error_row, status_row, unknown_outcome_row};
use crate::wire::http_exchange::HttpResponse;
use recado_ports::ports::SendOutcome;
use serde_json::Value;

/// Marker for the number check's `{"exists": false}` in the text of [`collect_error_text`].
pub(crate) const NUMBER_NOT_FOUND: &str = "exists:false";

/// Marker for the schema check's list in a list, in the text of [`collect_error_text`].
pub(crate) const SCHEMA_CHECK_FAILED: &str = "schema:";

/// The code, in lower case, of a server that has no licence. From version 2.4 on it answers everything so until a person activates it.
pub(super) const LICENSE_REQUIRED: &str = "license_required";

pub(crate) const ANY_STATUS: (u16, u16) = (0, 999);

/// Phrases with which a proxy answers 503 if it found no server to pass the request to: `HAProxy`, Traefik, Envoy, and
/// the pages of nginx and of AWS's load balancers, which answer so without a server, too. Any other 503 may come from a
/// server that took the request.
const NO_SERVER_PHRASES: &[&str] = &[
    "no server is available",
    "no available server",
    "no healthy upstream",
    "503 service temporarily unavailable",
];

/// Evolution's errors by status and text. "Connection Closed" comes from the check before anything is written to the
/// socket. A time-out and a failure of Evolution's database come later: the message may have been, or was, sent (#978,
/// #1247, #1613). The same is true of any other 400 or 5xx without a known text, also from a proxy whose server took the
/// request and then failed. Classifying these as "not sent" would send the message twice.
pub(crate) const ERROR_TABLE: [ErrorRow; 21] = [
    error_row(
        (503, 503),
        &[LICENSE_REQUIRED],
        RefusesEverything,
        "the server has no licence",
        BEFORE_HANDLER,
    ),
    status_row(401, Credentials, "key missing or wrong", KEY_CHECKED),
    status_row(403, Credentials, "forbidden", KEY_CHECKED),
    error_row(
        ANY_STATUS,
        &[NUMBER_NOT_FOUND],
        Permanent,
        "not on WhatsApp",
        "the number is checked first",
    ),
    error_row(
        ANY_STATUS,
        &["connection closed"],
        Disconnected,
        "connection closed",
        "the socket is checked first",
    ),
    error_row(
        (404, 404),
        &["instance does not exist"],
        Disconnected,
        "instance does not exist",
        BEFORE_HANDLER,
    ),
    // A linked phone's libraries repeat WhatsApp's code: 463, the number may begin no chats.
    error_row(
        (400, 599),
        &["error 463"],
        NewChatRefused,
        "WhatsApp takes no first message from this number now",
        "WhatsApp's server refused it",
    ),
    unknown_outcome_row((408, 408), &[], true, "time-out"),
    unknown_outcome_row((504, 504), &[], true, "gateway time-out"),
    unknown_outcome_row(ANY_STATUS, &["timed out", "timeout"], true, "WhatsApp timed out"),
    unknown_outcome_row(
        (400, 599),
        &["aggregateerror", "prisma", "database"],
        false,
        "database failed",
    ),
    error_row(
        (400, 400),
        &[SCHEMA_CHECK_FAILED, "is required"],
        Permanent,
        "bad request body",
        BODY_CHECKED,
    ),
    status_row(429, Throttled, "too many requests", BEFORE_HANDLER),
    error_row(
        (503, 503),
        NO_SERVER_PHRASES,
        Retry,
        "no server behind the proxy",
        "the proxy had no server",
    ),
    unknown_outcome_row((502, 502), &[], true, "gateway error"),
    unknown_outcome_row((500, 599), &[], false, "server error"),
    unknown_outcome_row((400, 400), &[], false, "failed for an unknown reason"),
    status_row(404, Retry, "no such route", BEFORE_HANDLER),
    error_row((405, 499), &[], Refused, "refused", REQUEST_REFUSED),
    error_row((300, 399), &[], Retry, "redirect not followed", BEFORE_HANDLER),
    unknown_outcome_row(ANY_STATUS, &[], false, "unexpected"),
];

/// Classifies an answer that is not a 2xx: returns the outcome of the send that it answers.
pub(super) fn classify_response(answer: &HttpResponse) -> SendOutcome {
    let said = collect_error_text(&answer.body);
    // The fallback is never used: the last row fits every answer.
    let (class, title) = find_error_row(&ERROR_TABLE, answer.status, &said)
        .map_or((ErrorClass::Unknown { timed_out: false }, "unexpected"), |row| {
            (row.class, row.title)
        });
    let why = format!("HTTP {}: {title}", answer.status);
    class.into_send_outcome(why, answer.retry_after, 1)
}

/// Returns all texts of an error body in lower case. The schema check and the number check are shown by their markers.
fn collect_error_text(body: &Value) -> String {
    let mut text = body.as_str().unwrap_or_default().to_owned();
    for key in ["response", "message", "error", "code"] {
        if let Some(value) = body.get(key) {
            append_texts(value, 0, &mut text);
        }
    }
    text.to_lowercase()
}

fn append_texts(value: &Value, lists: u8, text: &mut String) {
    match value {
        Value::String(said) => {
            text.push_str(said);
            text.push('\n');
        }
        Value::Array(members) => {
            if lists > 0 {
                text.push_str(SCHEMA_CHECK_FAILED);
            }
            for member in members {
                append_texts(member, lists.saturating_add(1), text);
            }
        }
        Value::Object(fields) => {
            if fields.get("exists") == Some(&Value::Bool(false)) {
                text.push_str(NUMBER_NOT_FOUND);
            }
            for field in fields.values() {
                append_texts(field, lists, text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    fn outcome(status: u16, message: &Value) -> SendOutcome {
        let body = json!({"status": status, "error": "x", "response": {"message": message}});
        classify_response(&HttpResponse {
            status,
            body,
            retry_after: None,
        })
    }

    fn name(outcome: &SendOutcome) -> &'static str {
        match outcome {
            SendOutcome::Accepted { .. } => "accepted",
            SendOutcome::Disconnected { .. } => "disconnected",
            SendOutcome::Retryable { after: None, .. } => "retryable",
            SendOutcome::Retryable { after: Some(_), .. } => "throttled",
            SendOutcome::Unknown { timed_out: true, .. } => "timed out",
            SendOutcome::Unknown { timed_out: false, .. } => "unknown",
            SendOutcome::Permanent { .. } => "permanent",
            SendOutcome::NewChatRefused { .. } => "new chat refused",
            SendOutcome::Refused {
                everything: false, ..
            } => "refused",
            SendOutcome::Refused { everything: true, .. } => "refuses everything",
            SendOutcome::Credentials { .. } => "credentials",
            SendOutcome::Unreached { .. } => "unreached",
        }
    }

    #[test]
    fn every_refusal_in_the_reference_has_its_meaning() {
        let number =
            json!([{"jid": "5511900000001@s.whatsapp.net", "exists": false, "number": "5511900000001"}]);
        let rows = [
            (401, json!("Unauthorized"), "credentials"),
            (403, json!("Forbidden"), "credentials"),
            (400, number.clone(), "permanent"),
            (500, number, "permanent"),
            (400, json!(["Error: Connection Closed"]), "disconnected"),
            (500, json!(["Error: Connection Closed"]), "disconnected"),
            (
                404,
                json!(["The \"suporte-01\" instance does not exist"]),
                "disconnected",
            ),
            (408, json!("Request Time-out"), "timed out"),
            (504, json!(null), "timed out"),
            (400, json!(["Error: Timed Out"]), "timed out"),
            (500, json!(["Error: Timed Out"]), "timed out"),
            (400, json!(["AggregateError"]), "unknown"),
            (
                400,
                json!(["PrismaClientKnownRequestError: Invalid invocation"]),
                "unknown",
            ),
            (400, json!(["Can't reach database server"]), "unknown"),
            (400, json!([["instance requires property \"text\""]]), "permanent"),
            (400, json!(["Text is required"]), "permanent"),
            (429, json!("Too Many Requests"), "throttled"),
            (500, json!("server returned error 463"), "new chat refused"),
            (500, json!("server returned error 1463"), "unknown"),
            (502, json!(null), "timed out"),
            (503, json!(null), "unknown"),
            (
                500,
                json!(["TypeError: Cannot read properties of undefined"]),
                "unknown",
            ),
            (400, json!(["C"]), "unknown"),
            (404, json!(["Cannot POST /message"]), "retryable"),
            (413, json!(null), "refused"),
            (422, json!(null), "refused"),
            (302, json!(null), "retryable"),
            (100, json!(null), "unknown"),
        ];
        for (status, message, expected) in rows {
            assert_eq!(name(&outcome(status, &message)), expected, "{status} {message}");
        }
    }

    #[test]
    fn a_server_without_a_licence_has_sent_nothing_whatever_its_texts_say() {
        let refused = |status, body| {
            name(&classify_response(&HttpResponse {
                status,
                body,
                retry_after: None,
            }))
        };
        let body = json!({"error": "not activated", "code": "LICENSE_REQUIRED", "message": "Timed out? See the manager."});
        assert_eq!(refused(503, body.clone()), "refuses everything");
        assert_ne!(refused(500, body), "refuses everything");
        assert_eq!(refused(503, json!({"code": "OTHER"})), "unknown");
    }

    #[test]
    fn a_why_never_repeats_what_the_provider_said() {
        for status in [400, 401, 404, 408, 429, 500, 502, 504] {
            let why = format!(
                "{:?}",
                outcome(status, &json!(["Maria 5511900000001 said hello"]))
            );
            assert!(!why.contains("Maria") && !why.contains("5511"), "{why}");
        }
    }

    #[test]
    fn an_answer_that_is_no_json_is_judged_by_its_status_alone() {
        let answer = |status| HttpResponse {
            status,
            body: Value::Null,
            retry_after: Some(Duration::from_secs(7)),
        };
        assert_eq!(name(&classify_response(&answer(400))), "unknown");
        assert_eq!(name(&classify_response(&answer(503))), "unknown");
        assert!(
            matches!(classify_response(&answer(429)), SendOutcome::Retryable { after: Some(wait), .. } if wait.as_secs() == 7)
        );
    }

    #[test]
    fn a_proxy_without_a_server_has_sent_nothing_and_any_other_gateway_may_have() {
        let page = |status, page: &str| {
            classify_response(&HttpResponse {
                status,
                body: json!(page),
                retry_after: None,
            })
        };
        for said in [
            "<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.",
            "no available server",
            "no healthy upstream",
            "<html><head><title>503 Service Temporarily Unavailable</title></head>",
        ] {
            assert_eq!(name(&page(503, said)), "retryable", "{said}");
        }
        let after =
            "upstream connect error or disconnect/reset before headers. reset reason: connection termination";
        assert_eq!(name(&page(503, after)), "unknown");
        assert_eq!(
            name(&page(502, "<html><h1>502 Bad Gateway</h1></html>")),
            "timed out"
        );
    }
}
