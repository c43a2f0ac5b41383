//! Setting the webhook and pairing a phone (webhook.router.ts, instance.router.ts at 2.3.6).

use super::super::call::{Call, Refusal, json, wrong};
use super::super::journal::{ConnectionState, Journal};
use super::{check_key, refuse};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;

/// The names that it takes; it refuses any other (event.controller.ts).
const EVENTS: [&str; 9] = [
    "QRCODE_UPDATED",
    "MESSAGES_SET",
    "MESSAGES_UPSERT",
    "MESSAGES_EDITED",
    "MESSAGES_UPDATE",
    "MESSAGES_DELETE",
    "SEND_MESSAGE",
    "PRESENCE_UPDATE",
    "CONNECTION_UPDATE",
];

pub(super) fn routes() -> Router<Arc<Journal>> {
    Router::new()
        .route("/webhook/set/{instance}", post(set))
        .route("/webhook/find/{instance}", get(find))
        .route("/instance/connect/{instance}", get(connect))
}

async fn set(State(journal): State<Arc<Journal>>, Path(instance): Path<String>, call: Call) -> Response {
    match read(&call) {
        Ok(webhook) => {
            journal.notes().set_webhook(&instance, webhook.clone());
            json(StatusCode::CREATED, webhook)
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

/// The row as version 2 answers it, or the flat body of version 1.
fn read(call: &Call) -> Result<Value, Refusal> {
    check_key(call)?;
    call.check_json()?;
    let body = &call.request.body;
    let Some(webhook) = body.get("webhook") else {
        call.text("/url")?;
        return Ok(body.clone());
    };
    call.text("/webhook/url")?;
    if !webhook["enabled"].is_boolean() {
        return wrong("/webhook/enabled is required");
    }
    let events = webhook["events"].as_array().map_or(&[][..], Vec::as_slice);
    for event in events {
        if !event.as_str().is_some_and(|event| EVENTS.contains(&event)) {
            return wrong(format!(
                "/webhook/events holds {event}, which is not one of its enum values"
            ));
        }
    }
    Ok(json!({
        "id": "cm0000000000000000000hook", "url": webhook["url"], "headers": webhook["headers"],
        "enabled": webhook["enabled"], "events": events, "webhookByEvents": webhook["byEvents"],
        "webhookBase64": webhook["base64"],
    }))
}

async fn find(State(journal): State<Arc<Journal>>, Path(instance): Path<String>, call: Call) -> Response {
    if let Err(refusal) = check_key(&call) {
        return refuse(&call, &refusal);
    }
    json(
        StatusCode::OK,
        journal.notes().webhook(&instance).unwrap_or_default(),
    )
}

/// The state of one that is open, else something to pair a phone with.
async fn connect(State(journal): State<Arc<Journal>>, Path(instance): Path<String>, call: Call) -> Response {
    if let Err(refusal) = check_key(&call) {
        return refuse(&call, &refusal);
    }
    let state = journal.connection(&instance);
    let body = match state {
        ConnectionState::Open => json!({"instance": {"instanceName": instance, "state": state}}),
        ConnectionState::Close | ConnectionState::Connecting => json!({
            "pairingCode": null, "code": "2@invented-code,of,a,stand-in", "base64": "data:image/png;base64,", "count": 1
        }),
    };
    json(StatusCode::OK, body)
}
