//! Checks if a number can send. Meta's numbers have no connection that could be lost, but a token can expire or be
//! revoked. Reading the number with the token shows that the token is valid and that Meta can be reached.

use super::errors::classify;
use super::send::MetaEndpoint;
use crate::wire::http_exchange::{HttpExchange, build_url, send_request};
use recado_pipeline::ports::{ConnectionAnswer, SendOutcome};

/// Checks the token by reading the number's id (`GET /{version}/{phone_number_id}?fields=id`).
pub(crate) async fn fetch_connection(at: &MetaEndpoint<'_>) -> ConnectionAnswer {
    let Some(mut url) = build_url(at.base, &[at.version, at.phone_number_id.as_str()]) else {
        return ConnectionAnswer::Unclear;
    };
    url.set_query(Some("fields=id"));
    let request = at.http.get(url).bearer_auth(at.token.expose_secret());
    match send_request(request, at.timeout).await {
        HttpExchange::Response(answer) if answer.is_success() => ConnectionAnswer::Open,
        HttpExchange::Response(answer) => match classify(&answer, 1) {
            SendOutcome::Credentials { .. } => ConnectionAnswer::NeedsCredentials,
            // Any other refusal shows that Meta answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unclear,
        },
        HttpExchange::NotSent(_) | HttpExchange::ResponseLost { .. } => ConnectionAnswer::Unclear,
    }
}
