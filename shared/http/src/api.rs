//! What operators, monitors and the command line call.
//!
//! `GET /health` is open to all, and `GET /health/whatsapp` as a mere status; everything else wants `Authorization: Bearer` with the operator token.

mod auth;
mod catch_up;
mod config;
mod conversations;
mod dead_letters;
mod health;
mod media;
mod messages;
mod notices;
mod refusal;
mod said;
mod sends;
mod simulator;
mod trace;
mod view;
mod whatsapp;

use crate::keys::Keys;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use recado_pipeline::World;
use recado_pipeline::ports::Depths;
use recado_whatsapp::SimulatedOutbox;
use std::sync::Arc;

/// The largest body the API takes, in bytes: a whole configuration with its prompts.
const BODY_MAX: usize = 1024 * 1024;

/// What the API needs beyond the world.
#[derive(Debug, Clone)]
pub struct ApiOptions<D> {
    /// Where providers reach this installation, without a slash at its end. Absent: as the request was addressed.
    pub public_url: Option<String>,
    /// What the simulated provider took, while it is the one that sends.
    pub simulator: Option<SimulatedOutbox>,
    /// How much waits in the queues.
    pub depths: D,
    /// Whether the store takes writes.
    pub pulse: crate::Pulse,
}

pub(crate) struct Api<W, K, D> {
    world: Arc<W>,
    keys: Arc<K>,
    options: Arc<ApiOptions<D>>,
    /// What who shows no token was told last.
    last_status: Arc<whatsapp::LastStatus>,
}

impl<W, K, D> Clone for Api<W, K, D> {
    fn clone(&self) -> Self {
        let (world, keys) = (Arc::clone(&self.world), Arc::clone(&self.keys));
        Self {
            world,
            keys,
            options: Arc::clone(&self.options),
            last_status: Arc::clone(&self.last_status),
        }
    }
}

pub(crate) fn routes<W: World + 'static, K: Keys, D: Depths>(
    world: Arc<W>,
    keys: Arc<K>,
    options: ApiOptions<D>,
) -> Router {
    let api = Api {
        world,
        keys,
        options: Arc::new(options),
        last_status: Arc::default(),
    };
    let apply = config::apply::<W, K, D>;
    Router::new()
        .route("/health/whatsapp/detailed", get(whatsapp::detailed::<W, K, D>))
        .route("/v1/config", get(config::show::<W, K, D>).put(apply).post(apply))
        .route("/v1/conversations", get(conversations::list::<W, K, D>))
        .route(
            "/v1/conversations/{id}",
            get(conversations::show::<W, K, D>).patch(conversations::change::<W, K, D>),
        )
        .route(
            "/v1/conversations/{id}/messages",
            get(messages::list::<W, K, D>).post(messages::answer::<W, K, D>),
        )
        .route(
            "/v1/messages/{id}",
            get(messages::show::<W, K, D>).delete(sends::cancel::<W, K, D>),
        )
        .route("/v1/instances/{id}/messages", post(sends::send::<W, K, D>))
        .route("/v1/instances/{id}/media", post(media::upload::<W, K, D>))
        .route("/v1/instances/{id}/notices", get(notices::list::<W, K, D>))
        .route("/v1/instances/{id}/catch-up", post(catch_up::catch_up::<W, K, D>))
        .route("/v1/trace", get(trace::show::<W, K, D>))
        .route(
            "/v1/dead-letters",
            get(dead_letters::list::<W, K, D>).delete(dead_letters::purge::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/redrive",
            post(dead_letters::redrive_many::<W, K, D>),
        )
        .route("/v1/dead-letters/audit", get(dead_letters::audit::<W, K, D>))
        .route(
            "/v1/dead-letters/{id}",
            get(dead_letters::show::<W, K, D>).delete(dead_letters::delete::<W, K, D>),
        )
        .route(
            "/v1/dead-letters/{id}/redrive",
            post(dead_letters::redrive::<W, K, D>),
        )
        .route("/health/whatsapp/dlq", get(dead_letters::dlq::<W, K, D>))
        .route("/simulator/outbox", get(simulator::outbox::<W, K, D>))
        .route_layer(from_fn_with_state(api.clone(), auth::operators_only::<W, K, D>))
        .route("/health", get(health::show::<W, K, D>))
        .route("/health/whatsapp", get(whatsapp::show::<W, K, D>))
        .with_state(api)
}
