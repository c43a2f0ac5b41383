//! Health of the installation for monitors: waiting messages, connected instances and dead letters. The result contains
//! no text and no address of a contact, and no decision of Recado depends on it.

use crate::Deps;
use crate::ports::{
    ConfigurationStore, DeadLetterCounts, DeadLetters, Gauges, InstanceStates, OpenWork, PortError,
    PortResult, Providers, QueueDepth, QueueDepths, System,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::config::{Instance, RESERVED_INSTANCE};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::rate::Rate;
use std::collections::BTreeMap;

/// Number of waiting messages above which the health is degraded: a person should look.
pub const DEPTH_DEGRADED: u64 = 100;
/// Number of waiting messages above which the health is unhealthy: a person should act.
pub const DEPTH_UNHEALTHY: u64 = 1000;

/// Maximum number of open records of each kind that are read, approximately.
const OPEN_WORK_LIMIT: usize = 2_000;

/// Number of instances that are assessed side by side.
const READS_AT_ONCE: usize = 16;

/// The health of an instance or of the installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// Everything works.
    Healthy,
    /// Messages are sent and received, but a person should look.
    Degraded,
    /// Messages are not sent or received as they should.
    Unhealthy,
}

/// Judges the health by the number of waiting messages and by `all_well`. Dead letters are reported separately and do
/// not count here.
pub fn judge_health(depth: u64, all_well: bool) -> HealthStatus {
    if depth > DEPTH_UNHEALTHY {
        HealthStatus::Unhealthy
    } else if depth > DEPTH_DEGRADED || !all_well {
        HealthStatus::Degraded
    } else {
        HealthStatus::Healthy
    }
}

/// The counts of open records, of one instance or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWorkCounts {
    /// Number of open outgoing messages and pending events.
    pub depth: u64,
    /// Number of outgoing messages that are being sent.
    pub sending: u64,
    /// Number of outgoing messages whose outcome is unknown.
    pub unknown: u64,
    /// Number of parked conversations.
    pub parked: u64,
    /// Time of the oldest open message or pending event.
    pub oldest: Option<Timestamp>,
    /// Number of open outgoing messages by their number of attempts.
    pub attempts: BTreeMap<u32, u64>,
}

/// An instance together with its health.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceHealth {
    /// Configuration of the instance.
    pub instance: Instance,
    /// Health of the instance.
    pub status: HealthStatus,
    /// Run-time state of the instance.
    pub state: InstanceState,
    /// `true` if the instance is simulated: no phone gets its messages.
    pub simulated: bool,
    /// Number of dead letters of the instance.
    pub dead_letters: u64,
    /// Counts of the instance's open records.
    pub waiting: OpenWorkCounts,
    /// Rate at which the instance may send.
    pub rate: Rate,
    /// Time at which the next message could leave.
    pub next_slot: Timestamp,
}

impl InstanceHealth {
    fn is_working(&self) -> bool {
        self.instance.disabled
            || self.state.connection == ConnectionStatus::Open
                && !self.state.llm_needs_credentials
                && self.state.inactive_since().is_none()
    }
}

/// The health of the whole installation or of one instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// Overall health.
    pub status: HealthStatus,
    /// Time of the assessment.
    pub at: Timestamp,
    /// Number of waiting messages. For one instance or tenant: the open messages and pending events in the store. For
    /// all: the messages in the queues, plus the parked conversations.
    pub depth: u64,
    /// `true` if the store has more open records than were read: counts from the store, and ages, are then lower bounds.
    pub at_least: bool,
    /// `true` if all assessed Evolution instances are connected. Without an Evolution instance: if all assessed
    /// instances are.
    pub connected: bool,
    /// Number of dead letters.
    pub dead_letters: u64,
    /// Depth of each queue, all tenants together. Empty for a caller who sees one tenant.
    pub queues: BTreeMap<QueueName, QueueDepth>,
    /// Counts of the open records of the assessed instances. For all instances, those that are no longer configured
    /// count too.
    pub waiting: OpenWorkCounts,
    /// Assessed instances.
    pub instances: Vec<InstanceHealth>,
    /// `true` if the assessed instances belong to several tenants.
    pub shared: bool,
}

/// Writes a record of a reserved instance, to check that the store accepts writes.
pub async fn check_store_writes(deps: &impl Deps, at: Timestamp) -> PortResult<()> {
    let nobody = InstanceId::parse(RESERVED_INSTANCE);
    let nobody = nobody.map_err(|error| PortError::invalid("instance id", error))?;
    let confirm = InstanceChange::Confirm(at);
    deps.store()
        .change_instance_state(&nobody, &InstanceState::default(), &confirm)
        .await
        .map(drop)
}

/// Assesses the health of the instance `wanted`, or of all within the caller's scope that are not disabled. `None` if
/// `wanted` does not exist there. The queues are shared by all tenants, so the health of one tenant does not
/// contain them.
pub async fn assess_health<D: QueueDepths>(
    deps: &impl Deps,
    depths: &D,
    caller: &Caller,
    wanted: Option<&InstanceId>,
) -> PortResult<Option<Health>> {
    let tenant = caller.scope.tenant();
    let configured = deps.store().read_configuration(tenant).await?;
    let chosen: Vec<Instance> = match wanted {
        None => configured.enabled_instances().cloned().collect(),
        Some(id) => configured
            .instances
            .into_iter()
            .filter(|one| one.id == *id)
            .collect(),
    };
    if wanted.is_some() && chosen.is_empty() {
        return Ok(None);
    }
    let mut queues = BTreeMap::new();
    if tenant.is_none() {
        for queue in QueueName::ALL {
            queues.insert(queue, depths.read_queue_depth(queue).await?);
        }
    }
    let part = (wanted.is_some() || tenant.is_some()).then_some(&chosen[..]);
    let open = deps.store().read_open_work(part, OPEN_WORK_LIMIT).await?;
    let dead_letters = deps.store().count_dead_letters(tenant).await?;
    let looks = chosen
        .into_iter()
        .map(|instance| assess_instance(deps, instance, &open, &dead_letters));
    let instances: Vec<InstanceHealth> = stream::iter(looks).buffered(READS_AT_ONCE).try_collect().await?;
    let waiting = match wanted {
        Some(_) => instances
            .first()
            .map(|one| one.waiting.clone())
            .unwrap_or_default(),
        None => count_open_work(&open, None),
    };
    let depth = if wanted.is_some() || tenant.is_some() {
        waiting.depth
    } else {
        queues.values().map(QueueDepth::total_messages).sum::<u64>() + waiting.parked
    };
    let mut tenants = instances.iter().map(|one| &one.instance.tenant);
    let shared = tenants
        .next()
        .is_some_and(|first| tenants.any(|other| other != first));
    let all_well = instances.iter().all(InstanceHealth::is_working);
    Ok(Some(Health {
        status: judge_health(depth, all_well),
        at: deps.system().now(),
        depth,
        at_least: open.at_least,
        connected: all_connected(deps, &instances),
        dead_letters: dead_letters.count_of(wanted),
        queues,
        waiting,
        instances,
        shared,
    }))
}

fn all_connected(deps: &impl Deps, instances: &[InstanceHealth]) -> bool {
    let linked = |one: &&InstanceHealth| {
        deps.providers()
            .capabilities(one.instance.provider)
            .is_linked_device
    };
    let open = |one: &InstanceHealth| one.state.connection == ConnectionStatus::Open;
    if instances.iter().any(|one| linked(&one)) {
        instances.iter().filter(linked).all(open)
    } else {
        instances.iter().all(open)
    }
}

async fn assess_instance(
    deps: &impl Deps,
    instance: Instance,
    open: &OpenWork,
    dead_letters: &DeadLetterCounts,
) -> PortResult<InstanceHealth> {
    let state = deps.store().read_instance_state(&instance.id).await?;
    let dead_letters = dead_letters.count_of(Some(&instance.id));
    let waiting = count_open_work(open, Some(&instance));
    let traits = deps.providers().capabilities(instance.provider);
    let rate = instance.resolve_rate(&traits, deps.settings().rate);
    let next_slot = rate.reserve_slot(state.arrival, deps.system().now()).at;
    let mut found = InstanceHealth {
        simulated: deps.providers().is_simulated(&instance).await,
        instance,
        status: HealthStatus::Healthy,
        state,
        dead_letters,
        waiting,
        rate,
        next_slot,
    };
    found.status = judge_health(found.waiting.depth, found.is_working());
    Ok(found)
}

/// Counts the open records of an instance, or of all instances, including those that are no longer configured.
fn count_open_work(open: &OpenWork, of: Option<&Instance>) -> OpenWorkCounts {
    let mut waiting = OpenWorkCounts::default();
    let external = of.and_then(Instance::resolve_external_id);
    let ours = |id: &InstanceId| of.is_none_or(|instance| instance.id == *id);
    let mut one_more = |since: Timestamp| {
        waiting.depth += 1;
        waiting.oldest = Some(waiting.oldest.map_or(since, |oldest| oldest.min(since)));
    };
    for event in &open.events {
        let named = |instance: &Instance| {
            instance.provider == event.provider && external.as_ref() == Some(&event.external)
        };
        if of.is_none_or(named) {
            one_more(event.since);
        }
    }
    for message in open.messages.iter().filter(|message| ours(&message.instance)) {
        one_more(message.since);
    }
    for message in open.messages.iter().filter(|message| ours(&message.instance)) {
        *waiting.attempts.entry(message.attempts).or_insert(0) += 1;
        waiting.sending += u64::from(message.state == "sending");
        waiting.unknown += u64::from(message.state == "unknown");
    }
    waiting.parked = open.parked.iter().map(|id| u64::from(ours(id))).sum();
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_connection_are_judged_as_the_limits_say() {
        for (depth, all_well, status) in [
            (0, true, HealthStatus::Healthy),
            (100, true, HealthStatus::Healthy),
            (101, true, HealthStatus::Degraded),
            (0, false, HealthStatus::Degraded),
            (1000, false, HealthStatus::Degraded),
            (1001, true, HealthStatus::Unhealthy),
        ] {
            assert_eq!(judge_health(depth, all_well), status, "{depth} {all_well}");
        }
    }
}
