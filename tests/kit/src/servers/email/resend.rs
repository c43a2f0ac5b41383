//! Resend's API as documented: `POST /emails` (<https://resend.com/docs/api-reference/emails/send-email>), `GET /domains`. An e-mail
//! with an `Idempotency-Key` that is known is answered as before and not sent again; with another content it is refused.

use crate::servers::call::{Call, Refusal, fresh, json, wrong};
use crate::servers::journal::{Delivered, Journal, Recorded};
use crate::servers::shape::{only, text, text_if};
use axum::Router;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use serde_json::{Value, json};
use std::sync::Arc;

const FIELDS: [&str; 10] = [
    "from", "to", "subject", "bcc", "cc", "reply_to", "html", "text", "headers", "tags",
];

pub(super) fn router(journal: Arc<Journal>) -> Router {
    Router::new()
        .route("/emails", post(send))
        .route("/domains", get(list_domains))
        .with_state(journal)
}

async fn send(call: Call) -> Response {
    match check(&call) {
        Ok(()) => call.perform(accept).await,
        Err(refusal) => refuse(&call, &refusal),
    }
}

async fn list_domains(call: Call) -> Response {
    match check_key(&call) {
        Ok(()) => {
            let data = json!([{"id": fresh(), "name": "clinic.example", "status": "verified", "region": "sa-east-1"}]);
            let listed = json!({"object": "list", "has_more": false, "data": data});
            call.perform(|_, _| json(StatusCode::OK, listed)).await
        }
        Err(refusal) => refuse(&call, &refusal),
    }
}

fn check_key(call: &Call) -> Result<(), Refusal> {
    let shown = call
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    call.check_credential(shown, "no header authorization with a bearer token")?;
    match call.header("user-agent") {
        Some(_) => Ok(()),
        // Resend answers 403 to a request without one.
        None => wrong("no header user-agent"),
    }
}

fn check(call: &Call) -> Result<(), Refusal> {
    check_key(call)?;
    call.check_json()?;
    let body = &call.request.body;
    only(body, &FIELDS)?;
    text(body, "from", 320)?;
    text(body, "subject", 998)?;
    text(body, "text", 1_000_000)?;
    text_if(body, "html", 1_000_000)?;
    text_if(body, "reply_to", 320)?;
    match body["to"].as_array() {
        Some(to)
            if (1..=50).contains(&to.len()) && to.iter().all(|one| one.as_str().is_some_and(is_address)) => {}
        _ => return wrong("to is no list of 1 to 50 addresses"),
    }
    if let Some(headers) = body.get("headers") {
        let texts = headers
            .as_object()
            .is_some_and(|all| all.values().all(Value::is_string));
        if !texts {
            return wrong("headers is no object of strings");
        }
    }
    // Recado promises that a repeat is recognized.
    match call.header("idempotency-key") {
        Some(key) if key.len() <= 256 => Ok(()),
        _ => wrong("no header idempotency-key of 1 to 256 characters"),
    }
}

fn is_address(text: &str) -> bool {
    text.is_ascii()
        && text
            .split_once('@')
            .is_some_and(|(local, host)| !local.is_empty() && host.contains('.'))
}

fn accept(journal: &Journal, request: &Recorded) -> Response {
    let key = request.headers.get("idempotency-key").cloned();
    let known = journal.phone().into_iter().find(|sent| sent.callback == key);
    if let Some(known) = known {
        if known.content == request.body {
            return json(StatusCode::OK, json!({"id": known.id}));
        }
        let error = json!({"statusCode": 409, "name": "invalid_idempotent_request",
            "message": "Same idempotency key used with a different request payload."});
        return json(StatusCode::CONFLICT, error);
    }
    let field = |name: &str| request.body[name].as_str().unwrap_or_default().to_owned();
    let id = fresh();
    let sent = Delivered {
        content: request.body.clone(),
        id: id.clone(),
        callback: key,
        ..Delivered::new(
            &field("from"),
            request.body["to"][0].as_str().unwrap_or_default(),
            &field("subject"),
            request.at,
        )
    };
    journal.deliver(sent);
    json(StatusCode::OK, json!({"id": id}))
}

fn refuse(call: &Call, refusal: &Refusal) -> Response {
    match refusal {
        Refusal::Credential => json(
            StatusCode::FORBIDDEN,
            json!({"statusCode": 403, "name": "invalid_api_key", "message": "API key is invalid"}),
        ),
        Refusal::Wrong(what) => {
            call.violate(what);
            json(
                StatusCode::UNPROCESSABLE_ENTITY,
                json!({"statusCode": 422, "name": "validation_error", "message": what}),
            )
        }
    }
}
