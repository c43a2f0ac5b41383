//! The routes that providers call. `recado_whatsapp::webhook` defines which paths a provider has, how its webhooks are
//! proven and what they hold.
//!
//! The answer is 200 only when every event is recorded and enqueued (protocol: obligation before acknowledgement).
//! Every other answer asks the provider to repeat the webhook, and providers differ in how they do so: 503 for a cause
//! that may pass, 400, 401 and 413 for a cause that will not.

mod proof_keys;

use crate::api::request::PathParam;
use crate::body::read_body_in_turn;
use crate::correlation::RequestCorrelation;
use crate::keys::Keys;
use crate::large_bodies::{LARGE_BODY_BYTES, LargeBodies};
use crate::problem::HttpProblem;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Extension, Json, Router};
use futures::future::{Either, select};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_pipeline::Deps;
use recado_pipeline::ingest::{IngestReport, ingest, is_secret_accepted};
use recado_pipeline::measure;
use recado_pipeline::settings::VariableReader;
use recado_pipeline::trace_span::TRACE_TARGET;
use recado_whatsapp::webhook::{
    AnswerHandshake, ProvenSecret, WebhookHandler, WebhookRefusal, WebhookRequest,
};
use recado_whatsapp::webhook_handlers;
use serde::Serialize;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Instrument;

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

/// A provider, and the handler of its webhooks.
type WebhookRoute = (Provider, &'static dyn WebhookHandler);

#[derive(Clone)]
pub(crate) struct WebhookState {
    deps: Arc<Deps>,
    keys: Arc<dyn Keys>,
    limits: WebhookLimits,
    large: LargeBodies,
}

/// Returns the providers' routes, to be finished or joined with those of operators.
pub fn webhook_routes(deps: Arc<Deps>, keys: Arc<dyn Keys>, limits: WebhookLimits) -> Router {
    webhook_handlers()
        .flat_map(|(provider, handler)| {
            let methods = method_routes(provider, handler);
            handler.paths().iter().map(move |path| (*path, methods.clone()))
        })
        .fold(Router::new(), |router, (path, methods)| {
            router.route(path, methods)
        })
        .with_state(WebhookState {
            deps,
            keys,
            limits,
            large: LargeBodies::new(),
        })
}

/// Returns what each path of a provider does: `POST` delivers a webhook, `GET` is the handshake, if there is one.
fn method_routes(provider: Provider, handler: &'static dyn WebhookHandler) -> MethodRouter<WebhookState> {
    let methods = match handler.handshake() {
        Some(answer) => get(move |State(webhook): State<WebhookState>, uri: Uri| async move {
            webhook.handle_handshake(provider, answer, &uri).await
        }),
        None => MethodRouter::new(),
    };
    methods.post(
        move |State(webhook): State<WebhookState>,
              Extension(correlation): Extension<RequestCorrelation>,
              PathParam(params): PathParam<BTreeMap<String, String>>,
              headers: HeaderMap,
              body: Body| async move {
            // axum lets a parameter be empty that is not the last.
            if params.values().any(String::is_empty) {
                return Err(HttpProblem::no_such_provider());
            }
            let (received, began) = ((params, headers, body), Instant::now());
            let work = webhook.read_and_handle((provider, handler), &correlation, received);
            // The answer comes before the provider gives up waiting.
            let answer = match handler.response_timeout() {
                Some(patience) => webhook.answer_within(patience, work).await,
                None => work.await,
            };
            let code = answer.as_ref().map_or_else(HttpProblem::status, Response::status);
            measure::record_webhook(provider, code.as_u16(), began.elapsed());
            answer
        },
    )
}

/// Returns the text as the body of a 200. The text came from the caller itself.
fn plain_text(text: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain")], text).into_response()
}

impl WebhookState {
    /// Answers a provider's handshake.
    async fn handle_handshake(
        &self,
        provider: Provider,
        answer: AnswerHandshake,
        uri: &Uri,
    ) -> Result<Response, HttpProblem> {
        let work = async {
            let keys = self.keys.webhook_keys(provider).await?;
            let text = answer(uri.query().unwrap_or_default(), &keys);
            text.map(plain_text)
                .map_err(|refusal| refusal_problem(refusal, provider))
        };
        self.answer_within(self.deps.settings().webhook_deadline.unsigned_abs(), work)
            .await
    }

    /// Reads the body, then checks and stores it. The deadline of the settings begins when the body is read.
    async fn read_and_handle(
        &self,
        route: WebhookRoute,
        correlation: &RequestCorrelation,
        (params, headers, body): (BTreeMap<String, String>, HeaderMap, Body),
    ) -> Result<Response, HttpProblem> {
        let (body, place) = read_body_in_turn(&headers, body, self.limits.bytes_max, &self.large).await?;
        let work = self.authenticate_and_ingest(route, correlation, (params, headers, body));
        let answer = self
            .answer_within(self.deps.settings().webhook_deadline.unsigned_abs(), work)
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
        (provider, handler): WebhookRoute,
        correlation: &RequestCorrelation,
        (params, headers, body): (BTreeMap<String, String>, HeaderMap, Bytes),
    ) -> Result<Response, HttpProblem> {
        // If the keys cannot be read, the answer is the 503 that makes the provider repeat the webhook.
        let received = Arc::new(UnprovenWebhook {
            params,
            headers,
            body,
        });
        let keys = self.keys.webhook_keys(provider).await?;
        let keys = self.add_app_secrets((provider, handler), &received, keys).await?;
        let keys = self
            .add_configured_numbers((provider, handler), &received, keys)
            .await?;
        let now = self.deps.system().now();
        let keys = self
            .add_hidden_salt((provider, handler), &received, keys, now)
            .await?;
        let taken = self
            .run_on(&received, move |request| {
                handler.authenticate_and_parse(request, &keys, now)
            })
            .await?;
        let proven = taken.map_err(|refusal| refusal_problem(refusal, provider))?;
        if let Some(secret) = &proven.secret {
            self.require_accepted_secret(provider, secret).await?;
        }
        let id = correlation.accept_client_id();
        let span = tracing::info_span!(target: TRACE_TARGET, "webhook", provider = provider.as_str(), correlation_id = %id);
        correlation.begin_request_span(&span);
        self.ingest_items(provider, proven.items, &id)
            .instrument(span)
            .await
    }

    /// Runs work on a request: a large one on a thread of its own.
    async fn run_on<T: Send + 'static>(
        &self,
        received: &Arc<UnprovenWebhook>,
        work: impl FnOnce(&WebhookRequest<'_>) -> T + Send + 'static,
    ) -> Result<T, HttpProblem> {
        if received.body.len() <= LARGE_BODY_BYTES {
            return Ok(work(&received.as_request()));
        }
        let received = Arc::clone(received);
        self.run_blocking(move || work(&received.as_request())).await
    }

    /// Refuses a webhook whose secret was replaced. Only who knew the secret gets here, so strangers cause no read.
    async fn require_accepted_secret(
        &self,
        provider: Provider,
        secret: &ProvenSecret,
    ) -> Result<(), HttpProblem> {
        if is_secret_accepted(&self.deps, provider, &secret.instance, &secret.proven).await? {
            return Ok(());
        }
        let refusal = WebhookRefusal::Unauthorized {
            what: "a webhook was refused: its secret was replaced, or is one of who had the name before",
            instance: Some(secret.instance.clone()),
        };
        Err(refusal_problem(refusal, provider))
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
        provider: Provider,
        items: Vec<WebhookItem>,
        correlation: &CorrelationId,
    ) -> Result<Response, HttpProblem> {
        let done = ingest(&self.deps, items, correlation).await?;
        measure::count_webhook_items(provider, &done);
        // Fields of the line itself: each field that a span gains later makes the span's text anew.
        if done.brings_only_statuses() {
            tracing::debug!(
                provider = provider.as_str(),
                statuses = done.statuses,
                "statuses acknowledged"
            );
        } else {
            tracing::info!(
                provider = provider.as_str(),
                events = done.events,
                duplicates = done.duplicates,
                statuses = done.statuses,
                notices = done.notices,
                ignored = done.ignored,
                "webhook acknowledged"
            );
        }
        let status = "ok";
        Ok(Json(WebhookAnswer { status, done }).into_response())
    }
}

/// The body of the answer to a webhook that was taken: what it held.
#[derive(Serialize)]
struct WebhookAnswer {
    status: &'static str,
    #[serde(flatten)]
    done: IngestReport,
}

/// A webhook as it came, before its proof.
struct UnprovenWebhook {
    params: BTreeMap<String, String>,
    headers: HeaderMap,
    body: Bytes,
}

impl UnprovenWebhook {
    fn as_request(&self) -> WebhookRequest<'_> {
        WebhookRequest {
            path_params: &self.params,
            headers: &self.headers,
            body: &self.body,
        }
    }
}

/// Returns the HTTP problem of a refusal, and logs its cause.
fn refusal_problem(refusal: WebhookRefusal, provider: Provider) -> HttpProblem {
    match refusal {
        WebhookRefusal::NotEnvelope => {
            HttpProblem::bad_request(format!("the body is not JSON, or not a webhook of {provider}"))
        }
        WebhookRefusal::BadRequest(what) => HttpProblem::bad_request(what),
        // The name of the missing setting goes to the log only, never to the caller.
        WebhookRefusal::NotConfigured(setting) => {
            tracing::error!(
                provider = provider.as_str(),
                setting,
                "a webhook was refused because the secret that proves it is not configured"
            );
            HttpProblem::unavailable("this webhook is not set up yet")
        }
        WebhookRefusal::Unauthorized { what, instance } => {
            let instance = instance.as_ref().map(ExternalId::as_str);
            tracing::warn!(provider = provider.as_str(), instance, "{what}");
            HttpProblem::new(
                StatusCode::UNAUTHORIZED,
                "the webhook's proof is missing or wrong",
            )
        }
    }
}
