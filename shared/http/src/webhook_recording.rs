//! Hands raw webhooks to a recorder.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use recado_domain::Timestamp;
use recado_domain::provider::Provider;
use recado_pipeline::ports::System;
use recado_whatsapp::webhook_handlers;
use std::sync::{Arc, Mutex, PoisonError};

/// The largest body that is kept, in bytes: more than any webhook may have.
const KEPT_MAX: usize = 16 * 1024 * 1024;

/// A webhook that was answered 200: its proof was valid and its events are stored.
#[derive(Debug, Clone)]
pub struct ReceivedWebhook {
    /// Time at which the webhook had arrived and was answered.
    pub at: Timestamp,
    /// The provider that sent the webhook.
    pub provider: Provider,
    /// The body, unchanged. It may hold credentials of the provider.
    pub body: Bytes,
}

/// Hands every webhook of `router` that is answered 200 to `sink`, which must not block. The handlers do not notice it.
pub fn record_webhooks<A, F>(router: Router, system: A, sink: F) -> Router
where
    A: System + Clone + 'static,
    F: Fn(ReceivedWebhook) + Clone + Send + Sync + 'static,
{
    router.layer(axum::middleware::from_fn_with_state(
        (system, sink),
        capture_webhook::<A, F>,
    ))
}

async fn capture_webhook<A, F>(State((system, sink)): State<(A, F)>, request: Request, next: Next) -> Response
where
    A: System + Clone + 'static,
    F: Fn(ReceivedWebhook) + Clone + Send + Sync + 'static,
{
    let Some(provider) = find_provider(&request) else {
        return next.run(request).await;
    };
    let read = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&read);
    let request = request.map(|body| {
        let seen = body.into_data_stream().inspect(move |chunk| {
            let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
            if let Ok(chunk) = chunk
                && into.len() + chunk.len() <= KEPT_MAX
            {
                into.extend_from_slice(chunk);
            }
        });
        Body::from_stream(seen)
    });
    let response = next.run(request).await;
    let body = std::mem::take(&mut *read.lock().unwrap_or_else(PoisonError::into_inner));
    // A handshake has no body and is not recorded.
    if response.status() == StatusCode::OK && !body.is_empty() {
        sink(ReceivedWebhook {
            at: system.now(),
            provider,
            body: body.into(),
        });
    }
    response
}

/// Returns the provider whose webhook a request is for; `None` if it is for none.
fn find_provider(request: &Request) -> Option<Provider> {
    let path = request.extensions().get::<MatchedPath>()?.as_str();
    webhook_handlers()
        .find(|(_, handler)| handler.paths().contains(&path))
        .map(|(provider, _)| provider)
}
