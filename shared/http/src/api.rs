//! The routes that operators, monitors and the command line call.
//!
//! `GET /health` is open to all, and `GET /health/whatsapp` too, but without a token it returns the status alone. Every
//! other route requires `Authorization: Bearer` with the operators' token.

mod auth;
mod catch_up;
mod config;
mod conversations;
mod dead_letters;
mod error_mapping;
mod health;
mod media;
mod messages;
mod notices;
mod outgoing_fields;
mod sends;
mod simulator;
mod trace;
mod view;
mod whatsapp;

use crate::keys::Keys;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use recado_pipeline::Deps;
use recado_pipeline::ports::QueueDepths;
use recado_whatsapp::SimulatedOutbox;
use std::sync::Arc;

/// The largest body that the API accepts, in bytes. A whole configuration with its prompts fits.
const BODY_MAX: usize = 1024 * 1024;

/// The settings and sources that the API needs besides the ports.
#[derive(Debug, Clone)]
pub struct ApiOptions<D> {
    /// The base URL at which providers reach this installation, without a slash at its end. `None`: the base URL of the
    /// request itself is used.
    pub public_url: Option<String>,
    /// The messages that the simulated provider accepted. `None` where a real provider sends.
    pub simulator: Option<SimulatedOutbox>,
    /// The source of the queues' depths.
    pub depths: D,
    /// The check that the store accepts writes.
    pub health_probe: crate::HealthProbe,
}

pub(crate) struct ApiState<W, K, D> {
    deps: Arc<W>,
    keys: Arc<K>,
    options: Arc<ApiOptions<D>>,
    /// The status that a request without a token got last.
    last_status: Arc<whatsapp::PublicStatusCache>,
}

impl<W, K, D> Clone for ApiState<W, K, D> {
    fn clone(&self) -> Self {
        let (deps, keys) = (Arc::clone(&self.deps), Arc::clone(&self.keys));
        Self {
            deps,
            keys,
            options: Arc::clone(&self.options),
            last_status: Arc::clone(&self.last_status),
        }
    }
}

pub(crate) fn api_routes<W: Deps + 'static, K: Keys, D: QueueDepths>(
    deps: Arc<W>,
    keys: Arc<K>,
    options: ApiOptions<D>,
) -> Router {
    let api = ApiState {
        deps,
        keys,
        options: Arc::new(options),
        last_status: Arc::default(),
    };
    let apply = config::put_configuration::<W, K, D>;
    Router::new()
        .route(
            "/health/whatsapp/detailed",
            get(whatsapp::get_detailed_whatsapp_health::<W, K, D>),
        )
        .route(
            "/v1/config",
            get(config::get_configuration::<W, K, D>).put(apply).post(apply),
        )
        .route(
            "/v1/conversations",
            get(conversations::list_conversations::<W, K, D>),
        )
        .route(
            "/v1/conversations/{id}",
            get(conversations::get_conversation::<W, K, D>)
                .patch(conversations::patch_conversation::<W, K, D>),
        )
        .route(
            "/v1/conversations/{id}/messages",
            get(messages::list_messages::<W, K, D>).post(messages::post_answer::<W, K, D>),
        )
        .route(
            "/v1/messages/{id}",
            get(messages::get_message::<W, K, D>).delete(sends::delete_message::<W, K, D>),
        )
        .route("/v1/instances/{id}/messages", post(sends::post_send::<W, K, D>))
        .route("/v1/instances/{id}/media", post(media::post_media::<W, K, D>))
        .route(
            "/v1/instances/{id}/notices",
            get(notices::list_notices::<W, K, D>),
        )
        .route(
            "/v1/instances/{id}/catch-up",
            post(catch_up::post_catch_up::<W, K, D>),
        )
        .route("/v1/trace", get(trace::get_trace::<W, K, D>))
        .merge(dead_letter_routes())
        .route(
            "/simulator/outbox",
            get(simulator::list_simulated_outbox::<W, K, D>),
        )
        .route_layer(from_fn_with_state(api.clone(), auth::require_operator::<W, K, D>))
        .route("/health", get(health::get_health::<W, K, D>))
        .route("/health/whatsapp", get(whatsapp::get_whatsapp_health::<W, K, D>))
        .with_state(api)
}

fn dead_letter_routes<W: Deps + 'static, K: Keys, D: QueueDepths>() -> Router<ApiState<W, K, D>> {
    Router::new()
        .route(
            "/v1/dead-letters",
            get(dead_letters::list_dead_letters::<W, K, D>)
                .delete(dead_letters::delete_dead_letters::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/redrive",
            post(dead_letters::redrive_dead_letters::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/audit",
            get(dead_letters::list_deletions::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/{id}",
            get(dead_letters::get_dead_letter::<W, K, D>).delete(dead_letters::delete_dead_letter::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/{id}/redrive",
            post(dead_letters::redrive_dead_letter::<W, K, D>),
        )
        .route(
            "/health/whatsapp/dlq",
            get(dead_letters::get_dlq_health::<W, K, D>),
        )
}
