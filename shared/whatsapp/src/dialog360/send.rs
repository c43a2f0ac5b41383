//! Sending: Meta's body with 360dialog's key, which also says from which number.

use super::errors::classify;
use crate::cloud::{Upload, file_of, uploaded};
use crate::exchange::{Exchange, address, exchange};
use crate::meta::body::body;
use crate::meta::read_mark;
use crate::meta::send::{accepted, no_address};
use recado_domain::secret::Secret;
use recado_pipeline::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use reqwest::Client;
use std::time::Duration;

/// The header of the key.
const KEY: &str = "D360-API-KEY";

/// A number as it is reached.
pub(crate) struct Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) timeout: Duration,
}

/// Sends; a file that is here and not on the web is uploaded first (`POST {base}/media`), within the same time.
pub(crate) async fn send(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let file = match file_of(message) {
        Ok(Some(file)) => file,
        Ok(None) => return post(at, message, at.timeout).await,
        Err(outcome) => return outcome,
    };
    let (Some(url), half) = (address(at.base, &["media"]), at.timeout / 2) else {
        return no_address();
    };
    let upload = Upload {
        request: at.http.post(url).header(KEY, at.key.expose()),
        classify,
        timeout: half,
    };
    match uploaded(message, &file, upload).await {
        Ok(message) => post(at, &message, half).await,
        Err(outcome) => outcome,
    }
}

/// `POST {base}/messages`. An answer names the message and need not name the contact; a 2xx that is not JSON, or names no
/// message, is unknown.
async fn post(at: &Endpoint<'_>, message: &OutgoingMessage, timeout: Duration) -> SendOutcome {
    let body = match body(message) {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    let Some(url) = address(at.base, &["messages"]) else {
        return no_address();
    };
    let request = at.http.post(url).header(KEY, at.key.expose()).json(&body);
    match exchange(request, timeout).await.answer() {
        Ok(answer) if answer.is_success() => accepted(&answer),
        Ok(answer) => classify(&answer, message.attempt),
        Err(outcome) => outcome,
    }
}

/// Marks as read and shows "typing…", as Meta does. Best effort: nothing follows from the answer.
pub(crate) async fn seen(at: &Endpoint<'_>, id: &str, typing: bool) {
    if let Some(url) = address(at.base, &["messages"]) {
        let request = at.http.post(url).header(KEY, at.key.expose());
        exchange(request.json(&read_mark(id, typing)), at.timeout).await;
    }
}

/// Whether the key is good, by reading where the number's webhooks go. The number has no connection that could be lost: only
/// a refusal of the key or the account says otherwise, and a key that may not read this (403, 404) may still send.
pub(crate) async fn connection(at: &Endpoint<'_>) -> ConnectionAnswer {
    let Some(url) = address(at.base, &["v1", "configs", "webhook"]) else {
        return ConnectionAnswer::Unclear;
    };
    match exchange(at.http.get(url).header(KEY, at.key.expose()), at.timeout).await {
        Exchange::Answer(answer) if answer.is_success() || matches!(answer.status, 403 | 404) => {
            ConnectionAnswer::Open
        }
        Exchange::Answer(answer) => match classify(&answer, 1) {
            SendOutcome::Credentials { .. } => ConnectionAnswer::NeedsCredentials,
            // Whatever it refuses to be read: 360dialog answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unclear,
        },
        Exchange::NeverLeft(_) | Exchange::Lost { .. } => ConnectionAnswer::Unclear,
    }
}
