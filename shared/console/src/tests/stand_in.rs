//! An API that answers by its description, and remembers what it was asked.

use super::described_api::{DescribedApi, SampleKind};
use crate::session::make_session_cookie;
use crate::{ConsoleOptions, console_routes};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use recado_domain::access::{ConsoleRequest, SESSION_PATH};
use recado_domain::secret::Secret;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use tower::ServiceExt;

pub(super) const TOKEN: &str = "a-token-of-at-least-32-characters";

/// The text of the session that the API begins.
pub(super) const SESSION: &str = "session_0123456789abcdef";

/// What would run in a page if it were no text.
pub(super) const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 1234567 * 9 }}";

/// A request that the API got.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AskedRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

/// The API.
#[derive(Clone)]
pub(super) struct ApiStandIn {
    api: &'static DescribedApi,
    role: &'static str,
    pub(super) kind: SampleKind,
    /// `true`: whatever is no page's own subject is refused.
    pub(super) refuses: bool,
    /// The kind of such a refusal.
    pub(super) refusal_code: Option<&'static str>,
    asked: Arc<Mutex<Vec<AskedRequest>>>,
    ended: Arc<AtomicBool>,
}

impl ApiStandIn {
    pub(super) fn for_role(role: &'static str) -> Self {
        Self {
            api: DescribedApi::shared(),
            role,
            kind: SampleKind {
                text: HOSTILE,
                code: 0,
                is_full: true,
            },
            refuses: false,
            refusal_code: None,
            asked: Arc::default(),
            ended: Arc::default(),
        }
    }

    /// Whether the session was ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Takes the requests that changed something.
    pub(super) fn take_changes(&self) -> Vec<AskedRequest> {
        let asked = std::mem::take(&mut *self.asked.lock().unwrap());
        asked.into_iter().filter(|one| one.method != "GET").collect()
    }

    pub(super) fn console(&self) -> Router {
        let options = ConsoleOptions {
            has_simulator: true,
            has_text_search: true,
            ..ConsoleOptions::default()
        };
        console_routes(self.router(), options).unwrap()
    }

    pub(super) fn router(&self) -> Router {
        let this = self.clone();
        Router::new().fallback(move |request: Request| {
            let this = this.clone();
            async move { this.answer(request).await }
        })
    }

    async fn answer(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let shown = parts.headers.get(header::AUTHORIZATION);
        let signs_in = shown.is_some_and(|shown| shown.as_bytes() == format!("Bearer {TOKEN}").as_bytes());
        match parts.extensions.get::<ConsoleRequest>() {
            Some(ConsoleRequest::SignIn) if signs_in && parts.uri.path() == SESSION_PATH => {
                return json!({"session": SESSION}).to_string().into_response();
            }
            Some(ConsoleRequest::Session(session)) if session.matches(SESSION) && !self.has_ended() => {}
            _ => return (StatusCode::UNAUTHORIZED, "{}").into_response(),
        }
        if parts.uri.path() == SESSION_PATH && parts.method == Method::DELETE {
            self.ended.store(true, Ordering::SeqCst);
            return StatusCode::NO_CONTENT.into_response();
        }
        let body = to_bytes(body, usize::MAX).await.unwrap();
        self.asked.lock().unwrap().push(AskedRequest {
            method: parts.method.to_string(),
            path: parts.uri.to_string(),
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).unwrap(),
        });
        let path = parts.uri.path();
        if path == "/v1/token" {
            return self.describe_token().to_string().into_response();
        }
        let problem = |detail: &str| json!({"detail": detail}).to_string();
        let Some(route) = self.api.find_route(parts.method.as_str(), path) else {
            return (StatusCode::NOT_FOUND, problem("there is no such route")).into_response();
        };
        let is_own = |read: &&crate::page_table::PageRead| read.is_subject && read.api_route() == route;
        let mut reads = crate::page_table::PAGES.iter().flat_map(|page| page.reads);
        if self.refuses && !reads.any(|read| is_own(&read)) {
            let mut told = json!({"detail": HOSTILE});
            if let Some(code) = self.refusal_code {
                told["code"] = json!(code);
            }
            return (StatusCode::CONFLICT, told.to_string()).into_response();
        }
        let answer = self.api.make_answer(parts.method.as_str(), &route, self.kind);
        let body = answer.map(|answer| answer.to_string()).unwrap_or_default();
        ([(header::ETAG, "\"v1\"")], body).into_response()
    }

    fn describe_token(&self) -> Value {
        let secret = ["/v1/instances/{id}/webhook", "/v1/tokens", "/v1/audit"];
        let routes = self.api.list_routes().iter().filter(|(method, path)| {
            let is_read = (method == "GET" && !secret.contains(&path.as_str()))
                || path == "/v1/agents/{id}/knowledge/search";
            let operates = path.contains("/messages")
                || path.contains("conversations")
                || path.contains("dead-letters")
                || path.contains("batches")
                || path.contains("alerts")
                || path.contains("/media")
                || path.contains("catch-up");
            match self.role {
                "viewer" => is_read,
                "operator" => is_read || operates,
                "manager" => (is_read || !operates || path.contains("/audit")) && !path.contains("/tokens"),
                _ => true,
            }
        });
        let routes = routes.map(|(method, path)| format!("{method} {path}"));
        json!({
            "name": HOSTILE, "role": self.role, "tenant": if self.role == "admin" { None } else { Some("clinic") },
            "routes": routes.collect::<Vec<_>>(),
        })
    }
}

/// Makes the cookie of a session.
pub(super) fn sign_in() -> String {
    make_session_cookie(&Secret::from_generated(SESSION.to_owned()), false)
}

pub(super) async fn send(console: &Router, request: Request) -> (StatusCode, HeaderMap, String) {
    let response: Response = console.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    (
        parts.status,
        parts.headers,
        String::from_utf8(body.to_vec()).unwrap(),
    )
}

pub(super) fn get(path: &str, cookie: &str) -> Request {
    let request = Request::get(path).header(header::COOKIE, cookie);
    request.body(Body::empty()).unwrap()
}

pub(super) fn post(path: &str, cookie: &str, form: &str) -> Request {
    let request = Request::post(path)
        .header(header::COOKIE, cookie)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin");
    request.body(Body::from(form.to_owned())).unwrap()
}
