//! Meta's Graph API: sending, and files to be sent.

mod account;
pub(super) mod message;
mod sends;

use super::call::{Call, Refusal, fresh, json, wrong};
use super::journal::Journal;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use message::{Asked, error};
use serde_json::json;
use std::sync::Arc;

/// The largest file, in bytes.
pub(super) const FILE_MAX: usize = 100 * 1024 * 1024;

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/{version}/{phone_number_id}/messages", post(send))
        .route("/{version}/{phone_number_id}/media", post(upload))
        .route("/{version}/{phone_number_id}", get(number))
        .merge(account::routes())
        .layer(DefaultBodyLimit::max(FILE_MAX))
        .fallback(no_route)
        .method_not_allowed_fallback(no_route)
        .with_state(journal)
}

/// The number itself, as a token is tried by reading it.
async fn number(Path((version, phone_number_id)): Path<(String, String)>, call: Call) -> Response {
    match check_token(&call).and_then(|()| check_version(&version)) {
        Ok(()) => json(StatusCode::OK, json!({"id": phone_number_id})),
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn send(
    State(journal): State<Arc<Journal>>,
    Path((version, phone_number_id)): Path<(String, String)>,
    call: Call,
) -> Response {
    let read = check_token(&call)
        .and_then(|()| check_version(&version))
        .and_then(|()| message::read(&call));
    match read {
        Ok(Asked::Message(message)) => {
            call.perform(move |journal, _| message::accept(journal, phone_number_id, message))
                .await
        }
        Ok(Asked::Seen { id, typing }) => {
            journal.notes().see(&id, typing);
            json(StatusCode::OK, json!({"success": true}))
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// A file, with the fields that must stand beside it.
async fn upload(Path((version, _)): Path<(String, String)>, call: Call) -> Response {
    if let Err(refusal) = check_upload(&version, &call) {
        return refuse(&call, &refusal);
    }
    call.perform(|_, _| json(StatusCode::OK, json!({"id": fresh()[..16].to_owned()})))
        .await
}

fn check_upload(version: &str, call: &Call) -> Result<(), Refusal> {
    check_token(call)?;
    check_version(version)?;
    message::file_type(call).map(drop)
}

fn check_token(call: &Call) -> Result<(), Refusal> {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    call.check_credential(bearer.filter(|token| !token.trim().is_empty()), "no bearer token")
}

/// Such as `v24.0`.
fn check_version(version: &str) -> Result<(), Refusal> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = version
        .strip_prefix('v')
        .and_then(|numbers| numbers.split_once('.'));
    match numbers {
        Some((major, minor)) if digits(major) && digits(minor) => Ok(()),
        _ => wrong("no version of the Graph API in the path"),
    }
}

async fn no_route(call: Call) -> Response {
    call.violate("no such route");
    json(
        StatusCode::NOT_FOUND,
        error(2500, "Unknown path components", &call.request.path),
    )
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => {
            let body = error(190, "Error validating access token", "");
            json(StatusCode::UNAUTHORIZED, body)
        }
        Refusal::Wrong(what) => {
            call.violate(what);
            json(
                StatusCode::BAD_REQUEST,
                error(100, "(#100) Invalid parameter", what),
            )
        }
    }
}
