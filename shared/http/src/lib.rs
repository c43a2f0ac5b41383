//! Recado's HTTP interface.
//!
//! [`webhook_router`] serves the providers; `recado_features::api_router` serves operators, monitors and the command line. On AWS
//! each is a function of its own, run by `lambda_http`; on one machine [`whole_router`] serves both. A handler lies in the room of its
//! feature, or in [`api`]: it parses a request, calls one use case and maps its result, and decides nothing.
//!
//! Rules that hold for every route: no request's or response's body is logged; every error is
//! `application/problem+json` (RFC 9457); every response carries `X-Correlation-Id` (the client's own if it sent a
//! valid one and proved who it is), `Cache-Control: no-store` and `X-Content-Type-Options: nosniff`.

pub mod api;
pub mod body;
mod correlation;
pub mod event_feed;
mod extra_slashes;
mod health_probe;
mod json_fault;
mod keys;
mod large_bodies;
mod loop_watchdog;
pub mod problem;
pub mod problem_code;
mod push_ticket_issuer;
pub mod token_limit;
mod webhook;
mod webhook_recording;

pub use crate::api::context::ApiOptions;
pub use crate::api::metrics_page::{GaugeReading, MetricsPage};
pub use crate::api::provider_setup::{
    ConnectRequest, PhonePairing, ProviderSetup, SetupAction, SetupAnswer, SetupCheck, SetupError,
    SetupRequest,
};
pub use crate::event_feed::EventFeed;
pub use crate::extra_slashes::accept_extra_slashes;
pub use crate::health_probe::HealthProbe;
pub use crate::keys::Keys;
pub use crate::loop_watchdog::{LoopWatchdog, WatchedLoop};
pub use crate::problem::HttpProblem;
pub use crate::push_ticket_issuer::PushTicketIssuer;
pub use crate::token_limit::ClientAddress;
pub use crate::webhook::{WebhookLimits, webhook_routes};
pub use crate::webhook_recording::{ReceivedWebhook, record_webhooks};
pub use recado_whatsapp::SimulatedOutbox;
pub use recado_whatsapp::webhook::WebhookKeys;

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

/// Joins the providers' routes with those of operators, for an installation on one machine. (Two finished routers cannot be
/// merged: each has a fallback.) What is served goes through [`accept_extra_slashes`] at the end.
pub fn whole_router(webhook: Router, api: Router, deps: Arc<Deps>) -> Router {
    finish_router(webhook.merge(api), deps)
}

/// Adds the answers to unknown paths and methods, and the correlation id.
pub fn finish_router(routes: Router, deps: Arc<Deps>) -> Router {
    routes
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::no_such_route)
        .layer(axum::middleware::from_fn_with_state(
            deps,
            correlation::attach_correlation,
        ))
}
