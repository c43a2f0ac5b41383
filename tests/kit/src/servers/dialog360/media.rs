//! Files: uploaded, asked for, fetched, deleted.

use super::super::call::{Call, fresh, json};
use super::super::journal::Journal;
use super::super::meta::message::{error, file_type};
use super::files::Place;
use super::{Dialog360Error, check_key, refuse};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use std::sync::Arc;

type Servers = State<Arc<Journal>>;

pub(super) async fn upload(call: Call) -> Response {
    let checked = check_key(&call).map(drop);
    let mime_type = match checked.and_then(|()| file_type(&call)) {
        Ok(mime_type) => mime_type,
        Err(refusal) => return refuse(&call, &refusal),
    };
    call.perform(move |journal, request| {
        let id = format!("{}", u64::from_str_radix(&fresh()[..12], 16).unwrap_or_default());
        let form = request.body.as_str().unwrap_or_default();
        journal.files().put(&id, &mime_type, form.as_bytes());
        json(StatusCode::OK, json!({"id": id}))
    })
    .await
}

/// Where a file is. The answer's slashes are escaped, as 360dialog's are.
pub(super) async fn look_up(State(journal): Servers, Path(id): Path<String>, call: Call) -> Response {
    let key = match check_key(&call) {
        Ok(key) => key.to_owned(),
        Err(refusal) => return refuse(&call, &refusal),
    };
    let files = journal.files();
    if files.is_down() {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if files.blocked(&key) {
        return Dialog360Error::Blocked.response();
    }
    let Some(file) = files.get(&id) else {
        files.failed(&key);
        return json(StatusCode::NOT_FOUND, not_there(&id));
    };
    let said = json!({
        "messaging_product": "whatsapp",
        "url": files.url(&id),
        "mime_type": file.mime_type,
        "file_size": file.bytes.len(),
        "id": id,
    });
    let escaped = said.to_string().replace('/', "\\/");
    ([(CONTENT_TYPE, "application/json")], escaped).into_response()
}

/// The file itself, for who comes with the key and a URL that is still good.
pub(super) async fn fetch(
    State(journal): Servers,
    place: Result<Query<Place>, axum::extract::rejection::QueryRejection>,
    call: Call,
) -> Response {
    let key = match check_key(&call) {
        Ok(key) => key.to_owned(),
        Err(refusal) => return refuse(&call, &refusal),
    };
    let files = journal.files();
    if files.blocked(&key) {
        return Dialog360Error::Blocked.response();
    }
    let Some(file) = place.ok().and_then(|Query(place)| files.at(&place)) else {
        files.failed(&key);
        let page = "<html><body>URL signature expired</body></html>";
        return (StatusCode::NOT_FOUND, page).into_response();
    };
    ([(CONTENT_TYPE, file.mime_type)], file.bytes).into_response()
}

pub(super) async fn delete(State(journal): Servers, Path(id): Path<String>, call: Call) -> Response {
    match check_key(&call) {
        Ok(_) if journal.files().remove(&id) => json(StatusCode::OK, json!({"success": true})),
        Ok(_) => json(StatusCode::NOT_FOUND, not_there(&id)),
        Err(refusal) => refuse(&call, &refusal),
    }
}

fn not_there(id: &str) -> Value {
    error(
        100,
        "(#100) Unsupported get request",
        &format!("Object with ID '{id}' does not exist"),
    )
}
