//! Sending, over the Graph API (bearer token).

use super::body::{body, with_media_id};
use super::errors::classify;
use crate::exchange::{Answer, Exchange, address, exchange};
use crate::file::{Source, decoded, name, source};
use crate::json::{list, text};
use recado_domain::content::{Content, Media};
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use reqwest::Client;
use reqwest::multipart::{Form, Part};
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
    if let Content::Media(media) = &message.content {
        match source(media) {
            Ok(Source::Bytes { mime_type, base64 }) => {
                let half = Endpoint {
                    timeout: at.timeout / 2,
                    ..*at
                };
                return match upload(&half, media, mime_type, base64, message.attempt).await {
                    Ok(id) => post(&half, &with_media_id(message, media, &id)).await,
                    Err(outcome) => outcome,
                };
            }
            Ok(Source::Link(_) | Source::Id(_)) => {}
            Err(outcome) => return outcome,
        }
    }
    post(at, message).await
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

/// Puts a file where Meta finds it, for 30 days, and returns its id there. Nothing of the message has left when it fails:
/// what is not known of an upload is as good as nothing.
async fn upload(
    at: &Endpoint<'_>,
    media: &Media,
    mime_type: &str,
    base64: &str,
    attempt: u32,
) -> Result<String, SendOutcome> {
    let retryable = |why: &str| SendOutcome::Retryable {
        why: why.to_owned(),
        after: None,
    };
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "media"]) else {
        return Err(no_address());
    };
    let file = Part::bytes(decoded(base64)?)
        .file_name(name(media))
        .mime_str(mime_type)
        .map_err(|_| crate::file::permanent("the file has no MIME type"))?;
    let form = Form::new()
        .text("messaging_product", "whatsapp")
        .text("type", mime_type.to_owned())
        .part("file", file);
    let request = at.http.post(url).bearer_auth(at.token.expose()).multipart(form);
    match exchange(request, at.timeout).await {
        Exchange::Answer(answer) if answer.is_success() => text(&answer.body, "id")
            .map(str::to_owned)
            .ok_or_else(|| retryable("an upload's answer without an id")),
        Exchange::Answer(answer) => Err(match classify(&answer, attempt) {
            SendOutcome::Unknown { why, .. } => retryable(&why),
            outcome => outcome,
        }),
        Exchange::NeverLeft(why) | Exchange::Lost { why, .. } => Err(retryable(why)),
    }
}

fn no_address() -> SendOutcome {
    SendOutcome::Retryable {
        why: "the provider's base URL is not an HTTP URL".to_owned(),
        after: None,
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
