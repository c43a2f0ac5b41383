//! Tasks on a virtual clock. One seed decides which ready task goes on and how long everything takes, so that a history
//! replays exactly.

use fastrand::Rng;
use jiff::Timestamp;
use recado_domain::millis::from_unix_millis;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// When histories begin, in milliseconds since the Unix epoch: 2026-01-05T12:00:00Z.
pub const START_MS: i64 = 1_767_614_400_000;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether a task still runs. A crashed one is dropped where it stands: nothing of it happens any more.
#[derive(Debug, Clone, Default)]
pub struct Life(Arc<AtomicBool>);

impl Life {
    /// Ends the task before its next step.
    pub fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was ended.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The clock, the random numbers and the tasks of one history. Clones are the same simulation.
#[derive(Clone)]
pub struct Simulation(Arc<Mutex<Core>>);

struct Core {
    now: i64,
    ahead_ms: i64,
    sequence: u64,
    rng: Rng,
    timers: BTreeMap<(i64, u64), Waker>,
    ready: Vec<usize>,
    new: Vec<(Task, Life)>,
    polls: u64,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Simulation at {}", self.now())
    }
}

struct TaskWaker {
    core: Arc<Mutex<Core>>,
    task: usize,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        let mut core = locked(&self.core);
        if !core.ready.contains(&self.task) {
            core.ready.push(self.task);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one round of [`Tasks::step`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A task went on.
    Polled,
    /// Time went on to the next timer.
    Advanced,
    /// Nothing is ready and nothing is timed.
    Idle,
}

impl Simulation {
    /// A simulation at [`START_MS`].
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Core {
            now: START_MS,
            ahead_ms: 0,
            sequence: 0,
            rng: Rng::with_seed(seed),
            timers: BTreeMap::new(),
            ready: Vec::new(),
            new: Vec::new(),
            polls: 0,
        })))
    }

    /// The true time.
    pub fn now(&self) -> Timestamp {
        from_unix_millis(locked(&self.0).now)
    }

    /// The time by the machine's clock, which may be wrong.
    pub fn machine_now(&self) -> Timestamp {
        let core = locked(&self.0);
        from_unix_millis(core.now + core.ahead_ms)
    }

    /// How far the machine's clock is ahead of the true time, in milliseconds.
    pub fn ahead_ms(&self) -> i64 {
        locked(&self.0).ahead_ms
    }

    /// Sets how far the machine's clock is ahead.
    pub fn set_ahead(&self, milliseconds: i64) {
        locked(&self.0).ahead_ms = milliseconds;
    }

    /// The true time, in milliseconds since the start.
    pub fn elapsed_ms(&self) -> i64 {
        locked(&self.0).now - START_MS
    }

    /// Lets time go on to so many milliseconds since the start.
    pub fn advance_to(&self, elapsed_ms: i64) {
        let mut core = locked(&self.0);
        core.now = core.now.max(START_MS + elapsed_ms);
    }

    /// How often a task went on.
    pub fn polls(&self) -> u64 {
        locked(&self.0).polls
    }

    /// Any number.
    pub fn random(&self) -> u64 {
        locked(&self.0).rng.u64(..)
    }

    /// A number from 0 up to, and without, `below`.
    pub fn below(&self, below: u64) -> u64 {
        locked(&self.0).rng.u64(..below.max(1))
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&self, from: i64, to: i64) -> i64 {
        locked(&self.0).rng.i64(from..=to.max(from))
    }

    /// True in `chance` of all cases.
    pub fn chance(&self, chance: f64) -> bool {
        chance > 0.0 && locked(&self.0).rng.f64() < chance
    }

    /// One of `choices`.
    pub fn pick<T: Clone>(&self, choices: &[T]) -> T {
        let at = locked(&self.0).rng.usize(..choices.len());
        choices[at].clone()
    }

    /// Starts a task. It ends by itself or with `life`.
    pub fn spawn(&self, life: Life, task: impl Future<Output = ()> + Send + 'static) {
        locked(&self.0).new.push((Box::pin(task), life));
    }

    /// Waits `milliseconds` of virtual time.
    pub fn sleep(&self, milliseconds: i64) -> Sleep {
        let until = locked(&self.0).now.saturating_add(milliseconds.max(0));
        Sleep {
            simulation: self.clone(),
            until,
            registered: false,
        }
    }

    /// Lets others go first.
    pub fn pause(&self) -> Pause {
        Pause(false)
    }
}

/// See [`Simulation::sleep`].
#[derive(Debug)]
pub struct Sleep {
    simulation: Simulation,
    until: i64,
    registered: bool,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut core = locked(&self.simulation.0);
        if core.now >= self.until {
            return Poll::Ready(());
        }
        if !self.registered {
            core.sequence += 1;
            let key = (self.until, core.sequence);
            core.timers.insert(key, context.waker().clone());
            drop(core);
            self.registered = true;
        }
        Poll::Pending
    }
}

/// See [`Simulation::pause`].
#[derive(Debug)]
pub struct Pause(bool);

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The tasks themselves; only the loop that drives them has them.
#[derive(Default)]
pub struct Tasks {
    slots: Vec<Option<(Task, Life, Waker)>>,
    free: Vec<usize>,
    alive: usize,
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tasks", self.alive)
    }
}

impl Tasks {
    /// How many have not ended.
    pub fn alive(&self) -> usize {
        self.alive
    }

    /// Lets a random ready task go on, or time go on to the next timer, but not beyond `until` (milliseconds since the
    /// start).
    pub fn step(&mut self, simulation: &Simulation, until: i64) -> Progress {
        self.adopt(simulation);
        let chosen = {
            let mut core = locked(&simulation.0);
            match core.ready.len() {
                0 => None,
                ready => {
                    let at = core.rng.usize(..ready);
                    core.polls += 1;
                    Some(core.ready.swap_remove(at))
                }
            }
        };
        match chosen {
            Some(task) => {
                self.poll(task);
                Progress::Polled
            }
            None => Self::advance(simulation, until),
        }
    }

    /// Drops every task whose life is over, wherever it waits.
    pub fn drop_ended(&mut self) {
        for at in 0..self.slots.len() {
            if self.slots[at].as_ref().is_some_and(|(_, life, _)| life.is_over()) {
                self.remove(at);
            }
        }
    }

    fn adopt(&mut self, simulation: &Simulation) {
        let new = std::mem::take(&mut locked(&simulation.0).new);
        for (task, life) in new {
            let at = self.free.pop().unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            let waker = Waker::from(Arc::new(TaskWaker {
                core: Arc::clone(&simulation.0),
                task: at,
            }));
            self.slots[at] = Some((task, life, waker));
            self.alive += 1;
            let mut core = locked(&simulation.0);
            if !core.ready.contains(&at) {
                core.ready.push(at);
            }
        }
    }

    fn poll(&mut self, at: usize) {
        let Some((task, life, waker)) = self.slots.get_mut(at).and_then(Option::as_mut) else {
            return;
        };
        let done = life.is_over() || task.as_mut().poll(&mut Context::from_waker(waker)).is_ready();
        if done || life.is_over() {
            self.remove(at);
        }
    }

    fn remove(&mut self, at: usize) {
        self.slots[at] = None;
        self.free.push(at);
        self.alive -= 1;
    }

    fn advance(simulation: &Simulation, until: i64) -> Progress {
        let mut core = locked(&simulation.0);
        let Some((&(at, _), _)) = core.timers.first_key_value() else {
            return Progress::Idle;
        };
        if at - START_MS > until {
            return Progress::Idle;
        }
        core.now = core.now.max(at);
        let mut due = Vec::new();
        while let Some(entry) = core.timers.first_entry() {
            if entry.key().0 > at {
                break;
            }
            due.push(entry.remove());
        }
        drop(core);
        due.into_iter().for_each(Waker::wake);
        Progress::Advanced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64) -> (Vec<u32>, i64) {
        let simulation = Simulation::new(seed);
        let (mut tasks, log) = (Tasks::default(), Arc::new(Mutex::new(Vec::new())));
        for name in 0..6 {
            let (sim, log) = (simulation.clone(), Arc::clone(&log));
            simulation.spawn(Life::default(), async move {
                for _ in 0..3 {
                    sim.pause().await;
                    locked(&log).push(name);
                    sim.sleep(sim.between(0, 5)).await;
                }
            });
        }
        while tasks.step(&simulation, i64::MAX) != Progress::Idle {}
        assert_eq!(tasks.alive(), 0);
        let log = locked(&log).clone();
        (log, simulation.elapsed_ms())
    }

    #[test]
    fn a_seed_replays_and_others_differ() {
        assert_eq!(order(7), order(7));
        assert_eq!(order(7).0.len(), 18);
        assert!((0..20).any(|seed| order(seed) != order(7)));
    }

    #[test]
    fn an_ended_task_does_nothing_more_and_time_stops_at_its_bound() {
        let simulation = Simulation::new(1);
        let (mut tasks, life, reached) = (Tasks::default(), Life::default(), Life::default());
        let (sim, after) = (simulation.clone(), reached.clone());
        simulation.spawn(life.clone(), async move {
            sim.sleep(1_000).await;
            after.end();
        });
        while tasks.step(&simulation, 999) != Progress::Idle {}
        assert_eq!(simulation.elapsed_ms(), 0, "the timer lies beyond the bound");
        life.end();
        tasks.drop_ended();
        while tasks.step(&simulation, 2_000) != Progress::Idle {}
        assert!(!reached.is_over() && tasks.alive() == 0);
    }
}
