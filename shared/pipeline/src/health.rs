//! How the way to WhatsApp is: what waits, which instances are connected, what was given up. For monitors: nothing that
//! a person wrote, no address, and no decision of Recado's own rests on it.

use crate::Deps;
use crate::ports::{
    ConfigurationStore, DeadLetters, Gauges, InstanceStates, OpenWork, PortError, PortResult, Providers,
    QueueDepth, QueueDepths, System,
};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::config::{Instance, RESERVED_INSTANCE};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::rate::Rate;
use std::collections::BTreeMap;

/// More waiting messages than this are a reason to look …
pub const DEPTH_DEGRADED: u64 = 100;
/// … and more than this a reason to act.
pub const DEPTH_UNHEALTHY: u64 = 1000;

/// How many open records of each kind are looked at.
const OPEN_WORK_LIMIT: usize = 2_000;

/// How many instances are looked at side by side.
const READS_AT_ONCE: usize = 16;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// It works.
    Healthy,
    /// It works, and somebody should look.
    Degraded,
    /// It does not work.
    Unhealthy,
}

/// Depth and connection say how it is; dead letters are reported beside it and change nothing.
pub fn judge_health(depth: u64, all_well: bool) -> HealthStatus {
    if depth > DEPTH_UNHEALTHY {
        HealthStatus::Unhealthy
    } else if depth > DEPTH_DEGRADED || !all_well {
        HealthStatus::Degraded
    } else {
        HealthStatus::Healthy
    }
}

/// What is open, of one instance or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWorkCounts {
    /// Open outgoing messages and pending events.
    pub depth: u64,
    /// Outgoing messages that are with the provider now.
    pub sending: u64,
    /// Outgoing messages whose outcome is not known.
    pub unknown: u64,
    /// Conversations whose messages wait beside the queue.
    pub parked: u64,
    /// When the oldest came.
    pub oldest: Option<Timestamp>,
    /// How many open outgoing messages have had how many attempts.
    pub attempts: BTreeMap<u32, u64>,
}

/// An instance, and how it is.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceHealth {
    /// The instance.
    pub instance: Instance,
    /// How it is.
    pub status: HealthStatus,
    /// Its run-time record.
    pub state: InstanceState,
    /// Its dead letters.
    pub dead_letters: u64,
    /// What is open of it.
    pub waiting: OpenWorkCounts,
    /// How fast it may send.
    pub rate: Rate,
    /// When the next message could leave.
    pub next_slot: Timestamp,
}

impl InstanceHealth {
    fn is_working(&self) -> bool {
        self.state.connection == ConnectionStatus::Open
            && !self.state.llm_needs_credentials
            && self.state.inactive_since().is_none()
    }
}

/// How the way to WhatsApp is.
#[derive(Debug, Clone, PartialEq)]
pub struct Health {
    /// In a word.
    pub status: HealthStatus,
    /// When this was found.
    pub at: Timestamp,
    /// What waits: of one instance as the store tells; of all what is in the queues, and the parked conversations beside
    /// them.
    pub depth: u64,
    /// Of what the store tells there is more than was looked at: depths from there and ages are lower bounds.
    pub at_least: bool,
    /// Whether all Evolution instances in question are connected (where there are none: all instances).
    pub connected: bool,
    /// Dead letters.
    pub dead_letters: u64,
    /// Each queue, all instances together.
    pub queues: BTreeMap<QueueName, QueueDepth>,
    /// What is open, of all in question.
    pub waiting: OpenWorkCounts,
    /// Each instance in question.
    pub instances: Vec<InstanceHealth>,
    /// Whether instances of several tenants are in question.
    pub shared: bool,
}

/// Writes a record that belongs to nobody: what the store takes now, it would take of anybody.
pub async fn check_store_writes<W: Deps>(deps: &W, at: Timestamp) -> PortResult<()> {
    let nobody = InstanceId::parse(RESERVED_INSTANCE);
    let nobody = nobody.map_err(|error| PortError::invalid("instance id", error))?;
    deps.store().confirm_connection(&nobody, at).await
}

/// Looks at everything, or at one instance; `None` if there is no such instance.
pub async fn assess_health<W: Deps, D: QueueDepths>(
    deps: &W,
    depths: &D,
    wanted: Option<&InstanceId>,
) -> PortResult<Option<Health>> {
    let configured = deps.store().read_configuration().await?.instances;
    let fits = |instance: &Instance| wanted.is_none_or(|id| *id == instance.id);
    let chosen: Vec<Instance> = configured.into_iter().filter(fits).collect();
    if wanted.is_some() && chosen.is_empty() {
        return Ok(None);
    }
    let mut queues = BTreeMap::new();
    for queue in QueueName::ALL {
        queues.insert(queue, depths.read_queue_depth(queue).await?);
    }
    let open = deps.store().read_open_work(OPEN_WORK_LIMIT).await?;
    let dead_letters = deps.store().count_dead_letters(wanted).await?;
    let looks = chosen
        .into_iter()
        .map(|instance| assess_instance(deps, instance, &open));
    let instances: Vec<InstanceHealth> = stream::iter(looks).buffered(READS_AT_ONCE).try_collect().await?;
    let waiting = match wanted {
        Some(_) => instances
            .first()
            .map(|one| one.waiting.clone())
            .unwrap_or_default(),
        None => count_open_work(&open, None),
    };
    let depth = match wanted {
        Some(_) => waiting.depth,
        None => queues.values().map(QueueDepth::total_messages).sum::<u64>() + waiting.parked,
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
        dead_letters,
        queues,
        waiting,
        instances,
        shared,
    }))
}

fn all_connected<W: Deps>(deps: &W, instances: &[InstanceHealth]) -> bool {
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

async fn assess_instance<W: Deps>(
    deps: &W,
    instance: Instance,
    open: &OpenWork,
) -> PortResult<InstanceHealth> {
    let state = deps.store().read_instance_state(&instance.id).await?;
    let dead_letters = deps.store().count_dead_letters(Some(&instance.id)).await?;
    let waiting = count_open_work(open, Some(&instance));
    let traits = deps.providers().capabilities(instance.provider);
    let rate = instance.resolve_rate(&traits, deps.settings().rate);
    let next_slot = rate.reserve_slot(state.arrival, deps.system().now()).at;
    let mut found = InstanceHealth {
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

/// What is open of an instance, or of all, those that are no longer configured included.
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
