//! `GET /health/whatsapp`: the health of the instances and queues.

pub mod detailed;

use crate::health::{DEPTH_DEGRADED, DEPTH_UNHEALTHY, Health, InstanceHealth, assess_health};
use crate::health_routes::health_status_code;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use recado_domain::Timestamp;
use recado_domain::access::{Caller, ConsoleRequest};
use recado_domain::dead_letter::QueueName;
use recado_domain::health::HealthStatus;
use recado_domain::ids::InstanceId;
use recado_domain::instance::ConnectionStatus;
use recado_domain::provider::Provider;
use recado_http::api::auth::{check_permission, identify_asker};
use recado_http::api::context::Api;
use recado_http::api::pieced_json::PiecedJson;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::public_status::StatusView;
use recado_http::api::request::{InstanceQuery, QueryParams};
use recado_http::problem::HttpProblem;
use recado_pipeline::ports::QueueDepth;
use serde::Serialize;
use std::collections::BTreeMap;

/// Returns the status as an HTTP code. 503 is sent only for one instance, or for an installation of one tenant: where
/// several tenants share it, one tenant's backlog must not make a load balancer remove what the others use.
fn shared_status_code(status: HealthStatus, shared: bool) -> StatusCode {
    if shared {
        StatusCode::OK
    } else {
        health_status_code(status)
    }
}

/// The health of all instances and of the queues.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WhatsappView {
    status: HealthStatus,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<InstanceId>,
    queue_depth: u64,
    /// `true` if `queue_depth` and the ages are lower bounds.
    at_least: bool,
    evolution_connected: bool,
    /// `true` if the disk of the installation has less room than it should: webhooks may be refused. Absent if it has room.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    disk_full: bool,
    dlq_depth: u64,
    /// The number of messages in each queue, for all tenants together. Empty with a token of one tenant.
    queues: BTreeMap<&'static str, u64>,
    /// The number of instances in each connection state.
    connection: BTreeMap<&'static str, u64>,
    /// Always equal to `dlq_depth`.
    dead_letters: u64,
    details: DepthMarks,
    instances: Vec<InstanceView>,
}

/// The queue depths from which the status is degraded or unhealthy.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DepthMarks {
    queue_high_water_mark: u64,
    queue_critical_mark: u64,
}

const MARKS: DepthMarks = DepthMarks {
    queue_high_water_mark: DEPTH_DEGRADED,
    queue_critical_mark: DEPTH_UNHEALTHY,
};

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct InstanceView {
    id: InstanceId,
    provider: Provider,
    status: HealthStatus,
    #[cfg_attr(feature = "schema", schema(value_type = ConnectionStatus))]
    connection: &'static str,
    since: Option<Timestamp>,
    /// The time at which its provider was last asked for its state, or accepted a message. Absent if that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    looked_at: Option<Timestamp>,
    /// The answer with which the provider refuses every message: they wait, and one is tried now and then. Absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    /// Time before which no message goes to people who never wrote, because WhatsApp refused one. Absent if they go.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_contacts_from: Option<Timestamp>,
    /// The time since which the instance has received nothing at hours at which people usually write.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_since: Option<Timestamp>,
    /// `true` if the model's key is missing or was refused: turns wait.
    llm_needs_credentials: bool,
    /// The time since which the model fails, whoever writes: contacts get the error message. Absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_fails_since: Option<Timestamp>,
    /// `true` if the instance is simulated: no phone gets its messages.
    simulated: bool,
    queue_depth: u64,
    dead_letters: u64,
}

impl InstanceView {
    fn from_health(one: &InstanceHealth) -> Self {
        Self {
            id: one.instance.id.clone(),
            provider: one.instance.provider,
            status: one.status,
            connection: one.state.connection.as_str(),
            since: one.state.since,
            looked_at: one.looked_at,
            first_contacts_from: one.state.first_contacts_from,
            refusal: one.state.refusal().map(|run| run.why.clone()),
            silent_since: one.state.inactive_since(),
            llm_needs_credentials: one.state.llm_needs_credentials,
            model_fails_since: one.state.failing_model().map(|run| run.since),
            simulated: one.simulated,
            queue_depth: one.waiting.depth,
            dead_letters: one.dead_letters,
        }
    }
}

/// The health of all instances; without a token the status alone.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum WhatsappHealthAnswer {
    Details(Box<WhatsappView>),
    Status(StatusView),
}

/// The path by which the table of permissions names this route.
pub const ROUTE: &str = "/health/whatsapp";

type HealthAnswer = Result<(StatusCode, PiecedJson<WhatsappHealthAnswer>), HttpProblem>;

/// Returns the health of all instances, or with a token also the details.
///
/// Each connection, the waiting messages and the dead letters. `?instance=` narrows everything except the queues, which
/// all instances share. More than 100 waiting messages, an instance that is not connected, or one whose model fails:
/// degraded. More than 1000, or a full disk: unhealthy, with 503 unless several tenants share the installation. A request
/// without a token gets `status` and `timestamp` alone. With a token of one tenant, everything is about that tenant.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/health/whatsapp",
    params(InstanceQuery),
    security((), ("operator_token" = [])),
    responses(
        (status = 200, body = WhatsappHealthAnswer, description = "Healthy or degraded"),
        (status = 503, body = WhatsappHealthAnswer, description = "Unhealthy"),
        NotFound
    )
))]
pub async fn get_whatsapp_health(
    State(api): State<Api>,
    console: Option<Extension<ConsoleRequest>>,
    headers: HeaderMap,
    QueryParams(wanted): QueryParams<InstanceQuery>,
) -> HealthAnswer {
    // A request for one instance always needs the token: strangers must not learn which instances exist.
    let is_stranger = console.is_none() && !headers.contains_key(header::AUTHORIZATION);
    if wanted.instance.is_none() && is_stranger {
        return get_public_status(&api).await;
    }
    let console = console.as_ref().map(|Extension(console)| console);
    let caller = identify_asker(&api, console, &headers).await?;
    check_permission(&api, &caller, &Method::GET, ROUTE)?;
    let mut connection = BTreeMap::from([
        (ConnectionStatus::Open.as_str(), 0),
        (ConnectionStatus::Closed.as_str(), 0),
    ]);
    let mut instances = Vec::new();
    let found = read_health(&api, &caller, &wanted, &mut |one| {
        *connection.entry(one.state.connection.as_str()).or_insert(0) += 1;
        instances.push(InstanceView::from_health(one));
    })
    .await?;
    let shared = found.shared && wanted.instance.is_none();
    let depth = |(queue, depth): (&QueueName, &QueueDepth)| (queue.as_str(), depth.total_messages());
    let view = WhatsappView {
        status: found.status,
        timestamp: found.at,
        instance: wanted.instance,
        queue_depth: found.depth,
        at_least: found.at_least,
        evolution_connected: found.connected,
        disk_full: api.options.health_probe.is_disk_full(),
        dlq_depth: found.dead_letters,
        queues: found.queues.iter().map(depth).collect(),
        connection,
        dead_letters: found.dead_letters,
        details: MARKS,
        instances,
    };
    let answer = WhatsappHealthAnswer::Details(Box::new(view));
    Ok((shared_status_code(found.status, shared), PiecedJson(answer)))
}

async fn read_health(
    api: &Api,
    caller: &Caller,
    wanted: &InstanceQuery,
    show: &mut (dyn FnMut(&InstanceHealth) + Send),
) -> Result<Health, HttpProblem> {
    let instance = wanted.instance.as_ref();
    let mut health = assess_health(&api.deps, &*api.options.depths, caller, instance, show)
        .await?
        .ok_or_else(|| HttpProblem::not_found("there is no such instance"))?;
    if api.options.health_probe.is_disk_full() {
        health.status = HealthStatus::Unhealthy;
    }
    Ok(health)
}

async fn get_public_status(api: &Api) -> HealthAnswer {
    let kept = api.last_status.get_if_fresh(api.deps.system().now());
    let view = if let Some(view) = kept {
        view
    } else {
        let all = Caller::installation();
        let found = read_health(api, &all, &InstanceQuery { instance: None }, &mut |_| {}).await?;
        let view = StatusView {
            status: found.status,
            timestamp: found.at,
            shared: found.shared,
        };
        api.last_status.store_status(view);
        view
    };
    let status = shared_status_code(view.status, view.shared);
    Ok((status, PiecedJson(WhatsappHealthAnswer::Status(view))))
}
