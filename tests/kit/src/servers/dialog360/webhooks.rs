//! Where the webhooks of a number go: the key names it.

use super::super::call::{Call, Refusal, json, wrong};
use super::super::journal::Journal;
use super::super::meta::message::error;
use super::super::shape::{is_url, object, only, text};
use super::{check_key, refuse};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;

pub(super) async fn set(State(journal): State<Arc<Journal>>, call: Call) -> Response {
    match check_key(&call).and_then(|key| check(&call).map(|()| key)) {
        Ok(key) => {
            journal.notes().set_webhook(key, call.request.body.clone());
            json(StatusCode::OK, call.request.body.clone())
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

fn check(call: &Call) -> Result<(), Refusal> {
    call.check_json()?;
    let body = &call.request.body;
    only(body, &["url", "headers"])?;
    if !is_url(text(body, "url", 2048)?) {
        return wrong("url is no URL that it can reach");
    }
    let Some(headers) = body.get("headers") else {
        return Ok(());
    };
    object(body, "headers")?;
    match headers.as_object() {
        Some(headers)
            if headers
                .values()
                .all(|value| value.as_str().is_some_and(|text| !text.is_empty())) =>
        {
            Ok(())
        }
        _ => wrong("a header has no text"),
    }
}

/// Nothing is found where none was ever set.
pub(super) async fn show(State(journal): State<Arc<Journal>>, call: Call) -> Response {
    match check_key(&call).map(|key| journal.notes().webhook(key)) {
        Ok(Some(webhook)) => json(StatusCode::OK, webhook),
        Ok(None) => json(StatusCode::NOT_FOUND, error(404, "No webhook is set", "")),
        Err(refusal) => refuse(&call, &refusal),
    }
}
