//! The function `reconcile`: every minute, enqueues work that has been open too long, and records the messages that the
//! queues dead-lettered by themselves. Then tells alerts. Asked with an empty batch, it only shows that it starts.

use lambda_runtime::{Error, LambdaEvent, service_fn};
use recado_lambda::{AwsComposition, FEATURES, compose_aws_deps, required_variables, telemetry, use_cases};
use serde_json::Value;
use std::time::Duration;

/// Longest time for open work. What is cut off is still due a minute later. With the other two it ends before the function does, so
/// that alerts are told whatever holds the work up.
const WORK_TIMEOUT: Duration = Duration::from_secs(40);

/// Longest time for alerts. The rest is told a minute later.
const ALERTS_TIMEOUT: Duration = Duration::from_secs(12);

/// Longest time for the endpoints of tenants.
const ENDPOINTS_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::start_logging();
    let composed = &compose_aws_deps(&required_variables::RECONCILE, &FEATURES).await?;
    lambda_runtime::run(service_fn(async |event: LambdaEvent<Value>| {
        composed.deps.store.check_format().await?;
        // An empty batch asks only whether the function starts.
        if event.payload.get("Records").is_some() {
            return Ok::<_, Error>(());
        }
        let work = use_cases::reconcile_open_work(&composed.deps);
        let reconciled = tokio::time::timeout(WORK_TIMEOUT, work).await;
        let known = reconciled.as_ref().ok().and_then(|done| done.as_ref().ok());
        tell_alerts(composed, known).await;
        // Where no events are published, none is posted.
        if composed.environment.publishes_events {
            wake_endpoints(composed).await;
        }
        let done = reconciled.map_err(|_| "open work took too long: the rest is done a minute later")??;
        tracing::info!(
            events = done.count_of("events"),
            send_jobs = done.count_of("send_jobs"),
            turns = done.count_of("turns"),
            probes = done.count_of("probes"),
            parked = done.count_of("parked"),
            effects = done.count_of("effects"),
            collected = done.count_of("collected"),
            expired = done.count_of("expired"),
            given_up = done.count_of("given_up"),
            failed = done.failed,
            "reconciled"
        );
        Ok::<_, Error>(())
    }))
    .await
}

/// Wakes the endpoints that have something to be posted. A failure is no failure of the run.
async fn wake_endpoints(composed: &AwsComposition) {
    match tokio::time::timeout(ENDPOINTS_TIMEOUT, use_cases::wake_due_endpoints(&composed.deps)).await {
        Ok(Ok(0)) => {}
        Ok(Ok(woken)) => tracing::info!(woken, "webhook endpoints"),
        Ok(Err(error)) => tracing::error!(%error, "webhook endpoints could not be looked at"),
        Err(_) => tracing::warn!("webhook endpoints took too long: the rest is woken a minute later"),
    }
}

/// Tells alerts. A failure is no failure of the run.
async fn tell_alerts(composed: &AwsComposition, reconciled: Option<&use_cases::ReconcileReport>) {
    match tokio::time::timeout(ALERTS_TIMEOUT, use_cases::tell_alerts(composed, reconciled)).await {
        Ok(Ok((told, delivered))) => tracing::info!(
            fired = told.fired,
            ended = told.ended,
            delivered = delivered.delivered,
            failed = delivered.failed,
            "alerts"
        ),
        Ok(Err(error)) => tracing::error!(%error, "alerts could not be delivered"),
        Err(_) => tracing::warn!("alerts took too long: the rest is delivered a minute later"),
    }
}
