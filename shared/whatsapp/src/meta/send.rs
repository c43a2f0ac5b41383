//! Sending, over the Graph API (bearer token).

use super::body::body;
use super::errors::classify;
use crate::cloud::{Upload, file_of, uploaded};
use crate::exchange::{Answer, address, exchange};
use crate::json::{list, text};
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use reqwest::Client;
use std::time::Duration;

/// A number as it is reached.
pub(crate) struct Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    /// Of the Graph API, such as `v24.0`.
    pub(crate) version: &'a str,
    pub(crate) token: &'a Secret,
    pub(crate) phone_number_id: &'a ExternalId,
    pub(crate) timeout: Duration,
}

/// Sends a message; a file that is here and not on the web is uploaded first, within the same time.
pub(crate) async fn send(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let file = match file_of(message) {
        Ok(Some(file)) => file,
        Ok(None) => return post(at, message).await,
        Err(outcome) => return outcome,
    };
    let half = Endpoint {
        timeout: at.timeout / 2,
        ..*at
    };
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "media"]) else {
        return no_address();
    };
    let upload = Upload {
        request: at.http.post(url).bearer_auth(at.token.expose()),
        classify,
        timeout: half.timeout,
    };
    match uploaded(message, &file, upload).await {
        Ok(message) => post(&half, &message).await,
        Err(outcome) => outcome,
    }
}

async fn post(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let body = match body(message) {
        Ok(body) => body,
        Err(outcome) => return outcome,
    };
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return no_address();
    };
    let request = at.http.post(url).bearer_auth(at.token.expose()).json(&body);
    match exchange(request, at.timeout).await.answer() {
        Ok(answer) if answer.is_success() => accepted(&answer),
        Ok(answer) => classify(&answer, message.attempt),
        Err(outcome) => outcome,
    }
}

pub(crate) fn no_address() -> SendOutcome {
    SendOutcome::Unreached {
        why: "the provider's base URL is not an HTTP URL".to_owned(),
    }
}

pub(crate) fn accepted(answer: &Answer) -> SendOutcome {
    match list(answer.body.get("messages"))
        .iter()
        .find_map(|message| text(message, "id"))
    {
        Some(id) => SendOutcome::Accepted {
            provider_message_id: Some(id.to_owned()),
            simulated: false,
        },
        None => SendOutcome::Unknown {
            why: format!("HTTP {} without a message id", answer.status),
            timed_out: false,
        },
    }
}
