//! One history: functions are started when their queue has something for them, webhooks are posted until they are
//! acknowledged, people act, time goes on; in the end the promises are checked.

mod batches;
mod catch_up;
mod clients;
mod endpoints;
mod entries;
mod extras;
mod guests;
mod invitations;
mod ledger;
mod people;
mod post;
mod posts;
mod strangers;
mod work;

pub use batches::{BatchStop, ClientBatch, InvitedContact, ToldLimit};
pub use clients::{ClientOrder, Erasure, Removal};
pub use entries::{Entries, GivenDocument, GivenPrompt, RemovedAgent};
pub use extras::{AtMark, Due, Index, Recover, StoreExtras};
pub use guests::{
    ClientInvitation, FakeGuest, FollowedLink, GuestLedger, InvitationOrder, TEMPLATES, ToldInvitation,
    email_sender,
};
pub use ledger::{Act, Kind, LINGERS_MS, Ledger, Redrive, Spoken};
pub use people::OperatorRequest;
pub use strangers::Way;

use crate::executor::{Progress, Simulation, Tasks};
use crate::fake_world::{FakeServices, FakeWorld, Model, calendar_of};
use crate::fault_injector::{CALM_FUNCTION, Common, FaultInjector};
use crate::faulty_ports::FaultyPort;
use crate::mutation::Mutation;
use crate::open_records::{OpenRecord, list_open_records};
use crate::plan::identity_key;
use crate::queue::WorkQueues;
use futures::executor::block_on;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{Agent, AgentReturn, ConfigDocument, InstanceConfig};
use recado_domain::dead_letter::QueueName;
use recado_domain::debounce::Debounce;
use recado_domain::ids::InstanceId;
use recado_domain::tools::Tool;
use recado_features::FEATURES;
use recado_pipeline::ports::Store;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::effects::find_journal;
use recado_pipeline::{Components, Settings, reconcile};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long a history goes on at most after nothing goes wrong any more: longer than the longest wait of any record.
const HORIZON_MS: i64 = 6 * 86_400_000;

/// How many steps functions take at most: many times those of any history that comes to an end. What tries for ever is told
/// after some seconds, and not after days of virtual time.
const STEPS_MAX: u64 = 300_000;

/// How the functions run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// As on AWS: batches, functions that are cut off when their time is over, deletes after the whole batch.
    Lambda,
    /// As in one process: one message each, nobody is cut off, a crash takes everything down.
    Machine,
}

/// What a running function is given.
pub type FunctionWorld<S, Q> = Components<FaultyPort<S>, FaultyPort<Q>, FakeServices, Model, FaultInjector>;

/// What is the same for all tasks of a history.
#[derive(Debug)]
pub struct Simulator<S, Q> {
    /// Clock, random numbers, faults.
    pub common: Arc<Common>,
    /// The records.
    pub store: S,
    /// The queues.
    pub queues: Q,
    /// Providers, phones, model.
    pub fake_world: FakeWorld,
    /// Times and limits.
    pub settings: Settings,
    /// How functions run.
    pub style: Style,
    /// Whether something looks after what was left open.
    pub reconciles: bool,
    /// Whether clients and providers repeat what was not answered.
    pub clients_repeat: bool,
    /// How likely a webhook is posted again although it was acknowledged.
    pub posted_twice: f64,
    /// Who is configured.
    pub bounds: Vec<InstanceConfig>,
    /// What the store can do beyond the port.
    pub extras: StoreExtras,
    /// What happens at marked steps.
    pub at_mark: OnceLock<AtMark>,
    /// When the installation last went on from a backup.
    pub restored_at: Mutex<Option<Timestamp>>,
    ledger: Mutex<Ledger>,
}

impl<S, Q> Simulator<S, Q> {
    /// The agent of an instance.
    pub fn agent_of(&self, instance: &InstanceId) -> Option<&Agent> {
        let mut bounds = self.bounds.iter();
        bounds
            .find(|bound| bound.instance.id == *instance)
            .map(|bound| &bound.agent)
    }

    /// When the agent comes back to conversations of an instance that people took over.
    pub fn agent_returns(&self, instance: &InstanceId) -> AgentReturn {
        let mut bounds = self.bounds.iter();
        let bound = bounds.find(|bound| bound.instance.id == *instance);
        bound
            .map(|bound| bound.instance.agent_returns)
            .unwrap_or_default()
    }

    /// What happened in the fake world.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S, Q> Simulator<S, Q>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    /// A simulator with everything configured.
    pub fn new(
        common: Arc<Common>,
        store: S,
        queues: Q,
        fake_world: FakeWorld,
        bounds: Vec<InstanceConfig>,
    ) -> Self {
        let tools = distinct(bounds.iter().flat_map(|bound| bound.tools.clone()));
        let document = ConfigDocument {
            tenants: distinct(bounds.iter().map(|bound| bound.tenant.clone())),
            calendars: distinct(tools.iter().filter_map(calendar_of)),
            tools,
            agents: distinct(bounds.iter().map(|bound| bound.agent.clone())),
            instances: bounds.iter().map(|bound| bound.instance.clone()).collect(),
            alerts: None,
            ..ConfigDocument::default()
        };
        block_on(put_configuration(&store, &document)).expect("the configuration is applied");
        block_on(store.keep_identity_key(&identity_key)).expect("the identity key is kept");
        Self {
            common,
            store,
            queues,
            fake_world,
            settings: Settings {
                debounce: Debounce::Fixed(SignedDuration::from_secs(4)),
                // The providers here know nobody's linked identity.
                identity_attempts: false,
                ..Settings::default()
            },
            style: Style::Lambda,
            reconciles: true,
            clients_repeat: true,
            posted_twice: 0.0,
            bounds,
            extras: StoreExtras::default(),
            at_mark: OnceLock::new(),
            restored_at: Mutex::default(),
            ledger: Mutex::default(),
        }
    }

    /// Everything dies at once and starts anew.
    pub fn cut_power(&self) {
        self.common.kill_all();
        // Nobody waits for the model any more.
        self.fake_world.end_model_calls(self.simulation().elapsed_ms());
        if let Some(recover) = &self.extras.recover {
            (recover.0)();
        }
        for queue in QueueName::ALL {
            self.common.make_dirty(queue);
        }
    }

    /// Clock and random numbers.
    pub fn simulation(&self) -> &Simulation {
        &self.common.simulation
    }

    /// Whether the installation went on from a backup.
    pub fn was_restored(&self) -> bool {
        self.restore_time().is_some()
    }

    fn restore_time(&self) -> Option<Timestamp> {
        *self.restored_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of a process that starts now.
    fn settings_now(&self) -> Settings {
        Settings {
            restored_at: self.restore_time(),
            ..self.settings.clone()
        }
    }

    /// The world of the function of `injector`.
    pub fn world(&self, injector: &FaultInjector) -> FunctionWorld<S, Q> {
        self.world_over(injector, self.queues.clone())
    }

    /// What the function of `injector` has when it reaches the queues by `queues`.
    pub(crate) fn world_over(&self, injector: &FaultInjector, queues: Q) -> FunctionWorld<S, Q> {
        let mut world = Components::new(
            FaultyPort::new(self.store.clone(), injector.clone()),
            FaultyPort::new(queues, injector.clone()),
            FakeServices::new(self.fake_world.clone(), injector.clone()),
            Model::new(self.fake_world.clone(), injector.clone()),
            injector.clone(),
            &FEATURES,
            self.settings_now(),
        );
        world.deps_mut().retry_lock = injector.retries.clone();
        world
    }

    /// What a reader has whom nothing disturbs.
    pub fn calm_deps(&self) -> Components<S, Q, FakeServices, Model, FaultInjector> {
        let injector = FaultInjector::new(&self.common, CALM_FUNCTION);
        let mut world = Components::new(
            self.store.clone(),
            self.queues.clone(),
            FakeServices::new(self.fake_world.clone(), injector.clone()),
            Model::new(self.fake_world.clone(), injector.clone()),
            injector.clone(),
            &FEATURES,
            self.settings_now(),
        );
        world.deps_mut().retry_lock = injector.retries.clone();
        world
    }

    /// Runs until nothing is left to do, and checks. Returns the promises broken.
    pub fn run(self: &Arc<Self>) -> Vec<String> {
        let end = self.common.faults.calm_from_ms.saturating_add(HORIZON_MS);
        self.go_on_until(end, true);
        if self.simulation().elapsed_ms() >= end || self.common.steps() >= STEPS_MAX {
            self.common
                .broken("the history does not come to an end".to_owned());
        }
        crate::check::check(self);
        self.common.violations()
    }

    /// Runs until `end`, in milliseconds since the start; if `ends_itself`, only until nothing is left to do.
    pub fn go_on_until(self: &Arc<Self>, end: i64, ends_itself: bool) {
        let mut loops = Loops::new();
        self.start_reconcile();
        loop {
            self.post_owed();
            loops.dispatch(self);
            let until = loops.next_look(self).unwrap_or(i64::MAX).min(end);
            match loops.tasks.step(self.simulation(), until) {
                Progress::Polled | Progress::Advanced => {}
                Progress::Idle if until < end => self.simulation().advance_to(until),
                Progress::Idle => break,
            }
            if self.common.cut.swap(false, std::sync::atomic::Ordering::Relaxed) {
                self.cut_power();
            }
            for step in self.common.machine.take_marked() {
                if let Some(at_mark) = self.at_mark.get() {
                    (at_mark.0)(step);
                }
            }
            loops.tidy(self);
            if (ends_itself && loops.looked_at_end(self)) || self.common.steps() >= STEPS_MAX {
                break;
            }
        }
    }

    /// Every minute; more seldom while nothing else happens.
    fn start_reconcile(self: &Arc<Self>) {
        if !self.reconciles || self.common.mutation == Some(Mutation::NoReconcile) {
            return;
        }
        let sim = Arc::clone(self);
        self.simulation()
            .spawn(crate::executor::Life::default(), async move {
                loop {
                    sim.simulation().sleep(60_000).await;
                    if sim.is_overdue() {
                        let injector = FaultInjector::new(&sim.common, "reconcile");
                        let world = sim.world(&injector);
                        sim.simulation().spawn(injector.life.clone(), async move {
                            let _ = reconcile::reconcile(&world).await;
                            injector.life.end();
                        });
                    }
                }
            });
    }

    /// Whether a pass would find something.
    fn is_overdue(&self) -> bool {
        let soon = recado_domain::millis::add_millis(self.simulation().machine_now(), 2_000);
        if let Some(due) = &self.extras.due {
            return (due.0)().is_some_and(|due| due <= soon);
        }
        block_on(list_open_records(&self.store, soon, 1)).is_ok_and(|open| !open.is_empty())
    }

    /// Returns `true` if a journal waits for nothing but the next look at what is booked.
    pub fn is_only_booked(&self, record: &OpenRecord) -> bool {
        let OpenRecord::Journal(tenant, thread) = record else {
            return false;
        };
        let found = block_on(find_journal(&self.store, tenant, thread));
        found.ok().flatten().is_none_or(|found| {
            let mut entries = found.record.entries.iter();
            entries.all(|entry| !entry.state.is_open() && !entry.fence)
        })
    }

    fn has_acting_tool(&self) -> bool {
        let mut tools = self.bounds.iter().flat_map(|bound| &bound.tools);
        tools.any(Tool::acts)
    }

    /// Whether no record waits for anything.
    pub fn is_settled(&self) -> bool {
        if let Some(due) = &self.extras.due {
            let is_due = (due.0)().is_some();
            if !is_due || !self.has_acting_tool() {
                return !is_due;
            }
        }
        let far = recado_domain::millis::add_millis(self.simulation().now(), 400 * 86_400_000);
        block_on(list_open_records(&self.store, far, 20))
            .is_ok_and(|open| open.iter().all(|record| self.is_only_booked(record)))
    }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// The tasks, and when the queues are looked at next.
struct Loops {
    tasks: Tasks,
    running: [Vec<crate::executor::Life>; 3],
    looked_at: i64,
    next: [Option<i64>; 3],
}

/// How many of a function run at once: the defaults of the stack.
const AT_ONCE: [usize; 3] = [50, 50, 100];

impl Loops {
    fn new() -> Self {
        Self {
            tasks: Tasks::default(),
            running: [Vec::new(), Vec::new(), Vec::new()],
            looked_at: -1,
            next: [None; 3],
        }
    }

    /// Starts functions for what the queues hold, if anything may have changed since the last look.
    fn dispatch<S, Q>(&mut self, sim: &Arc<Simulator<S, Q>>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let now = sim.simulation().elapsed_ms();
        // The queues count by the machine's clock.
        let start = crate::executor::START_MS + sim.simulation().ahead_ms();
        for (at, queue) in QueueName::ALL.into_iter().enumerate() {
            if let Some(until) = sim.common.faults.slow_until(queue, now) {
                self.next[at] = Some(until);
                continue;
            }
            let due = self.next[at].is_some_and(|next| next <= now);
            if !sim.common.take_dirty(queue) && !due {
                continue;
            }
            self.running[at].retain(|life| !life.is_over());
            while self.running[at].len() < AT_ONCE[at] {
                let most = if queue == QueueName::Inbound && sim.style == Style::Lambda {
                    10
                } else {
                    1
                };
                let batch = sim.queues.receive(queue, most);
                if batch.is_empty() {
                    break;
                }
                if sim.common.faults.is_throttled(queue, now) {
                    sim.common.count(|counters| counters.throttled += 1);
                    continue;
                }
                self.running[at].push(sim.start(queue, batch));
            }
            let room = self.running[at].len() < AT_ONCE[at];
            let next = room.then(|| sim.queues.next_visible(queue)).flatten();
            self.next[at] = next.map(|next| (next.as_millisecond() - start).max(now + 1));
        }
    }

    /// When the queues must be looked at, in milliseconds since the start.
    fn next_look<S, Q>(&self, _: &Arc<Simulator<S, Q>>) -> Option<i64> {
        self.next.into_iter().flatten().min()
    }

    /// Functions that have ended make room.
    fn tidy<S, Q>(&mut self, sim: &Arc<Simulator<S, Q>>)
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        if sim.common.take_ended() {
            self.tasks.drop_ended();
            for queue in QueueName::ALL {
                sim.common.make_dirty(queue);
            }
        }
    }

    /// Looked at once a virtual minute: whether nothing is left to do.
    fn looked_at_end<S, Q>(&mut self, sim: &Arc<Simulator<S, Q>>) -> bool
    where
        S: Store + Clone + Debug + 'static,
        Q: WorkQueues,
    {
        let minute = sim.simulation().elapsed_ms() / 30_000;
        if minute == self.looked_at {
            return false;
        }
        self.looked_at = minute;
        let running = self.running.iter().flatten().any(|life| !life.is_over());
        let empty = || {
            QueueName::ALL
                .into_iter()
                .all(|queue| sim.queues.next_visible(queue).is_none())
        };
        let calm = sim.common.is_calm() && sim.ledger().pending == 0 && !running;
        calm && empty()
            && !sim.owes_posts()
            && (!sim.reconciles || sim.common.mutation == Some(Mutation::NoReconcile) || sim.is_settled())
    }
}

/// As the queues take it: whole seconds, never shorter.
fn whole_seconds(after: Duration) -> u64 {
    after.as_secs() + u64::from(after.subsec_nanos() > 0)
}
