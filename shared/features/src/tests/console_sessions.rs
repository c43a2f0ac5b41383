//! Sessions of the console: begun on a token, and no token themselves.

use crate::tests::{LIMITS, Site, TOKEN};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{StatusCode, header};
use recado_domain::access::{ConsoleRequest, SESSION_PATH};
use recado_domain::secret::Secret;
use serde_json::{Value, json};
use tower::ServiceExt;

/// Sends a request as the console does, within the process.
async fn ask(
    site: &Site,
    console: Option<ConsoleRequest>,
    (method, path): (&str, &str),
    token: Option<&str>,
) -> (StatusCode, Value) {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let mut request = request.body(Body::empty()).unwrap();
    if let Some(console) = console {
        request.extensions_mut().insert(console);
    }
    let response = site.router_with(LIMITS).oneshot(request).await.unwrap();
    let (status, body) = (response.status(), response.into_body());
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

async fn begin(site: &Site, token: &str) -> Secret {
    let (status, begun) = ask(
        site,
        Some(ConsoleRequest::SignIn),
        ("POST", SESSION_PATH),
        Some(token),
    )
    .await;
    assert_eq!(status, StatusCode::OK, "{begun}");
    Secret::new(begun["session"].as_str().unwrap()).unwrap()
}

async fn read_token(site: &Site, session: &Secret) -> (StatusCode, Value) {
    let session = ConsoleRequest::Session(session.clone());
    ask(site, Some(session), ("GET", "/v1/token"), None).await
}

/// The cookie is no token of the API, so a copy of it ends with the sign-out.
#[tokio::test]
async fn a_session_has_the_role_of_its_token_until_the_sign_out() {
    let site = Site::in_memory().configured().await;
    let wanted = json!({"name": "ana", "role": "viewer", "tenant": "clinic"});
    let created = site.operate("POST", "/v1/tokens", &wanted).await;
    let own = begin(&site, TOKEN).await;
    let hers = begin(&site, created.body["secret"].as_str().unwrap()).await;
    let (status, token) = read_token(&site, &hers).await;
    assert_eq!(
        (status, &token["name"], &token["role"]),
        (StatusCode::OK, &json!("ana"), &json!("viewer"))
    );
    assert_eq!(read_token(&site, &own).await.1["name"], "installation");
    let ended = ConsoleRequest::Session(own.clone());
    let (status, _) = ask(&site, Some(ended), ("DELETE", SESSION_PATH), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(
        read_token(&site, &own).await.0,
        StatusCode::UNAUTHORIZED,
        "a copy of the cookie"
    );
    assert_eq!(read_token(&site, &hers).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_revoked_token_ends_its_sessions() {
    let site = Site::in_memory().configured().await;
    let created = site
        .operate("POST", "/v1/tokens", &json!({"name": "ana", "role": "viewer"}))
        .await;
    let session = begin(&site, created.body["secret"].as_str().unwrap()).await;
    assert_eq!(read_token(&site, &session).await.0, StatusCode::OK);
    let revoked = site.operate("DELETE", "/v1/tokens/ana", &Value::Null).await;
    assert!(revoked.status.is_success(), "{}", revoked.text);
    assert_eq!(read_token(&site, &session).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_session_is_no_token_and_nobody_outside_begins_one() {
    let site = Site::in_memory().configured().await;
    let session = begin(&site, TOKEN).await;
    let text = session.expose_secret();
    let (status, _) = ask(&site, None, ("GET", "/v1/token"), Some(text)).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    for method in ["POST", "DELETE"] {
        for token in [TOKEN, text] {
            let (status, _) = ask(&site, None, (method, SESSION_PATH), Some(token)).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{method}");
        }
    }
    // A token is no session either, and one that only sends opens no console.
    let token = Secret::new(TOKEN).unwrap();
    assert_eq!(read_token(&site, &token).await.0, StatusCode::UNAUTHORIZED);
    let sender = json!({"name": "loja", "role": "sender"});
    let sender = site.operate("POST", "/v1/tokens", &sender).await;
    let sender = sender.body["secret"].as_str();
    let (status, _) = ask(
        &site,
        Some(ConsoleRequest::SignIn),
        ("POST", SESSION_PATH),
        sender,
    )
    .await;
    assert_eq!(status, StatusCode::FORBIDDEN);
}
