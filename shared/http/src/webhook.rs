//! The routes that providers call: `GET` and `POST` on `/webhooks/{provider}` and all paths below, and the other paths
//! that providers have. `recado_whatsapp::webhook` defines which paths and methods a provider has, how its webhooks are
//! proven and what they hold.
//!
//! The answer is 200 only when every event is recorded and enqueued (protocol: obligation before acknowledgement).
//! Every other answer asks the provider to repeat the webhook, and providers differ in how they do so: 503 for a cause
//! that may pass, 400, 401 and 413 for a cause that will not.

use crate::correlation::RequestCorrelation;
use crate::keys::Keys;
use crate::large_bodies::{LARGE_BODY_BYTES, LargeBodies};
use crate::problem::HttpProblem;
use crate::query::read_body_in_turn;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method as HttpMethod, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use axum::{Extension, Json, Router};
use futures::future::{Either, select};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_pipeline::Deps;
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::System;
use recado_pipeline::settings::VariableReader;
use recado_whatsapp::webhook::{
    AcceptedWebhook, RequestParts, WebhookMethod, WebhookRefusal, WebhookRoute, all_path_prefixes,
};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::Span;

/// The limits of a webhook request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookLimits {
    /// The largest body, in bytes. (API Gateway itself accepts 10 MB.)
    pub bytes_max: usize,
}

impl Default for WebhookLimits {
    /// Returns 6 MB, which AWS passes to a function. Meta sends at most 3 MB, Evolution more only with inline media.
    fn default() -> Self {
        Self { bytes_max: 6_000_000 }
    }
}

impl WebhookLimits {
    /// Reads `RECADO_WEBHOOK_MAX_BYTES`.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let Self { bytes_max } = Self::default();
        let what = "must be a number of bytes above 0";
        let parse = |text: &str| text.parse().ok().filter(|bytes| *bytes > 0);
        Self {
            bytes_max: reader.read_parsed("RECADO_WEBHOOK_MAX_BYTES", bytes_max, what, parse),
        }
    }
}

pub(crate) struct WebhookState<Ports, K> {
    deps: Arc<Ports>,
    keys: Arc<K>,
    limits: WebhookLimits,
    large: LargeBodies,
}

impl<Ports, K> Clone for WebhookState<Ports, K> {
    fn clone(&self) -> Self {
        Self {
            deps: Arc::clone(&self.deps),
            keys: Arc::clone(&self.keys),
            limits: self.limits,
            large: self.large.clone(),
        }
    }
}

pub(crate) fn webhook_routes<Ports: Deps + 'static, K: Keys>(
    deps: Arc<Ports>,
    keys: Arc<K>,
    limits: WebhookLimits,
) -> Router {
    // The routes accept every method: the provider decides which methods a path has.
    let handler = any(handle_webhook::<Ports, K>);
    let unknown = Router::new()
        .route("/webhooks/{provider}", handler.clone())
        .route("/webhooks/{provider}/{*rest}", handler.clone())
        .route("/api/webhook/{provider}", handler.clone());
    all_path_prefixes()
        .fold(unknown, |router, path| {
            router
                .route(path, handler.clone())
                .route(&format!("{path}/{{*rest}}"), handler.clone())
        })
        .with_state(WebhookState {
            deps,
            keys,
            limits,
            large: LargeBodies::new(),
        })
}

/// Finds the provider's route and handles the webhook. Answers before the provider gives up waiting.
async fn handle_webhook<Ports: Deps, K: Keys>(
    State(webhook): State<WebhookState<Ports, K>>,
    Extension(correlation): Extension<RequestCorrelation>,
    method: HttpMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    let route = WebhookRoute::for_path(webhook_method(&method), uri.path())
        .map_err(|refusal| refusal_problem(refusal, None))?;
    Span::current().record("provider", route.provider().as_str());
    let patience = route.response_timeout();
    let work = webhook.read_and_handle(route, &correlation, (uri, headers, body));
    match patience {
        Some(patience) => webhook.answer_within(patience, work).await,
        None => work.await,
    }
}

/// Maps the HTTP method to a webhook's method. `None` for any method but `GET`, `HEAD` and `POST`.
fn webhook_method(method: &HttpMethod) -> Option<WebhookMethod> {
    match *method {
        HttpMethod::GET | HttpMethod::HEAD => Some(WebhookMethod::Get),
        HttpMethod::POST => Some(WebhookMethod::Post),
        _ => None,
    }
}

/// Returns the text as the body of a 200. The text came from the caller itself.
fn plain_text(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain")], text).into_response()
}

impl<Ports: Deps, K: Keys> WebhookState<Ports, K> {
    /// Reads the body, then checks and stores it. The deadline of the settings begins when the body is read.
    async fn read_and_handle(
        &self,
        route: WebhookRoute,
        correlation: &RequestCorrelation,
        (uri, headers, body): (Uri, HeaderMap, Body),
    ) -> Result<Response, HttpProblem> {
        let (body, place) = match route.method() {
            WebhookMethod::Get => (Bytes::new(), None),
            WebhookMethod::Post => {
                read_body_in_turn(&headers, body, self.limits.bytes_max, &self.large).await?
            }
        };
        let query = uri.query().map(str::to_owned);
        let work = self.authenticate_and_ingest(route, correlation, (query, headers, body));
        let answer = self
            .answer_within(self.deps.settings().webhook_deadline, work)
            .await;
        drop(place);
        answer
    }

    /// Returns the answer of `work`. After `patience` it returns the 503 that makes the provider repeat the webhook.
    async fn answer_within(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<Response, HttpProblem>>,
    ) -> Result<Response, HttpProblem> {
        match select(pin!(work), pin!(self.deps.system().sleep(patience))).await {
            Either::Left((answer, _)) => answer,
            // Work that was begun stops as in a crash: recorded events stay, and the repeated webhook finds them.
            Either::Right(_) => {
                tracing::warn!("a webhook was not taken in time");
                Err(HttpProblem::unavailable("it took too long: post it again"))
            }
        }
    }

    /// Checks the webhook's proof, parses the body and stores its events.
    async fn authenticate_and_ingest(
        &self,
        route: WebhookRoute,
        correlation: &RequestCorrelation,
        (query, headers, body): (Option<String>, HeaderMap, Bytes),
    ) -> Result<Response, HttpProblem> {
        let provider = route.provider();
        // If the keys cannot be read, the answer is the 503 that makes the provider repeat the webhook.
        let keys = self.keys.webhook_keys(provider).await?;
        let now = self.deps.system().now();
        let large = body.len() > LARGE_BODY_BYTES;
        let receive = move || {
            let brings = RequestParts {
                query: query.as_deref(),
                headers: &headers,
                body: &body,
            };
            route.authenticate_and_parse(brings, &keys, now)
        };
        let taken = if large {
            self.run_blocking(receive).await?
        } else {
            receive()
        };
        let taken = taken.map_err(|refusal| refusal_problem(refusal, Some(provider)))?;
        let correlation = correlation.accept_client_id();
        match taken {
            AcceptedWebhook::Items(items) => self.ingest_items(items, &correlation).await,
            AcceptedWebhook::HandshakeAnswer(text) => Ok(plain_text(text)),
        }
    }

    /// Runs slow work on a thread of its own, so that other requests go on meanwhile.
    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HttpProblem> {
        let desk = self.large.acquire_read_permit().await;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(desk);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "a large webhook could not be read");
            HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "the webhook could not be read")
        })
    }

    /// Stores the items of a webhook whose sender has proven itself.
    async fn ingest_items(
        &self,
        items: Vec<WebhookItem>,
        correlation: &CorrelationId,
    ) -> Result<Response, HttpProblem> {
        let done = ingest(&*self.deps, items, correlation).await?;
        let span = Span::current();
        span.record("events", done.events);
        span.record("duplicates", done.duplicates);
        span.record("statuses", done.statuses);
        span.record("notices", done.notices);
        span.record("ignored", done.ignored);
        tracing::info!("webhook acknowledged");
        let body = json!({
            "status": "ok",
            "events": done.events,
            "duplicates": done.duplicates,
            "statuses": done.statuses,
            "notices": done.notices,
            "ignored": done.ignored,
        });
        Ok(Json(body).into_response())
    }
}

/// Returns the HTTP problem of a refusal, and logs its cause.
fn refusal_problem(refusal: WebhookRefusal, provider: Option<Provider>) -> HttpProblem {
    match refusal {
        WebhookRefusal::NoRoute => HttpProblem::no_such_provider(),
        WebhookRefusal::MethodNotAllowed(methods) => {
            HttpProblem::method_not_allowed().with_header(header::ALLOW, allow_header(methods))
        }
        WebhookRefusal::NotEnvelope => {
            let whose = provider.map_or("any provider", Provider::as_str);
            HttpProblem::bad_request(format!("the body is not JSON, or not a webhook of {whose}"))
        }
        WebhookRefusal::BadRequest(what) => HttpProblem::bad_request(what),
        // The name of the missing setting goes to the log only, never to the caller.
        WebhookRefusal::NotConfigured(setting) => {
            tracing::error!(
                setting,
                "a webhook was refused because the secret that proves it is not configured"
            );
            HttpProblem::unavailable("this webhook is not set up yet")
        }
        WebhookRefusal::Unauthorized(what) => {
            tracing::warn!("{what}");
            HttpProblem::unauthenticated()
        }
    }
}

/// Returns the header `Allow` of a route with these methods.
fn allow_header(methods: &[WebhookMethod]) -> HeaderValue {
    match (
        methods.contains(&WebhookMethod::Get),
        methods.contains(&WebhookMethod::Post),
    ) {
        (true, true) => HeaderValue::from_static("GET,HEAD,POST"),
        (true, false) => HeaderValue::from_static("GET,HEAD"),
        (false, _) => HeaderValue::from_static("POST"),
    }
}
