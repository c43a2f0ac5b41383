//! What providers call: `GET, POST /webhooks/{provider}` and whatever lies below, and the other paths that providers have. Which
//! paths and methods those are, what proves its webhooks and what they hold is for `recado_whatsapp::webhook` to say.
//!
//! The answer is 200 only when every event is recorded and enqueued (protocol: obligation before acknowledgement). A
//! repetition is what every other answer asks for, and what a provider does with it differs: so 503 for what may pass,
//! 400, 401 and 413 for what will not.

use crate::correlation::Correlation;
use crate::keys::Keys;
use crate::large::{LARGE, LargeBodies};
use crate::problem::Problem;
use crate::query::read_in_turn;
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
use recado_whatsapp::webhook::{Brings, Method, Refusal, Route, Taken, paths};
use serde_json::json;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
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
    large: LargeBodies,
}

impl<W, K> Clone for Webhook<W, K> {
    fn clone(&self) -> Self {
        Self {
            world: Arc::clone(&self.world),
            keys: Arc::clone(&self.keys),
            limits: self.limits,
            large: self.large.clone(),
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
    let unknown = Router::new()
        .route("/webhooks/{provider}", handler.clone())
        .route("/webhooks/{provider}/{*rest}", handler.clone())
        .route("/api/webhook/{provider}", handler.clone());
    paths()
        .fold(unknown, |router, path| {
            router
                .route(path, handler.clone())
                .route(&format!("{path}/{{*rest}}"), handler.clone())
        })
        .with_state(Webhook {
            world,
            keys,
            limits,
            large: LargeBodies::new(),
        })
}

/// Finds the route, and answers before its provider hangs up.
async fn receive<W: World, K: Keys>(
    State(webhook): State<Webhook<W, K>>,
    Extension(correlation): Extension<Correlation>,
    method: HttpMethod,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let route = Route::find(known(&method), uri.path()).map_err(|refusal| refused(refusal, None))?;
    Span::current().record("provider", route.provider().as_str());
    let patience = route.patience();
    let work = webhook.arrives(route, &correlation, (uri, headers, body));
    match patience {
        Some(patience) => webhook.within(patience, work).await,
        None => work.await,
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

/// The caller's own text.
fn plain(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain")], text).into_response()
}

impl<W: World, K: Keys> Webhook<W, K> {
    /// Reads the body; from then on the deadline counts.
    async fn arrives(
        &self,
        route: Route,
        correlation: &Correlation,
        (uri, headers, body): (Uri, HeaderMap, Body),
    ) -> Result<Response, Problem> {
        let (body, place) = match route.method() {
            Method::Get => (Bytes::new(), None),
            Method::Post => read_in_turn(&headers, body, self.limits.bytes_max, &self.large).await?,
        };
        let query = uri.query().map(str::to_owned);
        let work = self.proven(route, correlation, (query, headers, body));
        let answer = self.within(self.world.settings().webhook_deadline, work).await;
        drop(place);
        answer
    }

    /// The answer of `work`, or after `patience` the refusal that makes the provider come back.
    async fn within(
        &self,
        patience: Duration,
        work: impl Future<Output = Result<Response, Problem>>,
    ) -> Result<Response, Problem> {
        match select(pin!(work), pin!(self.world.ambient().sleep(patience))).await {
            Either::Left((answer, _)) => answer,
            // What was begun is as after a crash: what is recorded stays, and the repetition finds it.
            Either::Right(_) => {
                tracing::warn!("a webhook was not taken in time");
                Err(Problem::unavailable("it took too long: post it again"))
            }
        }
    }

    /// Proof, then what the body says.
    async fn proven(
        &self,
        route: Route,
        correlation: &Correlation,
        (query, headers, body): (Option<String>, HeaderMap, Bytes),
    ) -> Result<Response, Problem> {
        let provider = route.provider();
        // Without them: the 503 that makes the provider come back.
        let keys = self.keys.webhook(provider).await?;
        let now = self.world.ambient().now();
        let large = body.len() > LARGE;
        let receive = move || {
            let brings = Brings {
                query: query.as_deref(),
                headers: &headers,
                body: &body,
            };
            route.receive(brings, &keys, now)
        };
        let taken = if large {
            self.beside(receive).await?
        } else {
            receive()
        };
        let taken = taken.map_err(|refusal| refused(refusal, Some(provider)))?;
        let correlation = correlation.prove();
        match taken {
            Taken::Items(items) => self.take(items, &correlation).await,
            Taken::Answer(text) => Ok(plain(text)),
        }
    }

    /// Does what takes long on a thread of its own, so that other requests go on meanwhile.
    async fn beside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let desk = self.large.desk().await;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(desk);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "a large webhook could not be read");
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the webhook could not be read")
        })
    }

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
