//! Sends messages and read marks to numbers that take Meta's bodies. The Graph API (bearer token) is asked about its own.

use super::body::build_message_body;
use super::errors::classify_answer;
use crate::meta::upload::{MediaUpload, find_inline_file, upload_inline_file};
use crate::wire::http_exchange::{HttpExchange, HttpResponse, build_url, send_request};
use crate::wire::json::{get_text, list_members};
use recado_domain::ids::ExternalId;
use recado_domain::instance::{MessagingLimit, NumberQuality, SeenStanding};
use recado_domain::outbox::HeldStatus;
use recado_domain::secret::Secret;
use recado_ports::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use std::time::Duration;

/// A sending number at Meta, with its token and the Graph API's base URL.
pub(crate) struct MetaEndpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    /// Version of the Graph API, such as `v24.0`.
    pub(crate) version: &'a str,
    pub(crate) token: &'a Secret,
    pub(crate) phone_number_id: &'a ExternalId,
    pub(crate) timeout: Duration,
}

/// A number at a provider that takes Meta's bodies over HTTP.
pub(crate) trait CloudNumber: Sync {
    /// Begins a `POST` to an action of the number, with its key. `None`: the base URL is not an HTTP URL.
    fn begin_request(&self, action: &str) -> Option<RequestBuilder>;

    /// Classifies an answer that is not a 2xx to a send attempt of this number (from 1).
    fn classify_answer(answer: &HttpResponse, attempt: u32) -> SendOutcome;

    /// Returns the longest time of one request.
    fn request_timeout(&self) -> Duration;
}

impl CloudNumber for MetaEndpoint<'_> {
    fn begin_request(&self, action: &str) -> Option<RequestBuilder> {
        let url = build_url(self.base, &[self.version, self.phone_number_id.as_str(), action])?;
        Some(self.http.post(url).bearer_auth(self.token.expose_secret()))
    }

    fn classify_answer(answer: &HttpResponse, attempt: u32) -> SendOutcome {
        classify_answer(answer, attempt)
    }

    fn request_timeout(&self) -> Duration {
        self.timeout
    }
}

/// Sends a message. A file that the message carries as bytes is uploaded first, within the same time limit.
pub(crate) async fn send_message<N: CloudNumber>(at: &N, message: &OutgoingMessage) -> SendOutcome {
    let file = match find_inline_file(message) {
        Ok(Some(file)) => file,
        Ok(None) => return post_message(at, message, at.request_timeout()).await,
        Err(outcome) => return outcome,
    };
    let half = at.request_timeout() / 2;
    let Some(request) = at.begin_request("media") else {
        return invalid_base_url();
    };
    let upload = MediaUpload {
        request,
        classify_answer: N::classify_answer,
        timeout: half,
    };
    match upload_inline_file(message, &file, upload).await {
        Ok(message) => post_message(at, &message, half).await,
        Err(outcome) => outcome,
    }
}

/// Posts the message. The answer names the message and need not name the contact. The outcome is unknown if a 2xx is not
/// JSON or names no message.
async fn post_message<N: CloudNumber>(at: &N, message: &OutgoingMessage, timeout: Duration) -> SendOutcome {
    let body = match build_message_body(message) {
        Ok(body) => body,
        Err(outcome) => return outcome,
    };
    let Some(request) = at.begin_request("messages") else {
        return invalid_base_url();
    };
    match send_request(request.json(&body), timeout).await.into_response() {
        Ok(answer) if answer.is_success() => read_accepted_answer(&answer),
        Ok(answer) => N::classify_answer(&answer, message.attempt),
        Err(outcome) => outcome,
    }
}

fn invalid_base_url() -> SendOutcome {
    SendOutcome::Unreached {
        why: "the provider's base URL is not an HTTP URL".to_owned(),
    }
}

fn read_accepted_answer(answer: &HttpResponse) -> SendOutcome {
    let accepted = list_members(answer.body.get("messages"));
    match accepted.iter().find_map(|message| get_text(message, "id")) {
        Some(id) => SendOutcome::Accepted {
            provider_message_id: Some(id.to_owned()),
            simulated: false,
            held: accepted.iter().find_map(read_held_status),
        },
        None => SendOutcome::Unknown {
            why: format!("HTTP {} without a message id", answer.status),
            timed_out: false,
        },
    }
}

/// Reads why Meta holds an accepted message back; `None` if it does not.
fn read_held_status(message: &Value) -> Option<HeldStatus> {
    match get_text(message, "message_status")? {
        "held_for_quality_assessment" => Some(HeldStatus::QualityAssessment),
        "paused" => Some(HeldStatus::Paused),
        _ => None,
    }
}

/// Marks a message, and all messages before it, as read. If `typing`, "typing…" is shown for 25 seconds or until the
/// reply. Meta has no typing indicator without a read mark. Best effort: the answer is not used.
pub(crate) async fn mark_read(at: &impl CloudNumber, id: &str, typing: bool) {
    if let Some(request) = at.begin_request("messages") {
        send_request(
            request.json(&build_read_receipt(id, typing)),
            at.request_timeout(),
        )
        .await;
    }
}

/// Builds the body of the read mark.
fn build_read_receipt(id: &str, typing: bool) -> Value {
    let mut body = json!({ "messaging_product": "whatsapp", "status": "read", "message_id": id });
    if typing {
        body["typing_indicator"] = json!({ "type": "text" });
    }
    body
}

/// Checks the token by reading the number's id (`GET /{version}/{phone_number_id}?fields=id`). Meta's numbers have no
/// connection that could be lost, but a token can expire or be revoked.
pub(crate) async fn fetch_connection(at: &MetaEndpoint<'_>) -> ConnectionAnswer {
    let Some(mut url) = build_url(at.base, &[at.version, at.phone_number_id.as_str()]) else {
        return ConnectionAnswer::Unclear;
    };
    url.set_query(Some("fields=id"));
    let request = at.http.get(url).bearer_auth(at.token.expose_secret());
    judge_connection::<MetaEndpoint<'_>>(send_request(request, at.timeout).await)
}

/// Judges the answer to a question that only asks whether the key or token is taken.
pub(crate) fn judge_connection<N: CloudNumber>(exchange: HttpExchange) -> ConnectionAnswer {
    match exchange {
        HttpExchange::Response(answer) if answer.is_success() => ConnectionAnswer::Open,
        HttpExchange::Response(answer) => match N::classify_answer(&answer, 1) {
            SendOutcome::Credentials { .. } => ConnectionAnswer::NeedsCredentials,
            // Any other refusal shows that the provider answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unreachable,
        },
        HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => ConnectionAnswer::Unreachable,
    }
}

/// Reads the quality and the limit of the number. The limit is the one of its business portfolio.
pub(crate) async fn fetch_standing(at: &MetaEndpoint<'_>) -> Option<SeenStanding> {
    let mut url = build_url(at.base, &[at.version, at.phone_number_id.as_str()])?;
    url.set_query(Some("fields=quality_rating,messaging_limit_tier"));
    let request = at.http.get(url).bearer_auth(at.token.expose_secret());
    let HttpExchange::Response(answer) = send_request(request, at.timeout).await else {
        return None;
    };
    let word = |name: &str| answer.body.get(name).and_then(Value::as_str);
    answer.is_success().then(|| SeenStanding {
        quality: word("quality_rating").map_or_else(NumberQuality::default, NumberQuality::parse),
        limit: word("messaging_limit_tier").and_then(MessagingLimit::parse),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accepted_message_that_is_held_back_says_so() {
        let held = |status: Option<&str>| {
            let answer = HttpResponse {
                status: 200,
                body: json!({ "messages": [{ "id": "wamid.1", "message_status": status }] }),
                retry_after: None,
            };
            match read_accepted_answer(&answer) {
                SendOutcome::Accepted { held, .. } => held,
                other => panic!("{other:?}"),
            }
        };
        let quality = HeldStatus::QualityAssessment;
        assert_eq!(held(Some(quality.as_str())), Some(quality));
        assert_eq!(held(Some("paused")), Some(HeldStatus::Paused));
        for released in [Some("accepted"), Some("new word"), None] {
            assert_eq!(held(released), None);
        }
    }
}
