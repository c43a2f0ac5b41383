//! Reads the state of all instances at once: what waits, what was given up, and which of them cannot send. The number
//! of requests does not depend on the number of instances.

use crate::steps::open_work::WaitingByInstance;
use crate::steps::working_instances::WorkingPages;
use jiff::Timestamp;
use recado_domain::budget::MonthlyBudget;
use recado_domain::config::Instance;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::provider::Provider;
use recado_domain::sample::{InstanceSample, MinuteSample};
use recado_ports::ports::{InstallationStore, OpenWork, PortResult, TroubledInstances};
use recado_ports::records::dead_letters::{DeadLetterCounts, count_dead_letters};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of open records of each kind that are read, approximately.
const OPEN_WORK_LIMIT: usize = 2_000;

/// Maximum number of instances that do not work as they should, approximately.
const TROUBLED_LIMIT: usize = 2_000;

/// The part of an instance's configuration that a reading keeps: of ten thousand instances, all of it would be much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInstance {
    /// Id of the instance.
    pub id: InstanceId,
    /// Tenant that the instance belongs to.
    pub tenant: TenantId,
    /// Provider through which the instance is connected.
    pub provider: Provider,
}

impl From<&Instance> for ReadInstance {
    fn from(instance: &Instance) -> Self {
        Self {
            id: instance.id.clone(),
            tenant: instance.tenant.clone(),
            provider: instance.provider,
        }
    }
}

/// The state of an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceReading {
    /// The instance.
    pub instance: ReadInstance,
    /// State of its connection.
    pub connection: ConnectionStatus,
    /// Time since which the connection has this state; `None`: it is open, or not known since when.
    pub since: Option<Timestamp>,
    /// Number of its open outgoing messages and pending events.
    pub depth: u64,
    /// Number of its parked conversations.
    pub parked: u64,
    /// Number of its dead letters.
    pub dead_letters: u64,
    /// Time of its oldest open message or pending event.
    pub oldest: Option<Timestamp>,
}

/// The state of all instances, with what belongs to no configured one.
#[derive(Debug, Clone, PartialEq)]
pub struct InstallationReading {
    /// Time of the reading.
    pub at: Timestamp,
    /// `true` if more was open than was read: `depth`, `parked` and ages are lower bounds.
    pub at_least: bool,
    /// The configured instances, sorted by their ids.
    pub instances: Vec<InstanceReading>,
    /// Number of all open outgoing messages and pending events.
    pub depth: u64,
    /// Number of all parked conversations.
    pub parked: u64,
    /// Number of all dead letters.
    pub dead_letters: u64,
    /// Time of the oldest open message or pending event.
    pub oldest: Option<Timestamp>,
    /// Times since which messages and events wait that could be processed: not those of instances that are not open.
    pub waiting_since: Vec<Timestamp>,
    /// Instances that do not work as they should, with their states.
    pub troubled: TroubledInstances,
    /// The budgets of the tenants that have one.
    pub budgets: Vec<(TenantId, MonthlyBudget)>,
}

/// Reads the state of all instances. Their configuration is read page by page, and little of it is kept.
pub async fn read_installation(
    store: &dyn InstallationStore,
    now: Timestamp,
) -> PortResult<InstallationReading> {
    let open = store.read_open_work(None, OPEN_WORK_LIMIT).await?;
    let troubled = store.list_troubled_instances(TROUBLED_LIMIT).await?;
    let dead = count_dead_letters(store, None).await?;
    let mut instances = Vec::new();
    let states = ReadStates::new(&open, &troubled, &dead);
    let mut pages = WorkingPages::begin(store).await?;
    while let Some(page) = pages.next_page().await? {
        instances.extend(page.iter().map(|instance| states.read_instance(instance)));
    }
    let waiting_since = list_waiting_times(&open, &states.closed);
    instances.sort_by(|a, b| a.instance.id.cmp(&b.instance.id));
    let messages = open.messages.iter().map(|message| message.since);
    let oldest = messages.chain(open.events.iter().map(|event| event.since)).min();
    Ok(InstallationReading {
        at: now,
        at_least: open.at_least || troubled.at_least,
        instances,
        waiting_since,
        depth: (open.messages.len() + open.events.len()) as u64,
        parked: open.parked.len() as u64,
        dead_letters: dead.count_of(None),
        oldest,
        troubled,
        budgets: std::mem::take(&mut pages.budgets),
    })
}

/// Returns the times since which messages and events wait that could be processed: not those of instances in `closed`.
fn list_waiting_times(open: &OpenWork, closed: &HashMap<&InstanceId, &InstanceState>) -> Vec<Timestamp> {
    let messages = open.messages.iter();
    let messages = messages.filter(|message| !closed.contains_key(&message.instance));
    let events = open.events.iter().map(|event| event.since);
    messages.map(|message| message.since).chain(events).collect()
}

/// The answers of the store about all instances, from which each instance's reading is made.
struct ReadStates<'a> {
    counts: WaitingByInstance<'a>,
    closed: HashMap<&'a InstanceId, &'a InstanceState>,
    dead: &'a DeadLetterCounts,
}

impl<'a> ReadStates<'a> {
    fn new(open: &'a OpenWork, troubled: &'a TroubledInstances, dead: &'a DeadLetterCounts) -> Self {
        let states = troubled.states.iter().map(|(id, state)| (id, state));
        Self {
            counts: WaitingByInstance::count_records(open),
            closed: states
                .filter(|(_, state)| state.connection != ConnectionStatus::Open)
                .collect(),
            dead,
        }
    }

    fn read_instance(&self, instance: &Instance) -> InstanceReading {
        let counts = self.counts.count_of(instance);
        let closed = self.closed.get(&instance.id);
        InstanceReading {
            connection: closed.map_or(ConnectionStatus::Open, |closed| closed.connection),
            since: closed.and_then(|closed| closed.since),
            depth: counts.depth,
            parked: counts.parked,
            dead_letters: self.dead.count_of(Some(&instance.id)),
            oldest: counts.oldest,
            instance: instance.into(),
        }
    }
}

impl InstallationReading {
    /// Returns the sample of the whole installation. `slots` are the numbers of send slots that instances took.
    pub fn to_sample(&self, slots: &BTreeMap<InstanceId, u64>) -> MinuteSample {
        let all = self.instances.iter().map(|one| one.to_sample(slots));
        MinuteSample {
            depth: self.depth,
            parked: self.parked,
            dead_letters: self.dead_letters,
            at_least: self.at_least,
            ..MinuteSample::from_instances(self.at, None, all)
        }
    }

    /// Returns the samples of the tenants of which something is to be told.
    pub fn to_tenant_samples(&self, slots: &BTreeMap<InstanceId, u64>) -> Vec<MinuteSample> {
        let mut tenants: BTreeMap<&TenantId, Vec<InstanceSample>> = BTreeMap::new();
        for one in self
            .instances
            .iter()
            .filter(|one| !one.to_sample(slots).is_idle())
        {
            tenants.entry(&one.instance.tenant).or_default();
        }
        for one in &self.instances {
            if let Some(of) = tenants.get_mut(&one.instance.tenant) {
                of.push(one.to_sample(slots));
            }
        }
        let sample = |(tenant, all): (&TenantId, Vec<InstanceSample>)| MinuteSample {
            at_least: self.at_least,
            ..MinuteSample::from_instances(self.at, Some(tenant.clone()), all)
        };
        tenants
            .into_iter()
            .map(sample)
            .filter(|sample| !sample.is_idle())
            .collect()
    }
}

impl InstanceReading {
    fn to_sample(&self, slots: &BTreeMap<InstanceId, u64>) -> InstanceSample {
        InstanceSample {
            id: self.instance.id.clone(),
            connection: self.connection,
            depth: self.depth,
            parked: self.parked,
            dead_letters: self.dead_letters,
            slots: slots.get(&self.instance.id).copied(),
        }
    }
}
