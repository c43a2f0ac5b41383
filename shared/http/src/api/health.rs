//! `/health` and `/health/whatsapp`.

use super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::{self, Problem};
use crate::query::Params;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::Timestamp;
use recado_domain::config::Instance;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::Provider;
use recado_domain::ids::InstanceId;
use recado_domain::instance::Connection;
use recado_pipeline::World;
use recado_pipeline::ports::{Ambient, DeadLetters, Directory, Instances, PortError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More waiting messages than this are a reason to look, and than that a reason to act.
const DEPTH_DEGRADED: u64 = 100;
const DEPTH_UNHEALTHY: u64 = 1000;

/// How many instances are looked at side by side.
const READS_AT_ONCE: usize = 16;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Healthy,
    Degraded,
    Unhealthy,
}

impl Health {
    /// 503 tells a load balancer or monitor that reads no body.
    fn code(self) -> StatusCode {
        if self == Self::Unhealthy {
            StatusCode::SERVICE_UNAVAILABLE
        } else {
            StatusCode::OK
        }
    }
}

/// Whether the installation works.
#[derive(Debug, Serialize)]
pub(super) struct HealthView {
    status: Health,
    timestamp: Timestamp,
    services: Services,
}

#[derive(Debug, Serialize)]
struct Services {
    store: Health,
    queue: Health,
}

/// Reads one record and the depth of one queue. A store that does not answer is unhealthy; a queue whose depth cannot
/// be read may still take messages, so that is only degraded.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
) -> (StatusCode, Json<HealthView>) {
    let store = match read_a_record(&*api.world).await {
        Ok(()) => Health::Healthy,
        Err(error) => {
            problem::log(&error);
            Health::Unhealthy
        }
    };
    let queue = match api.options.depths.depth(QueueName::Inbound).await {
        Ok(_) => Health::Healthy,
        Err(error) => {
            problem::log(&error);
            Health::Degraded
        }
    };
    let status = store.max(queue);
    let timestamp = api.world.ambient().now();
    (
        status.code(),
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

/// Which instances are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    instance: Option<InstanceId>,
}

/// How the way to WhatsApp is.
#[derive(Debug, Serialize)]
pub(super) struct WhatsappView {
    status: Health,
    /// What waits in all queues together.
    queue_depth: u64,
    queues: BTreeMap<&'static str, u64>,
    /// How many instances are in which state.
    connection: BTreeMap<&'static str, u64>,
    dead_letters: u64,
    instances: Vec<InstanceView>,
}

#[derive(Debug, Serialize)]
struct InstanceView {
    id: InstanceId,
    provider: Provider,
    connection: &'static str,
    since: Option<Timestamp>,
    llm_needs_credentials: bool,
    dead_letters: u64,
}

/// Each instance's connection, what waits, what was given up; `?instance=` narrows all but the queues, which instances
/// share. Over 100 waiting, or an instance that is not connected: degraded. Over 1000: unhealthy, with 503.
pub(super) async fn whatsapp<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(wanted): Params<Wanted>,
) -> Result<(StatusCode, Json<WhatsappView>), Problem> {
    let world = &*api.world;
    let configured = world.store().configuration().await?.instances;
    let fits = |instance: &Instance| wanted.instance.as_ref().is_none_or(|id| *id == instance.id);
    let chosen: Vec<Instance> = configured.into_iter().filter(fits).collect();
    if wanted.instance.is_some() && chosen.is_empty() {
        return Err(Problem::not_found("there is no such instance"));
    }
    let mut queues = BTreeMap::new();
    for queue in QueueName::ALL {
        queues.insert(queue.as_str(), api.options.depths.depth(queue).await?);
    }
    let queue_depth = queues.values().sum();
    let dead_letters = world.store().count_dead_letters(wanted.instance.as_ref()).await?;
    let looks = chosen.into_iter().map(|instance| look_at(world, instance));
    let instances: Vec<InstanceView> = stream::iter(looks).buffered(READS_AT_ONCE).try_collect().await?;
    let mut connection = BTreeMap::from([(Connection::Open.as_str(), 0), (Connection::Closed.as_str(), 0)]);
    for instance in &instances {
        *connection.entry(instance.connection).or_insert(0) += 1;
    }
    let all_well = instances.iter().all(InstanceView::works);
    let status = judge(queue_depth, all_well);
    let view = WhatsappView {
        status,
        queue_depth,
        queues,
        connection,
        dead_letters,
        instances,
    };
    Ok((status.code(), Json(view)))
}

async fn look_at<W: World>(world: &W, instance: Instance) -> Result<InstanceView, PortError> {
    let state = world.store().instance_state(&instance.id).await?;
    let dead_letters = world.store().count_dead_letters(Some(&instance.id)).await?;
    Ok(InstanceView {
        id: instance.id,
        provider: instance.provider,
        connection: state.connection.as_str(),
        since: state.since,
        llm_needs_credentials: state.llm_needs_credentials,
        dead_letters,
    })
}

impl InstanceView {
    fn works(&self) -> bool {
        self.connection == Connection::Open.as_str() && !self.llm_needs_credentials
    }
}

fn judge(depth: u64, all_well: bool) -> Health {
    if depth > DEPTH_UNHEALTHY {
        Health::Unhealthy
    } else if depth > DEPTH_DEGRADED || !all_well {
        Health::Degraded
    } else {
        Health::Healthy
    }
}
