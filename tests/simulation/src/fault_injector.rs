//! The fault injector of one running function may delay it, stall it, fail its calls, or kill it, before and after each
//! effect.

mod attempt;
mod current;
mod faults;
mod machine;
mod mail;
mod notes;
mod places;

use async_trait::async_trait;
pub use faults::{Faults, Slow};
pub use machine::MachineFault;
pub use places::DistinctStep;

use crate::executor::{Life, Simulation};
use crate::mutation::Mutation;
use crate::observations::Observations;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{Nonce, TenantId};
use recado_domain::millis::add_millis;
use recado_pipeline::RetryLock;
use recado_pipeline::ports::{PortError, PortResult, System};
use std::collections::BTreeMap;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What all functions of a history share.
#[derive(Debug)]
pub struct Common {
    /// Clock and random numbers.
    pub simulation: Simulation,
    /// What may go wrong.
    pub faults: Faults,
    /// The safeguard that is taken out.
    pub mutation: Option<Mutation>,
    steps: AtomicU64,
    broken: Mutex<Vec<String>>,
    trace: Option<Mutex<Vec<String>>>,
    running: Mutex<Vec<Life>>,
    counters: Mutex<Counters>,
    observations: Mutex<Observations>,
    places: Mutex<places::Places>,
    dirty: [AtomicBool; 3],
    ended: AtomicBool,
    /// The machine is to lose its power now.
    pub cut: AtomicBool,
    /// What happens to the machine itself.
    pub machine: MachineFault,
}

/// What a history did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Functions that died.
    pub crashes: u64,
    /// Steps at which a function stalled.
    pub stalls: u64,
    /// Calls that failed.
    pub unavailable: u64,
    /// Functions begun.
    pub invocations: u64,
    /// Send jobs handed to the sender.
    pub sender_receives: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Functions that were cut off when their time was over.
    pub cut_off: u64,
    /// Batches that were handed out to functions that might not run.
    pub throttled: u64,
}

impl Counters {
    /// How often a function was disturbed.
    pub fn faults(&self) -> u64 {
        self.crashes + self.stalls + self.unavailable + self.throttled
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Common {
    /// A history's common part; `traced` keeps what happens.
    pub fn new(simulation: Simulation, faults: Faults, mutation: Option<Mutation>, traced: bool) -> Self {
        Self {
            simulation,
            faults,
            mutation,
            steps: AtomicU64::new(0),
            broken: Mutex::default(),
            trace: traced.then(Mutex::default),
            running: Mutex::default(),
            counters: Mutex::default(),
            observations: Mutex::default(),
            places: Mutex::default(),
            dirty: [true; 3].map(AtomicBool::new),
            ended: AtomicBool::new(false),
            cut: AtomicBool::new(false),
            machine: MachineFault::default(),
        }
    }

    /// A queue was changed.
    pub fn make_dirty(&self, queue: QueueName) {
        self.dirty[place(queue)].store(true, Ordering::Relaxed);
    }

    /// Whether a queue was changed since this was asked last.
    pub fn take_dirty(&self, queue: QueueName) -> bool {
        self.dirty[place(queue)].swap(false, Ordering::Relaxed)
    }

    /// A function ended, well or not.
    pub fn note_ended(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether a function ended since this was asked last.
    pub fn take_ended(&self) -> bool {
        self.ended.swap(false, Ordering::Relaxed)
    }

    /// How many steps functions have taken: the places where one can die.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Returns the steps at which a crash can make a difference.
    pub fn distinct_steps(&self) -> Vec<DistinctStep> {
        locked(&self.places).distinct()
    }

    /// Notes a broken promise.
    pub fn broken(&self, what: String) {
        self.note(|| format!("BROKEN {what}"));
        locked(&self.broken).push(what);
    }

    /// The promises broken so far.
    pub fn violations(&self) -> Vec<String> {
        locked(&self.broken).clone()
    }

    /// Writes a line of the trace, if there is one.
    pub fn note(&self, line: impl FnOnce() -> String) {
        if let Some(trace) = &self.trace {
            let at = self.simulation.elapsed_ms();
            locked(trace).push(format!(
                "{:>10.3} {}",
                Duration::from_millis(at.unsigned_abs()).as_secs_f64(),
                line()
            ));
        }
    }

    /// What happened, line by line; empty without a trace.
    pub fn trace(&self) -> Vec<String> {
        self.trace
            .as_ref()
            .map(|trace| locked(trace).clone())
            .unwrap_or_default()
    }

    /// Changes the counters.
    pub fn count(&self, change: impl FnOnce(&mut Counters)) {
        let mut counters = locked(&self.counters);
        let before = counters.faults();
        change(&mut counters);
        if counters.faults() > before {
            drop(counters);
            self.disturb();
        }
    }

    /// Notes that a function is disturbed now.
    pub fn disturb(&self) {
        let at_ms = self.simulation.elapsed_ms();
        self.observations().disturbed.push(at_ms);
    }

    /// What happened so far, in numbers.
    pub fn counters(&self) -> Counters {
        *locked(&self.counters)
    }

    /// What passed by, for the checks.
    pub fn observations(&self) -> MutexGuard<'_, Observations> {
        locked(&self.observations)
    }

    /// Whether things may go wrong now.
    pub fn is_calm(&self) -> bool {
        self.simulation.elapsed_ms() >= self.faults.calm_from_ms
    }

    /// Ends everything that runs: the machine lost its power.
    pub fn kill_all(&self) {
        self.note(|| "the machine dies".to_owned());
        for life in locked(&self.running).drain(..) {
            life.end();
            self.count(|counters| counters.crashes += 1);
        }
        self.note_ended();
    }

    fn began(&self, life: &Life) -> u64 {
        let mut running = locked(&self.running);
        running.retain(|life| !life.is_over());
        running.push(life.clone());
        self.count(|counters| counters.invocations += 1);
        self.counters().invocations
    }
}

/// A queue's place in [`QueueName::ALL`].
pub fn place(queue: QueueName) -> usize {
    match queue {
        QueueName::Inbound => 0,
        QueueName::Turns => 1,
        QueueName::Outbound => 2,
    }
}

/// See the module. Clones are of the same function.
#[derive(Debug, Clone)]
pub struct FaultInjector {
    /// Shared with all functions.
    pub common: Arc<Common>,
    /// The function's name, in traces.
    pub function: &'static str,
    /// Whether it runs.
    pub life: Life,
    /// How many functions had begun with it.
    number: u64,
    /// How far its clock is off.
    skew_ms: i64,
    /// Whose records it has touched.
    tenant: Arc<Mutex<Option<TenantId>>>,
    /// Which of the observed attempts it is at.
    attempt: Arc<AtomicUsize>,
    /// Where its clock stands still, for a mutation.
    pub frozen: Arc<AtomicI64>,
    /// Whether it has parked something, for a mutation.
    pub parked: Arc<AtomicBool>,
    /// When it read the conversation last, in milliseconds since the start.
    pub read_at: Arc<AtomicI64>,
    /// Whether a claim was refused because its conversation went on, for a mutation.
    pub stopped: Arc<AtomicBool>,
    /// Whether it began an effect, for a mutation.
    pub acted: Arc<AtomicBool>,
    /// The names under which it claimed effects, for a mutation.
    pub claims: Arc<Mutex<BTreeMap<u64, Nonce>>>,
    /// Its turn to try an event again, for all its records.
    pub retries: RetryLock,
}

impl FaultInjector {
    /// Over a function that begins now.
    pub fn new(common: &Arc<Common>, function: &'static str) -> Self {
        let skew = common.faults.skew_ms;
        let life = Life::default();
        let number = common.began(&life);
        Self {
            common: Arc::clone(common),
            function,
            life,
            number,
            skew_ms: common.simulation.between(-skew / 2, skew / 2),
            tenant: Arc::default(),
            attempt: Arc::new(AtomicUsize::new(usize::MAX)),
            frozen: Arc::new(AtomicI64::new(i64::MIN)),
            parked: Arc::default(),
            read_at: Arc::default(),
            stopped: Arc::default(),
            acted: Arc::default(),
            claims: Arc::default(),
            retries: RetryLock::default(),
        }
    }

    /// Over one of several records that the same function handles.
    #[must_use]
    pub fn of_record(&self) -> Self {
        Self {
            tenant: Arc::default(),
            attempt: Arc::new(AtomicUsize::new(usize::MAX)),
            frozen: Arc::new(AtomicI64::new(i64::MIN)),
            parked: Arc::default(),
            read_at: Arc::default(),
            stopped: Arc::default(),
            acted: Arc::default(),
            claims: Arc::default(),
            ..self.clone()
        }
    }

    /// The mutation in force, if it is `mutation`.
    pub fn lacks(&self, mutation: Mutation) -> bool {
        self.common
            .mutation
            .is_some_and(|missing| missing.takes_out(mutation))
    }

    /// A place where others may go first, and where the function may stall or die, after something has happened outside.
    pub async fn step(&self, what: &'static str) {
        self.note_effect(what);
        self.pass(what).await;
    }

    /// A place as [`FaultInjector::step`] is, where nothing has happened outside since the place before.
    pub async fn step_unchanged(&self, what: &'static str) {
        self.pass(what).await;
    }

    /// Notes that something has happened outside by `what`.
    pub fn note_effect(&self, what: &'static str) {
        locked(&self.common.places).note_write(self.number, what);
    }

    async fn pass(&self, what: &'static str) {
        let (common, simulation) = (&self.common, &self.common.simulation);
        let number = common.steps.fetch_add(1, Ordering::Relaxed);
        let function = (self.number, self.function);
        locked(&common.places).note_step(number, function, what, simulation.elapsed_ms());
        if self.life.is_over() {
            // A poison message took the function down.
            common.note_ended();
            return pending().await;
        }
        let faults = &common.faults;
        if faults.crash_at == Some(number) || (!common.is_calm() && simulation.chance(faults.crash)) {
            common.note(|| format!("{} dies at step {number}, {what}", self.function));
            common.count(|counters| counters.crashes += 1);
            self.life.end();
            common.note_ended();
            return pending().await;
        }
        let thaws = faults.freeze.map(|(from, length)| (from, from + length));
        if let Some((from, until)) = thaws
            && (from..until).contains(&simulation.elapsed_ms())
        {
            simulation.sleep(until - simulation.elapsed_ms()).await;
        }
        common.machine.note_step(faults, number);
        if faults.power_cut_at == Some(number) {
            common.cut.store(true, Ordering::Relaxed);
        }
        let stalls = !common.is_calm() && !faults.stall_ms.is_empty() && simulation.chance(faults.stall);
        if let Some((_, milliseconds)) = faults.stall_at.filter(|(at, _)| *at == number) {
            self.stall(number, what, milliseconds).await;
        } else if stalls {
            self.stall(number, what, simulation.pick(&faults.stall_ms)).await;
        } else if simulation.chance(0.3) {
            simulation.sleep(simulation.between(1, 30)).await;
        } else {
            simulation.pause().await;
        }
    }

    async fn stall(&self, number: u64, what: &'static str, milliseconds: i64) {
        self.common.note(|| {
            format!(
                "{} stalls {milliseconds} ms at step {number}, {what}",
                self.function
            )
        });
        self.common.count(|counters| counters.stalls += 1);
        self.common.simulation.sleep(milliseconds).await;
    }

    /// A call of a store or queue, whose effect takes place at one instant.
    pub async fn call<T>(
        &self,
        what: &'static str,
        effect: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        self.pass(what).await;
        let fails = !self.common.is_calm() && self.common.simulation.chance(self.common.faults.unavailable);
        let before = fails && self.common.simulation.chance(0.5);
        if before {
            return Err(self.unavailable(what, "before"));
        }
        let result = self.over_call(effect).await;
        if !places::is_read(what) {
            locked(&self.common.places).note_write(self.number, what);
        }
        self.common.note(|| {
            format!(
                "{} {what}{}",
                self.function,
                if result.is_err() { " failed" } else { "" }
            )
        });
        self.pass(what).await;
        if fails {
            Err(self.unavailable(what, "after"))
        } else {
            result
        }
    }

    fn unavailable(&self, what: &'static str, when: &str) -> PortError {
        self.common
            .note(|| format!("{} {what} is unavailable, {when} its effect", self.function));
        self.common.count(|counters| counters.unavailable += 1);
        PortError::unavailable(what, "the simulation says so")
    }

    /// The tenant whose records the function has read, if any.
    pub fn tenant(&self) -> Option<TenantId> {
        locked(&self.tenant).clone()
    }

    /// Notes that the function has read a record of `tenant`: no function reads those of two.
    pub fn saw(&self, tenant: &TenantId) {
        let mut seen = locked(&self.tenant);
        match &*seen {
            Some(other) if other != tenant && self.function != "reconcile" => {
                let (function, other) = (self.function, other.clone());
                drop(seen);
                self.common
                    .broken(format!("{function} read records of {other} and of {tenant}"));
            }
            Some(_) => {}
            None => *seen = Some(tenant.clone()),
        }
    }
}

/// The name under which readers act whom nothing disturbs.
pub const CALM_FUNCTION: &str = "look";

/// The time limit of a search: 4 seconds, and one for the vector of the question.
const SEARCH_LIMIT_MS: i64 = 5_000;

/// The time limit of a tool that reads.
const LOOKUP_LIMIT_MS: i64 = 6_000;

#[async_trait]
impl System for FaultInjector {
    fn now(&self) -> Timestamp {
        let frozen = self.frozen.load(Ordering::Relaxed);
        if frozen != i64::MIN {
            return recado_domain::millis::from_unix_millis(frozen);
        }
        add_millis(self.common.simulation.machine_now(), self.skew_ms)
    }

    fn random_u64(&self) -> u64 {
        self.common.simulation.random()
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let limits = match milliseconds {
            SEARCH_LIMIT_MS => Some(Mutation::SearchUnbounded),
            LOOKUP_LIMIT_MS => Some(Mutation::ReadingUnbounded),
            _ => None,
        };
        if self.function == "deferred-reply" && limits.is_some_and(|limit| self.lacks(limit)) {
            return std::future::pending().await;
        }
        // Of the API's requests, only orders to stop a batch wait.
        if self.function == "api" && self.lacks(Mutation::BatchStopNotAwaited) {
            return;
        }
        self.common.simulation.sleep(milliseconds).await;
    }
}
