//! Begins and ends sessions of the console. Only the console itself, within the process, asks for it: for all others there is no such
//! route.

use crate::api::auth::{self, check_permission, identify_caller};
use crate::api::context::Api;
use crate::problem::HttpProblem;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use recado_access as tokens;
use recado_domain::access::{ConsoleRequest, SESSION_PATH};
use serde_json::{Value, json};

pub fn session_routes() -> Router<Api> {
    let methods = post(begin_session).delete(end_session);
    Router::new().route(SESSION_PATH, methods)
}

fn no_such_route() -> HttpProblem {
    HttpProblem::not_found("there is no such route")
}

/// Begins a session on the request's token, if that may read.
async fn begin_session(State(api): State<Api>, request: Request) -> Result<Json<Value>, HttpProblem> {
    let (parts, _) = request.into_parts();
    if !matches!(
        parts.extensions.get::<ConsoleRequest>(),
        Some(ConsoleRequest::SignIn)
    ) {
        return Err(no_such_route());
    }
    let caller = identify_caller(&api, &parts.headers).await?;
    check_permission(&api, &caller, &Method::GET, "/v1/token")?;
    let token = auth::bearer_token(&parts.headers).unwrap_or_default();
    let session = tokens::begin_session(&api.deps, token).await?;
    tracing::info!(token = %caller.name, "a session of the console began");
    Ok(Json(json!({ "session": session.expose_secret() })))
}

/// Ends the session of the request.
async fn end_session(State(api): State<Api>, request: Request) -> Result<StatusCode, HttpProblem> {
    let (parts, _) = request.into_parts();
    let Some(ConsoleRequest::Session(session)) = parts.extensions.get::<ConsoleRequest>() else {
        return Err(no_such_route());
    };
    tokens::end_session(&api.deps, session).await?;
    Ok(StatusCode::NO_CONTENT)
}
