//! `GET /health`: the health of the installation.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::health::HealthStatus;
use recado_http::api::context::Api;
use serde::Serialize;

/// Returns 503 for `Unhealthy`, else 200: a load balancer or monitor that reads no body understands the code.
pub fn health_status_code(status: HealthStatus) -> StatusCode {
    if status == HealthStatus::Unhealthy {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    }
}

/// The health of the installation.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct HealthView {
    status: HealthStatus,
    /// The reason why the status is `unhealthy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'static str>,
    timestamp: Timestamp,
    /// Time of the last successful write that was made to prove that the store accepts writes.
    last_write: Option<Timestamp>,
    /// Time of the oldest webhook that was acknowledged and is not recorded yet. Absent if none waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_unrecorded: Option<Timestamp>,
    services: ServicesView,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ServicesView {
    store: HealthStatus,
    queue: HealthStatus,
    /// Absent if the records are not on a disk of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<HealthStatus>,
    /// The workers of the queues and what runs by the clock. Absent if they run in no process of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<HealthStatus>,
}

/// Returns the health of the process, for load balancers.
///
/// `status` is `unhealthy`, and the answer a 503, if no test write to the store succeeded in the last 10 seconds, if
/// the disk has less free space than it should, if a webhook that was acknowledged is not recorded after 5 minutes, or if the work
/// in the background stands still. The request itself does not touch the store, except in a process that checks on request.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/health",
        responses(
        (status = 200, body = HealthView, description = "The store takes writes, and the work in the background goes on"),
        (status = 503, body = HealthView, description = "The store takes no writes, or the work in the background stands still")
    )
))]
pub async fn get_health(State(api): State<Api>) -> (StatusCode, Json<HealthView>) {
    let result = api
        .options
        .health_probe
        .probe_if_stale(&api.deps, &*api.options.depths)
        .await;
    let disk = result.disk.unwrap_or(HealthStatus::Healthy);
    let background = result.background.unwrap_or(HealthStatus::Healthy);
    let states = [
        (disk, "the disk is full"),
        (result.store, "the store takes no writes"),
        (result.queue, "acknowledged webhooks are not recorded"),
        (background, "the work in the background stands still"),
    ];
    let worst = states.iter().map(|(state, _)| *state).max();
    let worst = worst.unwrap_or(HealthStatus::Healthy);
    let unhealthy = states.iter().find(|(state, _)| *state == HealthStatus::Unhealthy);
    let problem = unhealthy.map(|(_, problem)| *problem);
    let view = HealthView {
        status: worst,
        problem,
        timestamp: api.deps.system().now(),
        last_write: result.written,
        oldest_unrecorded: result.oldest_intake,
        services: ServicesView {
            store: result.store,
            queue: result.queue,
            disk: result.disk,
            background: result.background,
        },
    };
    (health_status_code(worst), Json(view))
}
