//! `/health`.

use super::Api;
use crate::keys::Keys;
use crate::problem;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_pipeline::World;
use recado_pipeline::health::Status;
use recado_pipeline::ports::{Ambient, Depths, Instances, PortError};
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
    services: Services,
}

#[derive(Debug, Serialize)]
struct Services {
    store: Status,
    queue: Status,
}

/// Reads one record and the depth of one queue. A store that does not answer is unhealthy; a queue whose depth cannot
/// be read may still take messages, so that is only degraded.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
) -> (StatusCode, Json<HealthView>) {
    let store = match read_a_record(&*api.world).await {
        Ok(()) => Status::Healthy,
        Err(error) => {
            problem::log(&error);
            Status::Unhealthy
        }
    };
    let queue = match api.options.depths.depth(QueueName::Inbound).await {
        Ok(_) => Status::Healthy,
        Err(error) => {
            problem::log(&error);
            Status::Degraded
        }
    };
    let status = store.max(queue);
    let timestamp = api.world.ambient().now();
    (
        code(status),
        Json(HealthView {
            status,
            timestamp,
            services: Services { store, queue },
        }),
    )
}

/// The cheapest strong read there is: the run-time state of an instance that need not exist.
async fn read_a_record<W: World>(world: &W) -> Result<(), PortError> {
    let nobody = InstanceId::parse("health").map_err(|error| PortError::invalid("instance id", error))?;
    world.store().instance_state(&nobody).await.map(drop)
}
