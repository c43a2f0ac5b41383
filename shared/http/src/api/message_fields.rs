//! What requests about messages name: the id of a message, and the client's key.

use crate::problem::HttpProblem;
use axum::http::HeaderMap;
use recado_domain::ids::{IdempotencyKey, MessageId};

/// Parses a message's id. An id that names no conversation and ordinal was never given out, so it is a 404.
pub fn parse_message_id(text: &str) -> Result<MessageId, HttpProblem> {
    let id = MessageId::parse(text).map_err(|_| no_such_message())?;
    id.conversation_and_ordinal().map_err(|_| no_such_message())?;
    Ok(id)
}

/// Makes the answer to a request for a message that is not there.
pub fn no_such_message() -> HttpProblem {
    HttpProblem::not_found("there is no such message")
}

/// The client's own name for a message.
#[cfg(feature = "schema")]
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "the field describes what `parse_idempotency_key` reads")]
pub struct IdempotencyHeader {
    /// Makes a repeat of the request the same message: 1 to 200 letters, digits, spaces and . _ - @ : + = /
    #[param(rename = "Idempotency-Key")]
    key: Option<String>,
}

pub fn parse_idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, HttpProblem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .and_then(|text| IdempotencyKey::parse(text).ok());
    key.map(Some).ok_or_else(|| {
        HttpProblem::bad_request(
            "Idempotency-Key must be 1 to 200 letters, digits, spaces and . _ - @ : + = /",
        )
    })
}
