//! Faults of one machine that no fault of a single function plays: its clock jumps, a row of its database is damaged, it is lost and
//! restored from a backup. What is owed is checked by its meaning, on the phones and in the calendar.

pub mod clock;
pub mod damage;
pub mod meaning;
pub mod random;
pub mod restore;
mod rows;

pub use rows::{Damage, list_kinds, list_timed_tables};

use super::{recover, store};
use crate::executor::{Life, Simulation};
use crate::fault_injector::Faults;
use crate::history::Outcome;
use crate::queue::EitherQueues;
use crate::scenario::{Story, Telling};
use crate::simulator::{AtMark, Simulator, Style};
use recado_embedded::Embedded;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulator of one machine, whose rows can be reached.
pub type Machine = Arc<Simulator<Embedded, EitherQueues>>;

/// How long a story goes on after all has happened that happens by itself, in milliseconds.
pub const GOES_ON_MS: i64 = 3_600_000;

/// What is taken out, to see which story misses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Nothing.
    Nothing,
    /// The correction of the times in a table after the clock was set back.
    SetBack(&'static str),
    /// The notes of the time that a running program makes every minute.
    NotedClock,
    /// The doubts about the rows of a table after a restore.
    Doubt(&'static str),
    /// The time from which on contacts are answered after a restore.
    RestoreTime,
    /// The helper that passes over rows that cannot be read: the list of overdue work fails as a whole.
    PassingOver,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets up a story on one machine, of which the model names all that it answers. `marks`: the steps at which [`at_marks`] acts.
pub fn set_up(story: Story, seed: u64, marks: &[u64], traced: bool) -> Machine {
    let telling = Telling {
        style: Style::Machine,
        seed,
        ..Telling::of(story)
    };
    let faults = Faults {
        marks: marks.to_vec(),
        ..telling.faults()
    };
    let sim = telling.set_up(faults, traced, |simulation: &Simulation| {
        let store = store(simulation);
        let again = recover(&store);
        (store.clone(), EitherQueues::Embedded(store), Some(again))
    });
    sim.fake_world.let_model_be_plain();
    sim
}

/// Calls `act` with the machine at each marked step.
pub fn at_marks(sim: &Machine, act: impl Fn(&Machine, u64) + Send + Sync + 'static) {
    let on = Arc::downgrade(sim);
    let at_mark = AtMark(Arc::new(move |step| {
        if let Some(sim) = on.upgrade() {
            act(&sim, step);
        }
    }));
    sim.at_mark.set(at_mark).expect("the marks are set once");
}

/// Notes the time every minute, as the program does.
pub(super) fn note_clock(sim: &Machine) {
    let on = Arc::clone(sim);
    sim.simulation().spawn(Life::default(), async move {
        loop {
            on.simulation().sleep(60_000).await;
            on.store.note_clock().await.expect("the time is noted");
        }
    });
}

/// Plays a story to an hour after its end.
pub fn go_on(sim: &Machine) {
    let end = sim.common.faults.calm_from_ms + GOES_ON_MS;
    sim.go_on_until(end, false);
}

/// What a simulation came to, by what was noted as broken.
pub(super) fn outcome(sim: &Machine) -> Outcome {
    Outcome {
        violations: sim.common.violations(),
        counters: sim.common.counters(),
        steps: sim.common.steps(),
        distinct_steps: sim.common.distinct_steps(),
        polls: sim.simulation().polls(),
        virtual_ms: sim.simulation().elapsed_ms(),
        trace: sim.common.trace(),
        ..Outcome::default()
    }
}

/// Plays a story to whose machine nothing happens.
pub fn undisturbed(story: Story, seed: u64) -> (Machine, Outcome) {
    let sim = set_up(story, seed, &[], false);
    go_on(&sim);
    let outcome = outcome(&sim);
    (sim, outcome)
}
