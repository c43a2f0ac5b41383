//! `GET /health`: the health of the installation.

use super::ApiState;
use crate::keys::Keys;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_pipeline::Deps;
use recado_pipeline::health::HealthStatus;
use recado_pipeline::ports::{QueueDepths, System};
use serde::Serialize;

/// Returns 503 for `Unhealthy`, else 200: a load balancer or monitor that reads no body understands the code.
pub(super) fn health_status_code(status: HealthStatus) -> StatusCode {
    if status == HealthStatus::Unhealthy {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    }
}

/// The health of the installation.
#[derive(Debug, Serialize)]
pub(super) struct HealthView {
    status: HealthStatus,
    timestamp: Timestamp,
    /// Time of the last successful write that was made to prove that the store accepts writes.
    last_write: Option<Timestamp>,
    services: ServicesView,
}

#[derive(Debug, Serialize)]
struct ServicesView {
    store: HealthStatus,
    queue: HealthStatus,
}

/// Returns the result of the process's own checks, see [`HealthProbe`](crate::HealthProbe). The request itself does not
/// touch the store, except in a process that checks on request.
pub(super) async fn get_health<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
) -> (StatusCode, Json<HealthView>) {
    let vitals = api
        .options
        .health_probe
        .probe_if_stale(&*api.deps, &api.options.depths)
        .await;
    let status = vitals.store.max(vitals.queue);
    let view = HealthView {
        status,
        timestamp: api.deps.system().now(),
        last_write: vitals.written,
        services: ServicesView {
            store: vitals.store,
            queue: vitals.queue,
        },
    };
    (health_status_code(status), Json(view))
}
