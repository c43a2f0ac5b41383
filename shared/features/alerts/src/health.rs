//! Health of the installation for monitors: waiting messages, connected instances and dead letters. The result contains
//! no text and no address of a contact, and no decision of Recado depends on it.

use recado_pipeline::steps::connection::read_connection_checks;
use recado_pipeline::steps::open_work::{OpenWorkCounts, WaitingByInstance, count_open_work};

use jiff::Timestamp;
use recado_pipeline::steps::working_instances::{WorkingPages, list_working_instances};

use recado_domain::access::Caller;
use recado_domain::config::{ConfigNames, EntryRef, Instance};
use recado_domain::connection_check::{ConnectionCheck, find_last_check};
use recado_domain::dead_letter::QueueName;
use recado_domain::health::HealthStatus;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::rate::Rate;
use recado_pipeline::Deps;
use recado_ports::ports::{OpenWork, PortResult, QueueDepth, QueueDepths};
use recado_ports::records::configuration::find_named_entries;
use recado_ports::records::dead_letters::{DeadLetterCounts, count_dead_letters};
use std::collections::BTreeMap;

/// Number of waiting messages above which the health is degraded: a person should look.
pub const DEPTH_DEGRADED: u64 = 100;
/// Number of waiting messages above which the health is unhealthy: a person should act.
pub const DEPTH_UNHEALTHY: u64 = 1000;

/// Maximum number of open records of each kind that are read, approximately.
const OPEN_WORK_LIMIT: usize = 2_000;

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

/// An instance together with its health.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceHealth {
    /// Configuration of the instance.
    pub instance: Instance,
    /// Health of the instance.
    pub status: HealthStatus,
    /// Run-time state of the instance.
    pub state: InstanceState,
    /// Time at which its provider was last asked for its state, or accepted a message; `None`: not known.
    pub looked_at: Option<Timestamp>,
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
                && self.state.failing_model().is_none()
                && self.state.refusal().is_none()
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
    /// `true` if the assessed instances belong to several tenants.
    pub shared: bool,
}

/// Assesses the health of the instance `wanted`, or of all within the caller's scope that are not disabled. `show` is given
/// each assessed instance, sorted by their ids: of ten thousand, those of one page are in memory at once. `None` if `wanted`
/// does not exist there. The queues are shared by all tenants, so the health of one tenant does not contain them.
pub async fn assess_health(
    deps: &Deps,
    depths: &dyn QueueDepths,
    caller: &Caller,
    wanted: Option<&InstanceId>,
    show: &mut (dyn FnMut(&InstanceHealth) + Send),
) -> PortResult<Option<Health>> {
    let tenant = caller.scope.tenant();
    let chosen: Option<Vec<Instance>> = match (wanted, tenant) {
        (Some(id), _) => match find_stored_instance(deps, caller, id).await? {
            Some(found) => Some(vec![found]),
            None => return Ok(None),
        },
        (None, Some(tenant)) => Some(list_working_instances(deps.store(), tenant).await?),
        (None, None) => None,
    };
    let mut queues = BTreeMap::new();
    if tenant.is_none() {
        for queue in QueueName::ALL {
            queues.insert(queue, depths.read_queue_depth(queue).await?);
        }
    }
    let open = deps
        .store()
        .read_open_work(chosen.as_deref(), OPEN_WORK_LIMIT)
        .await?;
    let dead_letters = count_dead_letters(deps.store(), tenant).await?;
    let is_whole = chosen.is_none();
    let mut assessment = Assessment::new(&open, &dead_letters, show);
    assessment.looks = read_connection_checks(deps.store(), deps.system().now()).await?;
    match chosen {
        Some(chosen) => assessment.add_instances(deps, chosen).await?,
        None => assessment.add_working_instances(deps).await?,
    }
    let found = assessment.found;
    let waiting = match wanted {
        Some(_) => found.waiting,
        None => count_open_work(&open),
    };
    let depth = if is_whole {
        queues.values().map(QueueDepth::total_messages).sum::<u64>() + waiting.parked
    } else {
        waiting.depth
    };
    Ok(Some(Health {
        status: judge_health(depth, found.all_well),
        at: deps.system().now(),
        depth,
        at_least: open.at_least,
        connected: found.linked_connected.unwrap_or(found.all_connected),
        dead_letters: dead_letters.count_of(wanted),
        queues,
        waiting,
        shared: found.shared,
    }))
}

/// Returns an instance by its id, as it is stored now. `None`: it is unknown or outside the caller's scope.
async fn find_stored_instance(deps: &Deps, caller: &Caller, id: &InstanceId) -> PortResult<Option<Instance>> {
    let names = ConfigNames::of([EntryRef::Instance(id.clone())]);
    let found = find_named_entries(deps.store(), &names)
        .await?
        .instances
        .into_iter();
    let mut own = found.filter(|found| found.id == *id && caller.scope.covers(&found.tenant));
    Ok(own.next())
}

/// The findings of the instances that were assessed so far, together.
struct FoundInstances {
    all_well: bool,
    all_connected: bool,
    /// `true` if all linked devices are connected. `None`: there is none.
    linked_connected: Option<bool>,
    /// Tenant of the first instance.
    tenant: Option<TenantId>,
    shared: bool,
    /// Counts of the instance that was assessed last.
    waiting: OpenWorkCounts,
}

/// An assessment of instances, page by page.
struct Assessment<'a> {
    counts: WaitingByInstance<'a>,
    dead_letters: &'a DeadLetterCounts,
    looks: Vec<ConnectionCheck>,
    show: &'a mut (dyn FnMut(&InstanceHealth) + Send),
    found: FoundInstances,
}

impl<'a> Assessment<'a> {
    fn new(
        open: &'a OpenWork,
        dead_letters: &'a DeadLetterCounts,
        show: &'a mut (dyn FnMut(&InstanceHealth) + Send),
    ) -> Self {
        Self {
            counts: WaitingByInstance::count_records(open),
            dead_letters,
            looks: Vec::new(),
            show,
            found: FoundInstances {
                all_well: true,
                all_connected: true,
                linked_connected: None,
                tenant: None,
                shared: false,
                waiting: OpenWorkCounts::default(),
            },
        }
    }

    /// Assesses all instances that work, page by page. The next page is read meanwhile.
    async fn add_working_instances(&mut self, deps: &Deps) -> PortResult<()> {
        let mut pages = WorkingPages::begin(deps.store()).await?;
        let mut page = pages.next_page().await?;
        while let Some(instances) = page {
            let (added, next) = futures::join!(self.add_instances(deps, instances), pages.next_page());
            added?;
            page = next?;
        }
        Ok(())
    }

    /// Assesses some instances, whose states are read at once.
    async fn add_instances(&mut self, deps: &Deps, instances: Vec<Instance>) -> PortResult<()> {
        let ids: Vec<InstanceId> = instances.iter().map(|instance| instance.id.clone()).collect();
        let mut states = deps.store().read_instance_states(&ids).await?;
        for instance in instances {
            let traits = deps.providers().capabilities(instance.provider);
            let rate = instance.resolve_rate(&traits, deps.settings().rate);
            let state = states.remove(&instance.id).unwrap_or_default();
            let next_slot = rate.reserve_slot(state.arrival, deps.system().now()).at;
            let is_asked = traits.is_linked_device && state.connection == ConnectionStatus::Open;
            let check = is_asked
                .then(|| find_last_check(&self.looks, &instance.id))
                .flatten();
            let mut assessed = InstanceHealth {
                simulated: deps.providers().is_simulated(&instance).await,
                status: HealthStatus::Healthy,
                looked_at: check.max(state.confirmed_at),
                state,
                dead_letters: self.dead_letters.count_of(Some(&instance.id)),
                waiting: self.counts.count_of(&instance),
                rate,
                next_slot,
                instance,
            };
            assessed.status = judge_health(assessed.waiting.depth, assessed.is_working());
            self.found.add_instance(&assessed, traits.is_linked_device);
            (self.show)(&assessed);
        }
        Ok(())
    }
}

impl FoundInstances {
    fn add_instance(&mut self, assessed: &InstanceHealth, is_linked_device: bool) {
        let is_connected = assessed.state.connection == ConnectionStatus::Open;
        self.all_well &= assessed.is_working();
        self.all_connected &= is_connected;
        if is_linked_device {
            self.linked_connected = Some(self.linked_connected.unwrap_or(true) && is_connected);
        }
        let tenant = &assessed.instance.tenant;
        self.shared |= self.tenant.get_or_insert_with(|| tenant.clone()) != tenant;
        self.waiting.clone_from(&assessed.waiting);
    }
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
