//! Sending, over the Graph API (bearer token).

use super::errors::classify;
use super::parse::is_user_id;
use crate::exchange::{Answer, address, exchange};
use crate::json::{list, text};
use recado_domain::ids::ExternalId;
use recado_domain::reason::Reason;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use reqwest::Client;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest text of a message, in characters (Meta's send-messages reference).
pub(crate) const TEXT_MAX: usize = 4096;

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

/// Sends a text. Anything else is written as text. A text over the limit is refused here: cut, it would say something
/// else.
pub(crate) async fn send(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let text = message.content.as_text();
    if text.chars().count() > TEXT_MAX {
        return SendOutcome::Permanent {
            reason: Reason::WhatsappPermanentError,
            why: "text too long".to_owned(),
        };
    }
    let Some(url) = address(at.base, &[at.version, at.phone_number_id.as_str(), "messages"]) else {
        return SendOutcome::Retryable {
            why: "the provider's base URL is not an HTTP URL".to_owned(),
            after: None,
        };
    };
    let request = at
        .http
        .post(url)
        .bearer_auth(at.token.expose())
        .json(&body(message, &text));
    match exchange(request, at.timeout).await.answer() {
        Ok(answer) if answer.is_success() => accepted(&answer),
        Ok(answer) => classify(&answer, message.attempt),
        Err(outcome) => outcome,
    }
}

/// Our id goes along and comes back in statuses: the evidence for a send whose answer was lost. A number keeps its `+`
/// (else Meta puts the sender's country code before it); a user id goes as `recipient`.
pub(crate) fn body(message: &OutgoingMessage, text: &str) -> Value {
    let mut body = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "type": "text",
        "text": { "body": text, "preview_url": false },
        "biz_opaque_callback_data": message.id,
    });
    let raw = message.to.as_str();
    match message.to.phone() {
        Some(phone) => body["to"] = json!(phone),
        None if is_user_id(raw) => body["recipient"] = json!(raw),
        None => body["to"] = json!(raw),
    }
    body
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
