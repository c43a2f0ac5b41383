//! Whether a number can send. Meta's numbers have no connection that could be lost, but a token can expire or be
//! revoked: reading the number by it shows whether it is good, and that Meta can be reached.

use super::errors::classify;
use super::send::Endpoint;
use crate::exchange::{Exchange, address, exchange};
use recado_pipeline::ports::{ConnectionAnswer, SendOutcome};

/// Reads the number's id (`GET /{version}/{phone_number_id}?fields=id`).
pub(crate) async fn connection(at: &Endpoint<'_>) -> ConnectionAnswer {
    let Some(mut url) = address(at.base, &[at.version, at.phone_number_id.as_str()]) else {
        return ConnectionAnswer::Unclear;
    };
    url.set_query(Some("fields=id"));
    let request = at.http.get(url).bearer_auth(at.token.expose());
    match exchange(request, at.timeout).await {
        Exchange::Answer(answer) if answer.is_success() => ConnectionAnswer::Open,
        Exchange::Answer(answer) => match classify(&answer, 1) {
            SendOutcome::Credentials { .. } => ConnectionAnswer::NeedsCredentials,
            // Whatever it refuses to be read: Meta answers.
            _ if answer.status < 500 => ConnectionAnswer::Open,
            _ => ConnectionAnswer::Unclear,
        },
        Exchange::NeverLeft(_) | Exchange::Lost { .. } => ConnectionAnswer::Unclear,
    }
}
