//! 360dialog's API for Cloud numbers: Meta's bodies with a key of its own, which says from which number. Its errors are at
//! [`Dialog360Error`]; what it keeps for numbers, at [`Files`].

mod errors;
mod files;
mod media;
mod webhooks;

pub use errors::Dialog360Error;
pub use files::Files;

use super::call::{Call, Refusal, json, wrong};
use super::journal::Journal;
use super::meta::FILE_MAX;
use super::meta::message::{self, Asked, error};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::json;
use std::sync::Arc;

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/messages", post(send))
        .route("/media", post(media::upload))
        .route("/whatsapp_business/attachments/", get(media::fetch))
        .route("/v1/configs/webhook", get(webhooks::show).post(webhooks::set))
        .route("/v1/configs/templates", get(list_templates))
        .route("/{media_id}", get(media::look_up).delete(media::delete))
        .layer(DefaultBodyLimit::max(FILE_MAX))
        .fallback(no_route)
        .method_not_allowed_fallback(no_route)
        .with_state(journal)
}

/// The key of a request, which has nothing else to show: a token of Meta's would be one that leaked.
fn check_key(call: &Call) -> Result<&str, Refusal> {
    if call.header("authorization").is_some() {
        return wrong("authorization: only D360-API-KEY is asked for");
    }
    let key = call.header("d360-api-key");
    call.check_credential(key, "no header D360-API-KEY")?;
    Ok(key.unwrap_or_default())
}

async fn send(State(journal): State<Arc<Journal>>, call: Call) -> Response {
    let read = check_key(&call).and_then(|key| Ok((key.to_owned(), message::read(&call)?)));
    match read {
        Ok((_, Asked::Message(message))) if is_unknown_file(&journal, &message) => refuse(
            &call,
            &Refusal::Wrong("the file was never uploaded here".to_owned()),
        ),
        Ok((key, Asked::Message(message))) => {
            call.perform(move |journal, _| accept(journal, key, message))
                .await
        }
        Ok((_, Asked::Seen { id, typing })) => {
            journal.notes().see(&id, typing);
            json(StatusCode::OK, json!({"success": true}))
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

fn is_unknown_file(journal: &Journal, message: &message::Message) -> bool {
    message.file().is_some_and(|id| journal.files().get(id).is_none())
}

/// Both are known of it, so it takes turns: 200 as Meta answers, and 201 without a word about the contact.
fn accept(journal: &Journal, key: String, message: message::Message) -> Response {
    let turn = journal.phone().len();
    let as_meta = message::accept(journal, key, message);
    match journal.phone().last() {
        Some(last) if turn % 2 == 1 => json(StatusCode::CREATED, json!({"messages": [{"id": last.id}]})),
        _ => as_meta,
    }
}

/// Answers with a part of the number's templates, which tells nothing of those that are not in it.
async fn list_templates(call: Call) -> Response {
    match check_key(&call) {
        Ok(_) => json(StatusCode::OK, json!({"waba_templates": [], "total": 1})),
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn no_route(call: Call) -> Response {
    call.violate("no such route");
    json(StatusCode::NOT_FOUND, error(404, "no such route", ""))
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => Dialog360Error::InvalidKey.response(),
        Refusal::Wrong(what) => {
            call.violate(what);
            json(
                StatusCode::BAD_REQUEST,
                error(100, "(#100) Invalid parameter", what),
            )
        }
    }
}
