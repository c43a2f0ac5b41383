//! Recado's HTTP interface.
//!
//! [`webhook_router`] serves the providers, [`api_router`] serves operators, monitors and the command line. On AWS each
//! is a function of its own, run by `lambda_http`; on one machine [`whole_router`] serves both. The handlers parse a
//! request, call one use case of `recado-pipeline` and map its result; they decide nothing.
//!
//! Rules that hold for every route: no request's or response's body is logged; every error is
//! `application/problem+json` (RFC 9457); every response carries `X-Correlation-Id` (the client's own if it sent a
//! valid one and proved who it is), `Cache-Control: no-store` and `X-Content-Type-Options: nosniff`.

mod api;
mod background_beats;
mod correlation;
mod event_feed;
mod extra_slashes;
mod health_probe;
mod json_fault;
mod keys;
mod large_bodies;
mod problem;
mod problem_code;
mod push_desk;
mod query;
mod token_limit;
mod webhook;
mod webhook_recording;

pub use api::{
    ApiOptions, ConnectRequest, GaugeReading, MetricsPage, PhonePairing, ProviderSetup, SetupAction,
    SetupAnswer, SetupCheck, SetupError, SetupRequest, api_routes,
};
pub use background_beats::{BackgroundBeats, LoopBeat};
pub use event_feed::EventFeed;
pub use extra_slashes::accept_extra_slashes;
pub use health_probe::HealthProbe;
pub use keys::Keys;
pub use problem::HttpProblem;
pub use push_desk::PushDesk;
pub use recado_whatsapp::SimulatedOutbox;
pub use recado_whatsapp::webhook::WebhookKeys;
pub use token_limit::ClientAddress;
pub use webhook::{WebhookLimits, webhook_routes};
pub use webhook_recording::{ReceivedWebhook, record_webhooks};

use axum::Router;
use recado_pipeline::Deps;
use std::sync::Arc;

/// Returns the providers' routes: `/webhooks/…` and `/api/webhook/…`. Any other path is a 404, and so is a path that no
/// provider has.
pub fn webhook_router(deps: Arc<Deps>, keys: Arc<dyn Keys>, limits: WebhookLimits) -> Router {
    accept_extra_slashes(finish_router(
        webhook_routes(Arc::clone(&deps), keys, limits),
        deps,
    ))
}

/// Returns the operators' routes: `/health`, `/v1/…` and `/simulator/outbox`. Any other path is a 404.
pub fn api_router(deps: Arc<Deps>, keys: Arc<dyn Keys>, options: ApiOptions) -> Router {
    finish_router(api_routes(Arc::clone(&deps), keys, options), deps)
}

/// Joins the providers' routes with those of operators, for an installation on one machine. (Two finished routers cannot be
/// merged: each has a fallback.) What is served goes through [`accept_extra_slashes`] at the end.
pub fn whole_router(webhook: Router, api: Router, deps: Arc<Deps>) -> Router {
    finish_router(webhook.merge(api), deps)
}

fn finish_router(routes: Router, deps: Arc<Deps>) -> Router {
    routes
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::no_such_route)
        .layer(axum::middleware::from_fn_with_state(
            deps,
            correlation::attach_correlation,
        ))
}

#[cfg(test)]
mod tests;
