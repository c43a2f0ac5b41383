//! An account (WABA): which apps are subscribed to it, its templates.

use super::super::call::{Call, Refusal, json};
use super::super::journal::Journal;
use super::{check_version, refuse};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn routes() -> Router<Arc<Journal>> {
    Router::new()
        .route(
            "/{version}/{account}/subscribed_apps",
            get(subscribed).post(subscribe),
        )
        .route("/{version}/{account}/message_templates", get(templates))
}

type Place = Path<(String, String)>;

fn check(call: &Call, version: &str) -> Result<(), Refusal> {
    let bearer = call
        .header("authorization")
        .and_then(|header| header.strip_prefix("Bearer "));
    call.check_credential(bearer.filter(|token| !token.trim().is_empty()), "no bearer token")?;
    check_version(version)
}

fn answer(call: &Call, version: &str, body: impl FnOnce() -> Value) -> Response {
    match check(call, version) {
        Ok(()) => json(StatusCode::OK, body()),
        Err(refusal) => refuse(call, &refusal),
    }
}

async fn subscribe(
    State(journal): State<Arc<Journal>>,
    Path((version, account)): Place,
    call: Call,
) -> Response {
    answer(&call, &version, || {
        journal.notes().subscribe(&account);
        json!({"success": true})
    })
}

async fn subscribed(
    State(journal): State<Arc<Journal>>,
    Path((version, account)): Place,
    call: Call,
) -> Response {
    answer(&call, &version, || {
        let known = journal.notes().subscribed().contains(&account);
        let app = json!({"whatsapp_business_api_data": {"id": "7", "name": "Recado", "link": "https://example.org"}});
        json!({"data": if known { vec![app] } else { Vec::new() }})
    })
}

async fn templates(State(journal): State<Arc<Journal>>, Path((version, _)): Place, call: Call) -> Response {
    answer(
        &call,
        &version,
        || json!({"data": journal.notes().templates(), "paging": {}}),
    )
}
