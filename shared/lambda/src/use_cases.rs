//! The use cases over the AWS dependencies, for all functions.
//!
//! Each future is boxed here, once for all functions: in an optimised build a future is compiled by the crate that boxes it, and with all
//! steps that a use case may take it is large.
//!
//! Measured while the use cases were generic over the ports: a build without incremental compilation, in the profile dev, after a change,
//! on four busy cores.
//!
//! | | six functions changed | the pipeline changed | largest and smallest binary, stripped |
//! | --- | --- | --- | --- |
//! | each function calls the use cases itself | 22 s | 42 s | 48 and 36 MB |
//! | wrappers here | 11 s | 34 s | 48 and 36 MB |
//! | one binary with six handlers | 3 s | 26 s | 54 MB |
//!
//! One binary for all functions was rejected, since each would carry the code of all. The cold start of the webhook function, from release
//! builds (`benches/cold_start.py`, 2026-11-23, medians of 15 runs, the two in turns):
//!
//! | | binary; zipped | start to ready; to the first 200 | the same, read from the disk | memory at most |
//! | --- | --- | --- | --- | --- |
//! | a binary of its own | 16.5 MiB; 7.0 MiB | 14.0 ms; 19.8 ms | 26.5 ms; 33.0 ms | 15.3 MiB |
//! | one binary with six handlers | 27.8 MiB; 11.6 MiB | 15.3 ms; 22.3 ms | 39.1 ms; 46.8 ms | 21.1 MiB |

pub use recado_pipeline::reconcile::ReconcileReport;

use crate::AwsDeps;
use crate::batch::BatchMessage;
use crate::compose::AwsComposition;
use crate::emf;
use crate::endpoint_posts::AwsEndpointPosts;
use crate::event::{BatchItemFailure, BatchResponse, StreamEvent};
use crate::keys::AwsKeys;
use crate::push::answer_socket_events;
use crate::social::{self, SocialQueue};
use crate::telemetry::{ANSWER_TARGET, flush_traces};
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use futures::future::BoxFuture;
use recado_alerts::{AlertReport, DeliveryReport};
use recado_aws::{PublishedChanges, StreamRecord};
use recado_console::{ConsoleOptions, console_routes};
use recado_http::{ApiOptions, HealthProbe, ProviderSetup, PushTicketIssuer};
use recado_notify::Notifier;
use recado_pipeline::ports::{PortResult, System};
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message, process, reconcile};
use std::sync::Arc;

/// Applies an event from the queue `inbound`.
pub fn process_event(deps: &AwsDeps, message: BatchMessage) -> BoxFuture<'_, Verdict> {
    Box::pin(async move { process::process(deps, &message.body, message.receives).await })
}

/// Stores and enqueues the events of a message of AWS End User Messaging Social.
pub fn ingest_social_message<'a>(
    deps: &'a AwsDeps,
    queue: &'a SocialQueue,
    message: BatchMessage,
) -> BoxFuture<'a, Verdict> {
    Box::pin(async move { social::ingest_social_message(deps, queue, &message).await })
}

/// Does a job from the queue `turns`.
pub fn run_turns_job(deps: &AwsDeps, message: BatchMessage) -> BoxFuture<'_, Verdict> {
    Box::pin(
        async move { handle_turns_message(deps, &message.body, message.receives, message.deadline).await },
    )
}

/// Does a job from the queue `outbound`.
pub fn run_outbound_job(composed: &AwsComposition, message: BatchMessage) -> BoxFuture<'_, Verdict> {
    Box::pin(async move {
        let (deps, emails) = (&composed.deps, &composed.emails);
        handle_outbound_message(deps, emails, &message.body, message.receives, message.deadline).await
    })
}

/// Publishes changes of the table's records. Returns the change that must come again, if one waits for another.
pub fn publish_changes(
    composed: &AwsComposition,
    event: StreamEvent,
) -> BoxFuture<'_, PortResult<BatchResponse>> {
    Box::pin(async move {
        let deps = &composed.deps;
        let changes = event.into_changes();
        let retention = deps.settings().published_event_ttl;
        let published = deps.store.publish_changes(&changes, retention).await?;
        if let Some(last) = changes.last() {
            wake_endpoints(deps, &published, last).await;
        }
        if let Some(push) = &composed.push {
            push.notify_listeners(&deps.store, &published.listening).await;
        }
        let failures = published
            .come_back
            .map(|item_identifier| BatchItemFailure { item_identifier });
        Ok(BatchResponse {
            batch_item_failures: failures.into_iter().collect(),
        })
    })
}

/// Wakes the endpoints that are told of events which were just published. Of a failure `reconcile` makes up within a minute.
async fn wake_endpoints(deps: &AwsDeps, published: &PublishedChanges, last: &StreamRecord) {
    let woken = async {
        let jobs = recado_endpoints::list_jobs_of_news(deps, published.tenants.iter()).await?;
        deps.queues.enqueue_endpoint_jobs(&jobs, &last.id).await
    };
    if let Err(error) = woken.await {
        tracing::warn!(%error, "webhook endpoints are told of events a minute later");
    }
}

/// Posts to the endpoint that a job from the queue `webhooks` names.
pub fn run_endpoint_job<'a>(
    deps: &'a AwsDeps,
    posts: &'a AwsEndpointPosts,
    message: BatchMessage,
) -> BoxFuture<'a, Verdict> {
    Box::pin(async move {
        recado_endpoints::handle_endpoint_job(deps, posts, &message.body, message.deadline).await
    })
}

/// Wakes all endpoints that have something to be posted, and removes what is known of those that were removed. Returns how many.
pub fn wake_due_endpoints(deps: &AwsDeps) -> BoxFuture<'_, PortResult<usize>> {
    Box::pin(async move {
        recado_endpoints::remove_unknown_states(deps).await?;
        let jobs = recado_endpoints::list_due_jobs(deps).await?;
        let minute = deps.system.now().as_second() / 60;
        deps.queues
            .enqueue_endpoint_jobs(&jobs, &minute.to_string())
            .await?;
        Ok(jobs.len())
    })
}

/// Enqueues work that has been open too long, and writes the metrics.
pub fn reconcile_open_work(deps: &AwsDeps) -> BoxFuture<'_, PortResult<ReconcileReport>> {
    Box::pin(async move {
        let done = Box::pin(reconcile::reconcile(deps)).await;
        emf::write_metrics();
        if let Ok(ReconcileReport {
            sample: Some(sample),
            reading: Some(reading),
            ..
        }) = &done
        {
            emf::write_state(reading, sample);
        }
        done
    })
}

/// Tells alerts of what `reconcile` just read, and delivers the notifications that are due.
pub fn tell_alerts<'a>(
    composed: &'a AwsComposition,
    reconciled: Option<&'a ReconcileReport>,
) -> BoxFuture<'a, PortResult<(AlertReport, DeliveryReport)>> {
    Box::pin(async move {
        let deps = &composed.deps;
        let known = recado_alerts::KnownState {
            disk_free: None,
            reading: reconciled.and_then(|done| done.reading.as_ref()),
            missing_secrets: reconciled.and_then(|done| done.missing_secrets.as_deref()),
        };
        let told = Box::pin(recado_alerts::evaluate_alerts(
            &deps.store,
            &deps.queues,
            &deps.system,
            known,
        ))
        .await?;
        let notifier = Notifier::new(deps, composed.http.clone(), composed.secrets.clone());
        let delivered = recado_alerts::deliver_notifications(&deps.store, &deps.system, &notifier).await?;
        Ok((told, delivered))
    })
}

/// Returns the routes that providers call.
pub fn build_webhook_router(composed: AwsComposition) -> Router {
    let keys = AwsKeys::new(composed.secrets);
    let limits = composed.environment.webhook_limits;
    let router = recado_http::webhook_router(composed.deps.deps, Arc::new(keys), limits);
    router.layer(from_fn(finish_invocation_after))
}

/// Returns the routes that operators call, and answers the events of the WebSocket API. `provider_setup` sets instances up at their
/// providers.
pub fn build_api_router(composed: AwsComposition, provider_setup: ProviderSetup) -> Router {
    let options = ApiOptions {
        public_url: composed.environment.public_url,
        listening_url: None,
        simulator: None,
        metrics: None,
        depths: Arc::new(composed.deps.queues.clone()),
        health_probe: HealthProbe::on_request(),
        asks_models: false,
        provider_setup: Some(provider_setup),
        publishes_events: composed.environment.publishes_events,
        event_feed: None,
        push_ticket_issuer: composed.environment.push_url.as_deref().map(|url| {
            let store = composed.deps.store.clone();
            PushTicketIssuer::new(url, move |tenant| {
                let store = store.clone();
                Box::pin(async move { store.create_push_ticket(tenant.as_ref()).await })
            })
        }),
        endpoint_posts: Some(Arc::new(AwsEndpointPosts::new(composed.secrets.clone()))),
        applies_file: false,
    };
    let (keys, store) = (AwsKeys::new(composed.secrets), composed.deps.store.clone());
    let api = recado_features::api_router(composed.deps.deps, Arc::new(keys), options);
    let console = ConsoleOptions {
        has_event_stream: false,
        push_url: composed.environment.push_url,
        has_text_search: false,
        has_simulator: false,
        file_origin: composed.environment.file_origin,
        one_time_link: None,
    };
    let router = match console_routes(api.clone(), console) {
        Ok(console) => api.merge(console),
        Err(error) => {
            tracing::error!(%error, "the console is left out");
            api
        }
    };
    router
        .layer(from_fn_with_state(store, answer_socket_events))
        .layer(from_fn(finish_invocation_after))
}

/// Name of the event of a request that was answered 5xx. An alarm counts its lines, at every log level.
pub const SERVER_ERROR: &str = "server_error";

/// Returns `true` if an answer is a server error. An answer 503 of `/health` is none: it tells of the installation's state. Nor is a 501:
/// it tells what the installation does not have.
fn is_server_error(path: &str, status: StatusCode) -> bool {
    let is_health = path == "/health" || path.starts_with("/health/");
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED && !is_health
}

/// Answers a request, writes the metrics that are due, and posts its spans.
async fn finish_invocation_after(request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let answer = next.run(request).await;
    if is_server_error(&path, answer.status()) {
        let status = answer.status().as_u16();
        tracing::warn!(target: ANSWER_TARGET, event = SERVER_ERROR, status, "a request was answered with an error of the server");
    }
    emf::write_metrics();
    flush_traces().await;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_says_of_the_installation_is_no_server_error() {
        for (path, status, is_error) in [
            ("/webhooks/evolution", StatusCode::SERVICE_UNAVAILABLE, true),
            ("/healthy", StatusCode::INTERNAL_SERVER_ERROR, true),
            ("/health", StatusCode::SERVICE_UNAVAILABLE, false),
            ("/health/whatsapp", StatusCode::SERVICE_UNAVAILABLE, false),
            ("/v1/config", StatusCode::NOT_FOUND, false),
            ("/v1/events", StatusCode::NOT_IMPLEMENTED, false),
        ] {
            assert_eq!(is_server_error(path, status), is_error, "{path}");
        }
    }
}
