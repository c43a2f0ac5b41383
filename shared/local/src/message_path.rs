//! The message's path over HTTP: webhooks, and the connections by which they come.
//!
//! In a release a future is compiled by the crate that boxes it. This crate is compiled to be fast, and `functions/local`, which has the work that
//! no message waits for, to be small.

use crate::keyring::Keyring;
use crate::server::{ServerLimits, serve_connections};
use axum::Router;
use futures::future::BoxFuture;
use recado_http::{WebhookLimits, webhook_routes, whole_router};
use recado_pipeline::Deps;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Joins the providers' routes with those of operators.
pub fn add_webhook_routes(deps: &Arc<Deps>, keyring: &Keyring, limits: WebhookLimits, api: Router) -> Router {
    let webhook = webhook_routes(Arc::clone(deps), Arc::new(keyring.clone()), limits);
    whole_router(webhook, api, Arc::clone(deps))
}

/// Serves until `closing` is `true`, then finishes the requests that are under way.
pub fn serve_requests(
    listener: TcpListener,
    router: Router,
    limits: ServerLimits,
    closing: watch::Receiver<bool>,
) -> BoxFuture<'static, ()> {
    Box::pin(serve_connections(listener, router, limits, closing))
}
