//! Sends messages through 360dialog: Meta's body with 360dialog's key, which also identifies the sending number.

use super::errors::classify;
use crate::meta::body::build_message_body;
use crate::meta::build_read_receipt;
use crate::meta::send::{invalid_base_url, read_accepted_answer};
use crate::meta::templates::find_template;
use crate::meta::upload::{MediaUpload, find_inline_file, upload_inline_file};
use crate::wire::http_exchange::{HttpExchange, build_url, send_request};
use crate::wire::template_lookup::TemplateLookup;
use recado_domain::content::MessageTemplate;
use recado_domain::secret::Secret;
use recado_ports::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use reqwest::Client;
use serde_json::Value;
use std::time::Duration;

/// Name of the HTTP header with the key.
pub(super) const KEY_HEADER: &str = "D360-API-KEY";

/// A sending number at 360dialog, with its key and base URL.
pub(crate) struct Dialog360Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) timeout: Duration,
}

/// Sends a message. A file that the message carries as bytes is uploaded first (`POST {base}/media`), within the same
/// time limit.
pub(crate) async fn send_message(at: &Dialog360Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let file = match find_inline_file(message) {
        Ok(Some(file)) => file,
        Ok(None) => return post_message(at, message, at.timeout).await,
        Err(outcome) => return outcome,
    };
    let (Some(url), half) = (build_url(at.base, &["media"]), at.timeout / 2) else {
        return invalid_base_url();
    };
    let upload = MediaUpload {
        request: at.http.post(url).header(KEY_HEADER, at.key.expose_secret()),
        classify,
        timeout: half,
    };
    match upload_inline_file(message, &file, upload).await {
        Ok(message) => post_message(at, &message, half).await,
        Err(outcome) => outcome,
    }
}

/// Posts the message (`POST {base}/messages`). The answer names the message and need not name the contact. The outcome
/// is unknown if a 2xx is not JSON or names no message.
async fn post_message(
    at: &Dialog360Endpoint<'_>,
    message: &OutgoingMessage,
    timeout: Duration,
) -> SendOutcome {
    let body = match build_message_body(message) {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let Some(url) = build_url(at.base, &["messages"]) else {
        return invalid_base_url();
    };
    let request = at
        .http
        .post(url)
        .header(KEY_HEADER, at.key.expose_secret())
        .json(&body);
    match send_request(request, timeout).await.into_response() {
        Ok(answer) if answer.is_success() => read_accepted_answer(&answer),
        Ok(answer) => classify(&answer, message.attempt),
        Err(outcome) => outcome,
    }
}

/// Marks a message as read and, if `typing`, shows "typing…", as Meta does. Best effort: the answer is not used.
pub(crate) async fn mark_read(at: &Dialog360Endpoint<'_>, id: &str, typing: bool) {
    if let Some(url) = build_url(at.base, &["messages"]) {
        let request = at.http.post(url).header(KEY_HEADER, at.key.expose_secret());
        send_request(request.json(&build_read_receipt(id, typing)), at.timeout).await;
    }
}

/// Checks the key by reading the number's webhook. A 360dialog number has no connection that could be lost. Only a
/// refusal of the key or the account counts against it: a key that may not read the webhook (403, 404) may still send.
pub(crate) async fn fetch_connection(at: &Dialog360Endpoint<'_>) -> ConnectionAnswer {
    let Some(url) = build_url(at.base, &["v1", "configs", "webhook"]) else {
        return ConnectionAnswer::Unclear;
    };
    match send_request(
        at.http.get(url).header(KEY_HEADER, at.key.expose_secret()),
        at.timeout,
    )
    .await
    {
        HttpExchange::Response(answer) if answer.is_success() || matches!(answer.status, 403 | 404) => {
            ConnectionAnswer::Open
        }
        HttpExchange::Response(answer) => match classify(&answer, 1) {
            SendOutcome::Credentials { .. } => ConnectionAnswer::NeedsCredentials,
            // Any other refusal shows that 360dialog answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unreachable,
        },
        HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => ConnectionAnswer::Unreachable,
    }
}

/// Reads a template of the number's account (`GET {base}/v1/configs/templates`).
pub(crate) async fn fetch_template(at: &Dialog360Endpoint<'_>, wanted: &MessageTemplate) -> TemplateLookup {
    let Some(mut url) = build_url(at.base, &["v1", "configs", "templates"]) else {
        return TemplateLookup::Unclear;
    };
    url.set_query(Some("limit=1000"));
    let request = at.http.get(url).header(KEY_HEADER, at.key.expose_secret());
    match send_request(request, at.timeout).await {
        HttpExchange::Response(answer) if answer.is_success() => {
            let rows = answer.body.get("waba_templates");
            let listed = rows.and_then(Value::as_array).map_or(0, Vec::len);
            let total = answer.body.get("total").and_then(Value::as_u64);
            find_template(rows, total.is_some_and(|total| total > listed as u64), wanted)
        }
        HttpExchange::Response(_) | HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => {
            TemplateLookup::Unclear
        }
    }
}
