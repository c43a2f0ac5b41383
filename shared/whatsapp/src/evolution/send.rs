//! Sends messages and checks the connection through Evolution's REST API (header `apikey`).

mod body;
mod menus;
mod parts;

pub(crate) use body::{Dialect, is_sent_as_text};

use super::errors::classify_response;
use crate::wire::http_exchange::{HttpExchange, HttpResponse, build_url, send_request};
use crate::wire::json::get_text;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_ports::ports::{ConnectionAnswer, OutgoingMessage, PictureAnswer, SendOutcome};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use std::time::Duration;

/// An instance at Evolution, with its key and base URL.
pub(crate) struct EvolutionEndpoint<'a> {
    pub(crate) http: &'a Client,
    pub(crate) base: &'a str,
    pub(crate) key: &'a Secret,
    pub(crate) instance: &'a ExternalId,
    /// Major version of Evolution.
    pub(crate) version: u8,
    /// Buttons and lists are sent as menus.
    pub(crate) native_menus: bool,
    pub(crate) timeout: Duration,
}

impl EvolutionEndpoint<'_> {
    fn dialect(&self) -> Dialect {
        Dialect {
            version: self.version,
            native_menus: self.native_menus,
        }
    }

    /// Calls `/{area}/{action}/{instance}`.
    pub(super) async fn call_api(
        &self,
        method: Method,
        path: [&str; 2],
        body: Option<&Value>,
    ) -> HttpExchange {
        let [area, action] = path;
        let Some(url) = build_url(self.base, &[area, action, self.instance.as_str()]) else {
            return HttpExchange::NotSent("the provider's base URL is not an HTTP URL");
        };
        let mut request = self
            .http
            .request(method, url)
            .header("apikey", self.key.expose_secret());
        if let Some(body) = body {
            request = request.json(body);
        }
        send_request(request, self.timeout).await
    }
}

pub(crate) async fn send_message(at: &EvolutionEndpoint<'_>, message: &OutgoingMessage) -> SendOutcome {
    let call = match body::build_call(at.dialect(), message) {
        Ok(call) => call,
        Err(outcome) => return outcome,
    };
    let exchange = at
        .call_api(Method::POST, ["message", call.action], Some(&call.body))
        .await;
    match exchange.into_response() {
        Ok(answer) if answer.is_success() => read_accepted_answer(&answer),
        Ok(answer) => classify_response(&answer),
        Err(outcome) => outcome,
    }
}

/// Formats the recipient: a phone number as digits. A lid keeps its `@lid`, because Evolution would take its bare digits
/// for a phone number (#2111).
pub(super) fn format_recipient(to: &ContactAddress) -> String {
    to.phone_number().map_or_else(
        || to.as_str().to_owned(),
        |phone| phone.trim_start_matches('+').to_owned(),
    )
}

/// Reads a 2xx answer: 201 (or 200 behind some proxies) with the stored message. A 2xx without a message id has an
/// unknown outcome: it may even be a proxy's own page.
fn read_accepted_answer(answer: &HttpResponse) -> SendOutcome {
    match answer.body.get("key").and_then(|key| get_text(key, "id")) {
        Some(id) => SendOutcome::Accepted {
            provider_message_id: Some(id.to_owned()),
            simulated: false,
            held: None,
        },
        None => SendOutcome::Unknown {
            why: format!("HTTP {} without a message id", answer.status),
            timed_out: false,
        },
    }
}

/// Checks the connection with `instance/connectionState`. The state may be missing just after a restart of Evolution.
pub(crate) async fn check_connection(at: &EvolutionEndpoint<'_>) -> ConnectionAnswer {
    let answer = match at
        .call_api(Method::GET, ["instance", "connectionState"], None)
        .await
    {
        HttpExchange::Response(answer) => answer,
        HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => return ConnectionAnswer::Unreachable,
    };
    match answer.status {
        401 | 403 => ConnectionAnswer::NeedsCredentials,
        503 => match classify_response(&answer) {
            SendOutcome::Refused { why, .. } => ConnectionAnswer::Refused(why),
            _ => ConnectionAnswer::Unreachable,
        },
        404 => ConnectionAnswer::Closed,
        200..=299 => {
            let instance = answer.body.get("instance").unwrap_or(&answer.body);
            match get_text(instance, "state") {
                Some("open") => ConnectionAnswer::Open,
                Some("close" | "closed" | "refused") => ConnectionAnswer::Closed,
                _ => ConnectionAnswer::Unclear,
            }
        }
        // What a proxy answers for a server that is gone. A fault of the server itself (500) says nothing about sends.
        502 | 504 => ConnectionAnswer::Unreachable,
        _ => ConnectionAnswer::Unclear,
    }
}

/// Asks for a contact's picture with `chat/fetchProfilePictureUrl`. An answer without one says that the contact shows none.
pub(crate) async fn fetch_picture(at: &EvolutionEndpoint<'_>, contact: &ContactAddress) -> PictureAnswer {
    let body = json!({ "number": format_recipient(contact) });
    let path = ["chat", "fetchProfilePictureUrl"];
    let HttpExchange::Response(answer) = at.call_api(Method::POST, path, Some(&body)).await else {
        return PictureAnswer::Unclear;
    };
    match (answer.is_success(), get_text(&answer.body, "profilePictureUrl")) {
        (true, Some(url)) => PictureAnswer::Url(url.to_owned()),
        (true, None) => PictureAnswer::None,
        (false, _) => PictureAnswer::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phone_goes_as_digits_and_a_lid_whole() {
        let number = |raw| format_recipient(&ContactAddress::parse(raw).unwrap());
        assert_eq!(number("5511900000001:4@s.whatsapp.net"), "5511900000001");
        assert_eq!(number("+5511900000001"), "5511900000001");
        assert_eq!(number("100000000000001@lid"), "100000000000001@lid");
    }
}
