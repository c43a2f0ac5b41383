//! `/health`.

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

/// 503 tells a load balancer or monitor that reads no body.
pub(super) fn health_status_code(status: HealthStatus) -> StatusCode {
    if status == HealthStatus::Unhealthy {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    }
}

/// Whether the installation works.
#[derive(Debug, Serialize)]
pub(super) struct HealthView {
    status: HealthStatus,
    timestamp: Timestamp,
    /// When the store last took a write that was made to prove that it does.
    last_write: Option<Timestamp>,
    services: ServicesView,
}

#[derive(Debug, Serialize)]
struct ServicesView {
    store: HealthStatus,
    queue: HealthStatus,
}

/// Tells what the process found out by itself, see [`HealthProbe`](crate::HealthProbe): the request does not touch the store.
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
