//! What providers call: `GET, POST /webhooks/{provider}` and whatever lies below, `/api/webhook/{provider}`. Which paths and
//! methods a provider has, what proves its webhooks and what they hold is for `recado_whatsapp::webhook` to say.
//!
//! The answer is 200 only when every event is recorded and enqueued (protocol: obligation before acknowledgement). A
//! repetition is what every other answer asks for, and what a provider does with it differs: so 503 for what may pass,
//! 400, 401 and 413 for what will not.

use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::read;
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
use recado_pipeline::World;
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::Ambient;
use recado_whatsapp::webhook::{Brings, Method, Refusal, Route, Taken};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use tracing::Span;

/// What a webhook may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookLimits {
    /// The largest body, in bytes. (API Gateway itself takes 10 MB.)
    pub bytes_max: usize,
}

impl Default for WebhookLimits {
    /// 5 MiB: Meta sends at most 3 MB, Evolution more only with media inline.
    fn default() -> Self {
        Self {
            bytes_max: 5 * 1024 * 1024,
        }
    }
}

pub(crate) struct Webhook<W, K> {
    world: Arc<W>,
    keys: Arc<K>,
    limits: WebhookLimits,
}

impl<W, K> Clone for Webhook<W, K> {
    fn clone(&self) -> Self {
        Self {
            world: Arc::clone(&self.world),
            keys: Arc::clone(&self.keys),
            limits: self.limits,
        }
    }
}

pub(crate) fn routes<W: World + 'static, K: Keys>(
    world: Arc<W>,
    keys: Arc<K>,
    limits: WebhookLimits,
) -> Router {
    // Every method: which a path has depends on the provider.
    let handler = any(receive::<W, K>);
    Router::new()
        .route("/webhooks/{provider}", handler.clone())
        .route("/webhooks/{provider}/{*rest}", handler.clone())
        .route("/api/webhook/{provider}", handler)
        .with_state(Webhook { world, keys, limits })
}

/// Finds the route, and answers before its provider hangs up.
async fn receive<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Extension(correlation): Extension<CorrelationId>,
    method: HttpMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let route = Route::find(known(&method), uri.path()).map_err(|refusal| refused(refusal, None))?;
    Span::current().record("provider", route.provider().as_str());
    let Some(patience) = route.patience() else {
        return taken(&webhook, &route, &correlation, (uri, headers, body)).await;
    };
    let work = pin!(taken(&webhook, &route, &correlation, (uri, headers, body)));
    match select(work, pin!(webhook.world.ambient().sleep(patience))).await {
        Either::Left((answer, _)) => answer,
        // What was begun is as after a crash: what is recorded stays, and the repetition finds it.
        Either::Right(_) => {
            tracing::warn!("a webhook was not taken within its provider's patience");
            Err(Problem::unavailable("it took too long: post it again"))
        }
    }
}

/// Size, then proof, then what the body says.
async fn taken<W: World, K: Keys>(
    webhook: &Webhook<W, K>,
    route: &Route,
    correlation: &CorrelationId,
    (uri, headers, body): (Uri, HeaderMap, Body),
) -> Result<Response, Problem> {
    let provider = route.provider();
    let body = match route.method() {
        Method::Get => Bytes::new(),
        Method::Post => read(&headers, body, webhook.limits.bytes_max).await?,
    };
    // Without them: the 503 that makes the provider come back.
    let keys = webhook.keys.webhook(provider).await?;
    let brings = Brings {
        query: uri.query(),
        headers: &headers,
        body: &body,
    };
    let taken = route.receive(brings, &keys, webhook.world.ambient().now());
    match taken.map_err(|refusal| refused(refusal, Some(provider)))? {
        Taken::Items(items) => webhook.take(items, correlation).await,
        Taken::Answer(text) => Ok(plain(text)),
    }
}

/// The method as webhooks have it.
fn known(method: &HttpMethod) -> Option<Method> {
    match *method {
        HttpMethod::GET | HttpMethod::HEAD => Some(Method::Get),
        HttpMethod::POST => Some(Method::Post),
        _ => None,
    }
}

/// The caller's own text: plain, and not to be guessed otherwise.
fn plain(text: String) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (StatusCode::OK, headers, text).into_response()
}

impl<W: World, K: Keys> Webhook<W, K> {
    /// Takes in what a body holds whose sender has proven itself.
    async fn take(&self, items: Vec<WebhookItem>, correlation: &CorrelationId) -> Result<Response, Problem> {
        let done = ingest(&*self.world, items, correlation).await?;
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

/// What a refusal is answered with, and what the log says of it.
fn refused(refusal: Refusal, provider: Option<Provider>) -> Problem {
    match refusal {
        Refusal::NoRoute => Problem::no_such_provider(),
        Refusal::Method(methods) => Problem::method_not_allowed().with_header(header::ALLOW, allow(methods)),
        Refusal::NotEnvelope => {
            let whose = provider.as_ref().map_or("any provider", Provider::as_str);
            Problem::bad_request(format!("the body is not JSON, or not a webhook of {whose}"))
        }
        Refusal::BadRequest(what) => Problem::bad_request(what),
        // What is missing is named in the log, and nothing to the caller.
        Refusal::NotSetUp(setting) => {
            tracing::error!(
                setting,
                "a webhook was refused because the secret that proves it is not configured"
            );
            Problem::unavailable("this webhook is not set up yet")
        }
        Refusal::Unproven(what) => {
            tracing::warn!("{what}");
            Problem::unproven()
        }
    }
}

/// The header `Allow` of a route with these methods.
fn allow(methods: &[Method]) -> HeaderValue {
    match (methods.contains(&Method::Get), methods.contains(&Method::Post)) {
        (true, true) => HeaderValue::from_static("GET,HEAD,POST"),
        (true, false) => HeaderValue::from_static("GET,HEAD"),
        (false, _) => HeaderValue::from_static("POST"),
    }
}
