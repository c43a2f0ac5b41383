//! The files of messages.

use super::super::call::{Call, json};
use super::super::journal::Journal;
use super::{check_key, error, refuse};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<Journal>> {
    Router::new().route("/chat/getBase64FromMediaMessage/{instance}", post(get_file))
}

/// Answers with a message's file. Every failure is a 400, as Evolution has it.
async fn get_file(State(journal): State<Arc<Journal>>, call: Call) -> Response {
    let checked = check_key(&call)
        .and_then(|()| call.check_json())
        .and_then(|()| call.text("/message/key/id").map(str::to_owned));
    let id = match checked {
        Ok(id) => id,
        Err(refusal) => return refuse(&call, &refusal),
    };
    if journal.files().is_down() {
        return error(StatusCode::BAD_REQUEST, &json!(["AxiosError: read ECONNRESET"]));
    }
    let Some(file) = journal.files().get(&id) else {
        return error(StatusCode::BAD_REQUEST, &json!(["Message not found"]));
    };
    let body = json!({
        "mediaType": "imageMessage",
        "fileName": format!("{id}.png"),
        "size": {"fileLength": file.bytes.len().to_string()},
        "mimetype": file.mime_type,
        "base64": STANDARD.encode(&file.bytes),
        "buffer": null,
    });
    json(StatusCode::CREATED, body)
}
