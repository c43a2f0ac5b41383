//! `GET /health/whatsapp/detailed`: the health with what a person needs to find a cause.

use crate::health::InstanceHealth;
use crate::whatsapp_health::{DepthMarks, InstanceView, MARKS, read_health, shared_status_code};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::health::HealthStatus;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{InstanceState, MessagingLimit};
use recado_http::api::pieced_json::PiecedJson;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::NotFound;
use recado_http::api::request::{Asked, InstanceQuery, QueryParams};
use recado_http::problem::HttpProblem;
use recado_pipeline::steps::open_work::OpenWorkCounts;
use serde::Serialize;
use std::collections::BTreeMap;

/// The health of all instances, with the details that a person needs to find a cause.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DetailedView {
    status: HealthStatus,
    timestamp: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<InstanceId>,
    queue_depth: u64,
    evolution_connected: bool,
    dlq_depth: u64,
    details: DepthMarks,
    queues: BTreeMap<&'static str, QueueView>,
    #[serde(flatten)]
    waiting: WaitingView,
    instances: Vec<DetailedInstanceView>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct QueueView {
    waiting: u64,
    in_flight: u64,
    delayed: u64,
    /// Absent if the queue does not report it (SQS).
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_message_age_seconds: Option<i64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct WaitingView {
    /// `true` if the counts below stopped at their limit, so that there may be more.
    at_least: bool,
    /// The number of open outgoing messages and pending events.
    open: u64,
    oldest_message_age_seconds: Option<i64>,
    in_flight: u64,
    unknown: u64,
    parked_conversations: u64,
    attempts: BTreeMap<u32, u64>,
}

impl WaitingView {
    fn from_waiting(waiting: &OpenWorkCounts, at_least: bool, now: Timestamp) -> Self {
        Self {
            at_least,
            open: waiting.depth,
            oldest_message_age_seconds: age_seconds(waiting.oldest, now),
            in_flight: waiting.sending,
            unknown: waiting.unknown,
            parked_conversations: waiting.parked,
            attempts: waiting.attempts.clone(),
        }
    }
}

fn age_seconds(since: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    since.map(|since| (now.as_second() - since.as_second()).max(0))
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct DetailedInstanceView {
    #[serde(flatten)]
    summary: InstanceView,
    #[serde(flatten)]
    waiting: WaitingView,
    rate: RateView,
    probes: ProbesView,
    /// The standing of the number at WhatsApp; absent if nobody told.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<NumberView>,
}

/// The standing of a number at WhatsApp, as Meta told it within the last hour.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct NumberView {
    /// `green`, `yellow`, `red` or `unknown`.
    quality: &'static str,
    quality_since: Timestamp,
    /// People to whom the business portfolio may write first within 24 hours; `null`: not told, or any number.
    people_per_day: Option<u32>,
    /// `true` if there is no limit.
    unlimited: bool,
    /// The higher limit before it fell.
    people_per_day_before: Option<u32>,
    limit_fell_at: Option<Timestamp>,
    /// People of the last 24 hours to whom batches wrote, if this instance keeps the portfolio's budget.
    campaign_people: u64,
    told_at: Timestamp,
}

impl NumberView {
    fn from_state(state: &InstanceState, now: Timestamp) -> Option<Self> {
        let standing = state.standing?;
        Some(Self {
            quality: standing.quality.as_str(),
            quality_since: standing.since,
            people_per_day: standing.limit.and_then(MessagingLimit::people),
            unlimited: standing.limit == Some(MessagingLimit::Unlimited),
            people_per_day_before: standing.limit_before.and_then(MessagingLimit::people),
            limit_fell_at: standing.fell_at,
            campaign_people: state.campaigns.count_people(now),
            told_at: standing.told_at,
        })
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RateView {
    /// Messages per second in the long run.
    per_second: f64,
    /// Number of messages that may leave at once after a pause.
    burst: u32,
    /// The earliest time at which a message that was enqueued now could be sent.
    next_slot: Timestamp,
}

/// The probes of a closed instance: they ask the provider whether the instance can send again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct ProbesView {
    /// The number of probes that found the instance unchanged.
    failed: u32,
    next: Option<Timestamp>,
    /// The number of time-outs and of attempts that did not reach the provider, in a row. Two close the instance.
    /// Several of the same message count once.
    timeouts: u32,
}

/// Returns the health of all instances with its details.
///
/// These are the age of the oldest message, what is in flight, unknown and parked, the attempts so far, rates and
/// probes.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/health/whatsapp/detailed",
    params(InstanceQuery),
    responses(
        (status = 200, body = DetailedView, description = "Healthy or degraded"),
        (status = 503, body = DetailedView, description = "Unhealthy"),
        NotFound
    )
))]
pub async fn get_detailed_whatsapp_health(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<InstanceQuery>,
) -> Result<(StatusCode, PiecedJson<DetailedView>), HttpProblem> {
    let now = api.deps.system().now();
    let mut instances = Vec::new();
    let mut show = |one: &InstanceHealth| instances.push(show_instance(one, now));
    let found = read_health(&api, &caller, &wanted, &mut show).await?;
    for one in &mut instances {
        one.waiting.at_least = found.at_least;
    }
    let shared = found.shared && wanted.instance.is_none();
    let mut queues = BTreeMap::new();
    for (queue, depth) in &found.queues {
        let view = QueueView {
            waiting: depth.waiting,
            in_flight: depth.in_flight,
            delayed: depth.delayed,
            oldest_message_age_seconds: age_seconds(depth.oldest, now),
        };
        queues.insert(queue.as_str(), view);
    }
    let view = DetailedView {
        status: found.status,
        timestamp: found.at,
        instance: wanted.instance,
        queue_depth: found.depth,
        evolution_connected: found.connected,
        dlq_depth: found.dead_letters,
        details: MARKS,
        queues,
        waiting: WaitingView::from_waiting(&found.waiting, found.at_least, now),
        instances,
    };
    Ok((shared_status_code(found.status, shared), PiecedJson(view)))
}

/// Shows an instance. Whether its counts are lower bounds is known in the end.
fn show_instance(one: &InstanceHealth, now: Timestamp) -> DetailedInstanceView {
    DetailedInstanceView {
        summary: InstanceView::from_health(one),
        waiting: WaitingView::from_waiting(&one.waiting, false, now),
        rate: RateView {
            per_second: one.rate.per_second,
            burst: one.rate.burst,
            next_slot: one.next_slot,
        },
        probes: ProbesView {
            failed: one.state.probes,
            next: one.state.next_probe_at(),
            timeouts: one.state.timeouts,
        },
        number: NumberView::from_state(&one.state, now),
    }
}
