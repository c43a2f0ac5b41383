//! What providers call.
//!
//! | route | what |
//! | --- | --- |
//! | `POST /webhooks/evolution`, `/api/webhook/evolution` | Evolution API |
//! | `POST /webhooks/evolution/{instance or event}`, `/webhooks/evolution/{instance}/{event}` | the same, `byEvents` |
//! | `POST /webhooks/evolution/k/{token}`, `…/k/{token}/{event}` | the same, of version 1, which can send no header |
//! | `GET, POST /webhooks/meta`, `/webhooks/whatsapp` | Meta's Cloud API, with its handshake |
//! | `POST /webhooks/360dialog`, `/webhooks/360dialog/{number}` | 360dialog; on-premise numbers need the second |
//!
//! The answer is 200 only when every event is recorded and enqueued (protocol: obligation before acknowledgement). A
//! repetition is what every other answer asks for, and what a provider does with it differs: so 503 for what may pass,
//! 400, 401 and 413 for what will not.

mod dialog360;
mod evolution;
mod meta;

use crate::keys::{Keys, WebhookKeys};
use crate::problem::Problem;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use recado_domain::event::Provider;
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::WebhookItem;
use recado_pipeline::World;
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::Ambient;
use serde_json::json;
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
    Router::new()
        .route("/webhooks/evolution", post(evolution::plain::<W, K>))
        .route("/api/webhook/evolution", post(evolution::plain::<W, K>))
        .route("/webhooks/evolution/{segment}", post(evolution::named::<W, K>))
        .route(
            "/webhooks/evolution/{instance}/{event}",
            post(evolution::by_event::<W, K>),
        )
        .route(
            "/webhooks/evolution/k/{token}",
            post(evolution::with_token::<W, K>),
        )
        .route(
            "/webhooks/evolution/k/{token}/{event}",
            post(evolution::with_token_by_event::<W, K>),
        )
        .route(
            "/webhooks/meta",
            get(meta::handshake::<W, K>).post(meta::receive::<W, K>),
        )
        .route(
            "/webhooks/whatsapp",
            get(meta::handshake::<W, K>).post(meta::receive::<W, K>),
        )
        .route("/webhooks/360dialog", post(dialog360::plain::<W, K>))
        .route("/webhooks/360dialog/{number}", post(dialog360::named::<W, K>))
        .with_state(Webhook { world, keys, limits })
}

impl<W: World, K: Keys> Webhook<W, K> {
    /// The keys, or the 503 that makes the provider come back.
    async fn keys(&self, provider: Provider) -> Result<Arc<WebhookKeys>, Problem> {
        Ok(self.keys.webhook(provider).await?)
    }

    /// Takes in a body whose sender has proven itself.
    async fn take(
        &self,
        provider: Provider,
        body: &[u8],
        correlation: &CorrelationId,
    ) -> Result<Response, Problem> {
        let now = self.world.ambient().now();
        let items = recado_whatsapp::split(provider, body, now).map_err(|_| not_an_envelope(provider))?;
        self.take_items(items, correlation).await
    }

    /// Takes in what such a body holds.
    async fn take_items(
        &self,
        items: Vec<WebhookItem>,
        correlation: &CorrelationId,
    ) -> Result<Response, Problem> {
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

fn not_an_envelope(provider: Provider) -> Problem {
    Problem::bad_request(format!("the body is not JSON, or not a webhook of {provider}"))
}

/// What is said when a secret is missing: it names the setting in the log, and nothing to the caller.
fn not_set_up(setting: &'static str) -> Problem {
    tracing::error!(
        setting,
        "a webhook was refused because the secret that proves it is not configured"
    );
    Problem::unavailable("this webhook is not set up yet")
}
