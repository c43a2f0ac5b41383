//! Sending: Meta's body with 360dialog's key, which also says from which number.

use super::errors::classify;
use crate::cloud::{MediaUpload, find_inline_file, upload_inline_file};
use crate::http_exchange::{HttpExchange, build_url, send_request};
use crate::meta::body::build_message_body;
use crate::meta::build_read_receipt;
use crate::meta::send::{invalid_base_url, read_accepted_answer};
use recado_domain::secret::Secret;
use recado_pipeline::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use reqwest::Client;
use std::time::Duration;

/// The header of the key.
const KEY_HEADER: &str = "D360-API-KEY";

/// A number as it is reached.
pub(crate) struct Dialog360Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) timeout: Duration,
}

/// Sends; a file that is here and not on the web is uploaded first (`POST {base}/media`), within the same time.
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

/// `POST {base}/messages`. An answer names the message and need not name the contact; a 2xx that is not JSON, or names no
/// message, is unknown.
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

/// Marks as read and shows "typing…", as Meta does. Best effort: nothing follows from the answer.
pub(crate) async fn mark_read_and_typing(at: &Dialog360Endpoint<'_>, id: &str, typing: bool) {
    if let Some(url) = build_url(at.base, &["messages"]) {
        let request = at.http.post(url).header(KEY_HEADER, at.key.expose_secret());
        send_request(request.json(&build_read_receipt(id, typing)), at.timeout).await;
    }
}

/// Whether the key is good, by reading where the number's webhooks go. The number has no connection that could be lost: only
/// a refusal of the key or the account says otherwise, and a key that may not read this (403, 404) may still send.
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
            // Whatever it refuses to be read: 360dialog answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unclear,
        },
        HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => ConnectionAnswer::Unclear,
    }
}
