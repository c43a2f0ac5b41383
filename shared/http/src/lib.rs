//! Recado's HTTP surface.
//!
//! [`webhook_router`] is what providers call, [`api_router`] what operators, monitors and the command line call. On AWS
//! each is a function of its own, run by `lambda_http`; on one machine [`whole_router`] serves both. The handlers parse,
//! call one use case of `recado-pipeline` and map its result; they decide nothing.
//!
//! Rules that hold for every route: no request's or response's body is logged; every error is `application/problem+json`
//! (RFC 9457); every response carries `X-Correlation-Id` (the client's own if it sent a sound one and showed who it is),
//! `Cache-Control: no-store` and `X-Content-Type-Options: nosniff`.

mod api;
mod correlation;
mod keys;
mod large;
mod problem;
mod pulse;
mod query;
mod record;
mod webhook;

pub use api::ApiOptions;
pub use keys::Keys;
pub use problem::Problem;
pub use pulse::Pulse;
pub use recado_whatsapp::SimulatedOutbox;
pub use recado_whatsapp::webhook::WebhookKeys;
pub use record::{ReceivedWebhook, recorded};
pub use webhook::WebhookLimits;

use axum::Router;
use recado_pipeline::World;
use recado_pipeline::ports::Depths;
use std::sync::Arc;

/// The providers' side: `/webhooks/…` and `/api/webhook/…`. Any other path is a 404, and so is one that no provider has.
pub fn webhook_router<W: World + 'static, K: Keys>(
    world: Arc<W>,
    keys: Arc<K>,
    limits: WebhookLimits,
) -> Router {
    finish(webhook::routes(Arc::clone(&world), keys, limits), world)
}

/// The operators' side: `/health`, `/v1/…`, `/simulator/outbox`. Any other path is a 404.
pub fn api_router<W: World + 'static, K: Keys, D: Depths>(
    world: Arc<W>,
    keys: Arc<K>,
    options: ApiOptions<D>,
) -> Router {
    finish(api::routes(Arc::clone(&world), keys, options), world)
}

/// Both sides in one router: what one machine serves. (Two finished routers cannot be merged: each has a fallback.)
pub fn whole_router<W: World + 'static, K: Keys, D: Depths>(
    world: Arc<W>,
    keys: Arc<K>,
    limits: WebhookLimits,
    options: ApiOptions<D>,
) -> Router {
    let webhook = webhook::routes(Arc::clone(&world), Arc::clone(&keys), limits);
    finish(
        webhook.merge(api::routes(Arc::clone(&world), keys, options)),
        world,
    )
}

fn finish<W: World + 'static>(routes: Router, world: Arc<W>) -> Router {
    routes
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::no_such_route)
        .layer(axum::middleware::from_fn_with_state(
            world,
            correlation::follow::<W>,
        ))
}

#[cfg(test)]
mod tests;
