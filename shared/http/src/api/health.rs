//! `/health`.

use super::Api;
use crate::keys::Keys;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_pipeline::World;
use recado_pipeline::health::Status;
use recado_pipeline::ports::{Ambient, Depths};
use serde::Serialize;

/// 503 tells a load balancer or monitor that reads no body.
pub(super) fn code(status: Status) -> StatusCode {
    if status == Status::Unhealthy {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        StatusCode::OK
    }
}

/// Whether the installation works.
#[derive(Debug, Serialize)]
pub(super) struct HealthView {
    status: Status,
    timestamp: Timestamp,
    /// When the store last took a write that was made to prove that it does.
    last_write: Option<Timestamp>,
    services: Services,
}

#[derive(Debug, Serialize)]
struct Services {
    store: Status,
    queue: Status,
}

/// Tells what the process found out by itself, see [`Pulse`](crate::Pulse): the request does not touch the store.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
) -> (StatusCode, Json<HealthView>) {
    let vitals = api.options.pulse.feel(&*api.world, &api.options.depths).await;
    let status = vitals.store.max(vitals.queue);
    let view = HealthView {
        status,
        timestamp: api.world.ambient().now(),
        last_write: vitals.written,
        services: Services {
            store: vitals.store,
            queue: vitals.queue,
        },
    };
    (code(status), Json(view))
}
