//! The routes that operators, monitors and the command line call.
//!
//! A route stands in one of two lists. [`list_public_routes`] needs no token: `GET /health/whatsapp` returns the status
//! alone without one. [`list_operator_routes`] needs the operators' token, as `Authorization: Bearer`. The description
//! of the API (`GET /openapi.json`) is made of the same two lists.

mod auth;
mod catch_up;
mod config;
mod conversations;
mod dead_letters;
mod description;
mod error_mapping;
mod health;
mod media;
mod messages;
mod notices;
mod outgoing_fields;
mod problem_answers;
mod schema;
mod sends;
mod simulator;
mod trace;
mod view;
mod whatsapp;

use crate::keys::Keys;
use axum::Router;
use axum::middleware::from_fn_with_state;
use recado_pipeline::Deps;
use recado_pipeline::ports::QueueDepths;
use recado_whatsapp::SimulatedOutbox;
use std::sync::{Arc, OnceLock};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

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

/// The ports, the keys and the queue depths that an installation's API works with.
pub(crate) trait ApiContext: 'static {
    type Deps: Deps + 'static;
    type Keys: Keys;
    type Depths: QueueDepths;
}

impl<Ports: Deps + 'static, K: Keys, D: QueueDepths> ApiContext for (Ports, K, D) {
    type Deps = Ports;
    type Keys = K;
    type Depths = D;
}

/// The state that every handler gets.
pub(crate) struct Api<C: ApiContext> {
    deps: Arc<C::Deps>,
    keys: Arc<C::Keys>,
    options: Arc<ApiOptions<C::Depths>>,
    /// The status that a request without a token got last.
    last_status: Arc<whatsapp::PublicStatusCache>,
    /// The description of the API, made when it is first asked for: few processes need it.
    description: Arc<OnceLock<OpenApi>>,
}

impl<C: ApiContext> Api<C> {
    /// Returns the description of the API.
    fn describe(&self) -> &OpenApi {
        self.description.get_or_init(|| {
            let public = list_public_routes::<C>().into_openapi();
            description::describe_api(public, list_operator_routes::<C>().into_openapi())
        })
    }
}

impl<C: ApiContext> Clone for Api<C> {
    fn clone(&self) -> Self {
        Self {
            deps: Arc::clone(&self.deps),
            keys: Arc::clone(&self.keys),
            options: Arc::clone(&self.options),
            last_status: Arc::clone(&self.last_status),
            description: Arc::clone(&self.description),
        }
    }
}

/// Returns the routes that need no token.
fn list_public_routes<C: ApiContext>() -> OpenApiRouter<Api<C>> {
    OpenApiRouter::new()
        .routes(routes!(health::get_health))
        .routes(routes!(whatsapp::get_whatsapp_health))
        .routes(routes!(description::get_openapi))
        .routes(routes!(description::get_docs_page))
        .routes(routes!(description::get_docs_script))
}

/// Returns the routes that need the operators' token.
fn list_operator_routes<C: ApiContext>() -> OpenApiRouter<Api<C>> {
    OpenApiRouter::new()
        .routes(routes!(whatsapp::detailed::get_detailed_whatsapp_health))
        .routes(routes!(dead_letters::get_dlq_health))
        .routes(routes!(
            config::get_configuration,
            config::put_configuration,
            config::post_configuration
        ))
        .routes(routes!(conversations::list_conversations))
        .routes(routes!(
            conversations::get_conversation,
            conversations::patch_conversation
        ))
        .routes(routes!(messages::list_messages, messages::post_answer))
        .routes(routes!(messages::get_message, sends::delete_message))
        .routes(routes!(sends::post_send))
        .routes(routes!(media::post_media))
        .routes(routes!(notices::list_notices))
        .routes(routes!(catch_up::post_catch_up))
        .routes(routes!(
            dead_letters::list_dead_letters,
            dead_letters::mutations::delete_dead_letters
        ))
        .routes(routes!(dead_letters::mutations::redrive_dead_letters))
        .routes(routes!(dead_letters::list_deletions))
        .routes(routes!(
            dead_letters::get_dead_letter,
            dead_letters::mutations::delete_dead_letter
        ))
        .routes(routes!(dead_letters::mutations::redrive_dead_letter))
        .routes(routes!(trace::get_trace))
        .routes(routes!(simulator::list_simulated_outbox))
}

pub(crate) fn api_routes<Ports: Deps + 'static, K: Keys, D: QueueDepths>(
    deps: Arc<Ports>,
    keys: Arc<K>,
    options: ApiOptions<D>,
) -> Router {
    let (public, _) = list_public_routes::<(Ports, K, D)>().split_for_parts();
    let (operators, _) = list_operator_routes::<(Ports, K, D)>().split_for_parts();
    let api = Api {
        deps,
        keys,
        options: Arc::new(options),
        last_status: Arc::default(),
        description: Arc::default(),
    };
    operators
        .route_layer(from_fn_with_state(api.clone(), auth::require_operator))
        .merge(public)
        .with_state(api)
}
