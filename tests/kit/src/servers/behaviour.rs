//! What a stand-in does with its next request.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is done with a request to send, or to complete, that is in order. Questions (connection state, message look-up)
/// and wrong requests are answered as ever and use none up.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "Form")]
pub enum Behaviour {
    /// Accepts and answers.
    #[default]
    Normal,
    /// Accepts nothing and answers this.
    Status {
        /// The HTTP status.
        code: u16,
        /// The body, as JSON; a string goes out as it is where a header `content-type` says that it is no JSON.
        body: Value,
        /// Headers, such as `retry-after`.
        headers: BTreeMap<String, String>,
    },
    /// Waits so long, or until it is let go, then accepts and answers. It accepts also if the client is gone by then: Evolution sends a hung
    /// request late.
    Hang(Duration),
    /// Accepts, then breaks the connection without a byte of an answer.
    AcceptThenDrop,
    /// Accepts nothing and breaks the connection without a byte of an answer.
    Drop,
    /// Holds the request so long, then breaks the connection. It accepts nothing.
    Swallow(Duration),
}

impl Behaviour {
    /// Accepts nothing and answers `code` with `body`.
    pub fn status(code: u16, body: Value) -> Self {
        Self::Status {
            code,
            body,
            headers: BTreeMap::new(),
        }
    }

    /// Accepts nothing and answers `code` with a text of this media type, as proxies and gateways do.
    pub fn text(code: u16, media_type: &str, text: &str) -> Self {
        Self::status_with(code, Value::from(text), CONTENT_TYPE.as_str(), media_type)
    }

    /// As [`Behaviour::status`], with one header.
    pub fn status_with(code: u16, body: Value, header: &str, value: &str) -> Self {
        Self::Status {
            code,
            body,
            headers: BTreeMap::from([(header.to_owned(), value.to_owned())]),
        }
    }
}

/// How the control API writes a behaviour: `"normal"`, `"accept_then_drop"`, `"drop"`, `{"hang_ms": 3000}`,
/// `{"swallow_ms": 3000}` or `{"status": 429, "body": {…}, "headers": {…}}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Word(Word),
    Hang(Hang),
    Swallow(Swallow),
    Status(Answer),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Normal,
    AcceptThenDrop,
    Drop,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hang {
    hang_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Swallow {
    swallow_ms: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    status: u16,
    #[serde(default)]
    body: Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl From<Form> for Behaviour {
    fn from(form: Form) -> Self {
        match form {
            Form::Word(Word::Normal) => Self::Normal,
            Form::Word(Word::AcceptThenDrop) => Self::AcceptThenDrop,
            Form::Word(Word::Drop) => Self::Drop,
            Form::Swallow(Swallow { swallow_ms }) => Self::Swallow(Duration::from_millis(swallow_ms)),
            Form::Hang(Hang { hang_ms }) => Self::Hang(Duration::from_millis(hang_ms)),
            Form::Status(Answer {
                status,
                body,
                headers,
            }) => Self::Status {
                code: status,
                body,
                headers,
            },
        }
    }
}

/// An answer with these parts. A status or header that HTTP does not know is a mistake of the test: 500, with a word.
pub(super) fn answer(code: u16, body: Value, headers: &BTreeMap<String, String>) -> Response {
    let Ok(status) = StatusCode::from_u16(code) else {
        return (StatusCode::INTERNAL_SERVER_ERROR, "no such HTTP status").into_response();
    };
    let plain = headers
        .get(CONTENT_TYPE.as_str())
        .is_some_and(|media_type| !media_type.contains("json"));
    let mut response = match body {
        Value::String(text) if plain => (status, text).into_response(),
        body => (status, Json(body)).into_response(),
    };
    for (name, value) in headers {
        match (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            (Ok(name), Ok(value)) => {
                response.headers_mut().insert(name, value);
            }
            _ => return (StatusCode::INTERNAL_SERVER_ERROR, "no such HTTP header").into_response(),
        }
    }
    response
}
