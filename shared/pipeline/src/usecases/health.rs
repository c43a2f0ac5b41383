//! Health of the installation for monitors: waiting messages, connected instances and dead letters. The result contains
//! no text and no address of a contact, and no decision of Recado depends on it.

use crate::Deps;
use crate::ports::{
    ConfigurationStore, DeadLetterCounts, DeadLetters, Gauges, InstanceStates, OpenMessage, OpenWork,
    PortError, PortResult, Providers, QueueDepth, QueueDepths, System,
};
use crate::steps::working_instances::list_working_instances;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::config::{ConfigNames, Instance, RESERVED_INSTANCE};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Number of waiting messages above which the health is degraded: a person should look.
pub const DEPTH_DEGRADED: u64 = 100;
/// Number of waiting messages above which the health is unhealthy: a person should act.
pub const DEPTH_UNHEALTHY: u64 = 1000;

/// Maximum number of open records of each kind that are read, approximately.
const OPEN_WORK_LIMIT: usize = 2_000;

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
    let chosen: Vec<Instance> = match wanted {
        None => list_working_instances(deps.store(), tenant).await?,
        Some(id) => find_stored_instance(deps, caller, id)
            .await?
            .into_iter()
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
    let instances = assess_instances(deps, chosen, &open, &dead_letters).await?;
    let waiting = match wanted {
        Some(_) => instances
            .first()
            .map(|one| one.waiting.clone())
            .unwrap_or_default(),
        None => count_open_work(&open),
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

/// Returns an instance by its id, as it is stored now; `None` if it is unknown or outside the caller's scope.
async fn find_stored_instance(
    deps: &impl Deps,
    caller: &Caller,
    id: &InstanceId,
) -> PortResult<Option<Instance>> {
    let names = ConfigNames {
        instances: BTreeSet::from([id.clone()]),
        ..ConfigNames::default()
    };
    let found = deps.store().read_named(&names).await?.instances.into_iter();
    let mut own = found.filter(|found| found.id == *id && caller.scope.covers(&found.tenant));
    Ok(own.next())
}

async fn assess_instances(
    deps: &impl Deps,
    instances: Vec<Instance>,
    open: &OpenWork,
    dead_letters: &DeadLetterCounts,
) -> PortResult<Vec<InstanceHealth>> {
    let ids: Vec<InstanceId> = instances.iter().map(|instance| instance.id.clone()).collect();
    let mut states = deps.store().read_instance_states(&ids).await?;
    let mut waiting = count_by_instance(&instances, open);
    let mut assessed = Vec::with_capacity(instances.len());
    for instance in instances {
        let traits = deps.providers().capabilities(instance.provider);
        let rate = instance.resolve_rate(&traits, deps.settings().rate);
        let state = states.remove(&instance.id).unwrap_or_default();
        let next_slot = rate.reserve_slot(state.arrival, deps.system().now()).at;
        let mut found = InstanceHealth {
            simulated: deps.providers().is_simulated(&instance).await,
            status: HealthStatus::Healthy,
            state,
            dead_letters: dead_letters.count_of(Some(&instance.id)),
            waiting: waiting.remove(&instance.id).unwrap_or_default(),
            rate,
            next_slot,
            instance,
        };
        found.status = judge_health(found.waiting.depth, found.is_working());
        assessed.push(found);
    }
    Ok(assessed)
}

impl OpenWorkCounts {
    fn add_record(&mut self, since: Timestamp) {
        self.depth += 1;
        self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
    }

    fn add_message(&mut self, message: &OpenMessage) {
        self.add_record(message.since);
        *self.attempts.entry(message.attempts).or_insert(0) += 1;
        self.sending += u64::from(message.state == "sending");
        self.unknown += u64::from(message.state == "unknown");
    }
}

/// Counts the open records of all instances, including those that are no longer configured.
fn count_open_work(open: &OpenWork) -> OpenWorkCounts {
    let mut waiting = OpenWorkCounts::default();
    open.events
        .iter()
        .for_each(|event| waiting.add_record(event.since));
    open.messages
        .iter()
        .for_each(|message| waiting.add_message(message));
    waiting.parked = open.parked.len() as u64;
    waiting
}

/// Counts the open records of each instance, in one pass.
fn count_by_instance(instances: &[Instance], open: &OpenWork) -> HashMap<InstanceId, OpenWorkCounts> {
    let mut counts: HashMap<InstanceId, OpenWorkCounts> = HashMap::new();
    if !open.events.is_empty() {
        let named: HashMap<(Provider, ExternalId), &InstanceId> = instances
            .iter()
            .filter_map(|one| Some(((one.provider, one.resolve_external_id()?), &one.id)))
            .collect();
        for event in &open.events {
            if let Some(id) = named.get(&(event.provider, event.external.clone())) {
                counts.entry((*id).clone()).or_default().add_record(event.since);
            }
        }
    }
    for message in &open.messages {
        counts
            .entry(message.instance.clone())
            .or_default()
            .add_message(message);
    }
    for id in &open.parked {
        counts.entry(id.clone()).or_default().parked += 1;
    }
    counts
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
