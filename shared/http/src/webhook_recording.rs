//! Raw webhooks, handed to whoever records them.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use recado_domain::Timestamp;
use recado_domain::provider::Provider;
use recado_pipeline::ports::System;
use recado_whatsapp::webhook::provider_for_path;
use std::sync::{Arc, Mutex, PoisonError};

/// Larger bodies are not kept, in bytes: more than any webhook may have.
const KEPT_MAX: usize = 16 * 1024 * 1024;

/// A webhook that was answered 200: authentic, and safe.
#[derive(Debug, Clone)]
pub struct ReceivedWebhook {
    /// When it had come.
    pub at: Timestamp,
    /// From whom.
    pub provider: Provider,
    /// Its body, as it came. It may hold credentials of the provider.
    pub body: Bytes,
}

/// Hands every webhook of `router` that is answered 200 to `sink`, which must not wait. The handlers see nothing of it.
pub fn record_webhooks<A, F>(router: Router, ambient: A, sink: F) -> Router
where
    A: System + Clone + 'static,
    F: Fn(ReceivedWebhook) + Clone + Send + Sync + 'static,
{
    router.layer(axum::middleware::from_fn_with_state(
        (ambient, sink),
        capture_webhook::<A, F>,
    ))
}

async fn capture_webhook<A, F>(
    State((ambient, sink)): State<(A, F)>,
    request: Request,
    next: Next,
) -> Response
where
    A: System + Clone + 'static,
    F: Fn(ReceivedWebhook) + Clone + Send + Sync + 'static,
{
    let Some(provider) = provider_for_path(request.uri().path()) else {
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
    // The handshake has no body.
    if response.status() == StatusCode::OK && !body.is_empty() {
        sink(ReceivedWebhook {
            at: ambient.now(),
            provider,
            body: body.into(),
        });
    }
    response
}
