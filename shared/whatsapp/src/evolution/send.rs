//! Sending and asking, over Evolution's REST API (header `apikey`).

mod body;
mod parts;

use super::errors::classify;
use crate::exchange::{Answer, Exchange, address, exchange};
use crate::json::text;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_pipeline::ports::{ConnectionAnswer, OutgoingMessage, SendOutcome};
use reqwest::{Client, Method};
use serde_json::Value;
use std::time::Duration;

/// An instance as it is reached.
pub(crate) struct Endpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) instance: &'a ExternalId,
    /// Evolution's major version.
    pub(crate) version: u8,
    pub(crate) timeout: Duration,
}

impl Endpoint<'_> {
    /// Calls `/{area}/{action}/{instance}`.
    pub(super) async fn call(&self, method: Method, path: [&str; 2], body: Option<&Value>) -> Exchange {
        let [area, action] = path;
        let Some(url) = address(self.base, &[area, action, self.instance.as_str()]) else {
            return Exchange::NeverLeft("the provider's base URL is not an HTTP URL");
        };
        let mut request = self.http.request(method, url).header("apikey", self.key.expose());
        if let Some(body) = body {
            request = request.json(body);
        }
        exchange(request, self.timeout).await
    }
}

/// Sends a message.
pub(crate) async fn send(at: &Endpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let call = match body::call(at.version, message) {
        Ok(call) => call,
        Err(outcome) => return outcome,
    };
    let exchange = at
        .call(Method::POST, ["message", call.action], Some(&call.body))
        .await;
    match exchange.answer() {
        Ok(answer) if answer.is_success() => accepted(&answer),
        Ok(answer) => classify(&answer),
        Err(outcome) => outcome,
    }
}

/// A phone as digits. A lid keeps its `@lid`: its bare digits would be taken for a phone (#2111).
fn number(to: &ContactAddress) -> String {
    to.phone().map_or_else(
        || to.as_str().to_owned(),
        |phone| phone.trim_start_matches('+').to_owned(),
    )
}

/// 201 (or 200 behind some proxies) with the stored message. A 2xx that does not name the message may be anything, a
/// proxy's own page too.
fn accepted(answer: &Answer) -> SendOutcome {
    match answer.body.get("key").and_then(|key| text(key, "id")) {
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

/// Asks `instance/connectionState`. The state may be absent just after Evolution's restart.
pub(crate) async fn connection(at: &Endpoint<'_>) -> ConnectionAnswer {
    let answer = match at.call(Method::GET, ["instance", "connectionState"], None).await {
        Exchange::Answer(answer) => answer,
        Exchange::NeverLeft(_) | Exchange::Lost { .. } => return ConnectionAnswer::Unclear,
    };
    match answer.status {
        401 | 403 => ConnectionAnswer::NeedsCredentials,
        404 => ConnectionAnswer::Closed,
        200..=299 => {
            let instance = answer.body.get("instance").unwrap_or(&answer.body);
            match text(instance, "state") {
                Some("open") => ConnectionAnswer::Open,
                Some("close" | "closed" | "refused") => ConnectionAnswer::Closed,
                _ => ConnectionAnswer::Unclear,
            }
        }
        _ => ConnectionAnswer::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_goes_as_digits_and_a_lid_whole() {
        let number = |raw| number(&ContactAddress::parse(raw).unwrap());
        assert_eq!(number("5511900000001:4@s.whatsapp.net"), "5511900000001");
        assert_eq!(number("+5511900000001"), "5511900000001");
        assert_eq!(number("100000000000001@lid"), "100000000000001@lid");
    }
}
