//! The machine's clock runs ahead for a while and is set back, or jumps forward to the right time.

use super::meaning::{self, Meaning};
use super::rows::correct_times;
use super::{Machine, Missing, at_marks, go_on, locked, note_clock, outcome, set_up};
use crate::executor::Life;
use crate::history::Outcome;
use crate::scenario::Story;
use futures::executor::block_on;
use recado_domain::dead_letter::QueueName;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The largest step back that a program ignores.
const TOLERATED: Duration = Duration::from_secs(30);

/// Within this time, in milliseconds, a running program sees that its clock was set back, and corrects the times.
const SEEN_MS: i64 = 120_000;

/// Within this time, in milliseconds, all that was owed has come, once the times are corrected.
pub const ANSWERED_MS: i64 = 600_000;

/// How the clock becomes right again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBack {
    /// While the program runs.
    Running,
    /// While it is stopped, after it was killed.
    Stopped,
}

/// A clock that is wrong for a while.
#[derive(Debug, Clone, Copy)]
pub struct WrongClock {
    /// How far it runs ahead, in milliseconds.
    pub ahead_ms: i64,
    /// The step from which on it does.
    pub from: u64,
    /// The step at which it is set right.
    pub until: u64,
    /// How it is set right.
    pub set_back: SetBack,
    /// What is taken out.
    pub missing: Missing,
}

/// Sets how far the machine's clock is ahead.
pub(super) fn set_clock(sim: &Machine, ahead_ms: i64) {
    sim.common.note(|| format!("the clock is {ahead_ms} ms ahead"));
    sim.simulation().set_ahead(ahead_ms);
    for queue in QueueName::ALL {
        sim.common.make_dirty(queue);
    }
}

/// The tables whose times are not corrected.
fn left_out(missing: Missing) -> Vec<&'static str> {
    match missing {
        Missing::SetBack(table) => vec![table],
        _ => Vec::new(),
    }
}

fn start_again(sim: &Machine, missing: Missing) {
    sim.cut_power();
    let lag = block_on(sim.store.measure_clock_lag()).expect("the lag is measured");
    if lag > TOLERATED {
        correct_times(&sim.store, &left_out(missing));
    }
}

/// A running program looks at its clock every minute, and corrects the times a minute later.
fn see_it_later(sim: &Machine, missing: Missing) {
    let on = Arc::clone(sim);
    sim.ledger().pending += 1;
    sim.simulation().spawn(Life::default(), async move {
        on.simulation().sleep(SEEN_MS).await;
        correct_times(&on.store, &left_out(missing));
        for queue in QueueName::ALL {
            on.common.make_dirty(queue);
        }
        on.ledger().pending -= 1;
    });
}

/// Sets the clock right. Returns when the times are corrected, in milliseconds since the start.
pub(super) fn set_right(sim: &Machine, set_back: SetBack, missing: Missing) -> i64 {
    set_clock(sim, 0);
    let now_ms = sim.simulation().elapsed_ms();
    match set_back {
        SetBack::Stopped => {
            start_again(sim, missing);
            now_ms
        }
        SetBack::Running => {
            see_it_later(sim, missing);
            now_ms + SEEN_MS
        }
    }
}

/// What a story owes, by the same story whose clock is right.
#[derive(Debug, Clone, Default)]
pub struct Owed {
    /// When each meaning came first.
    pub came: BTreeMap<Meaning, i64>,
    /// What came twice.
    pub twice: BTreeSet<Meaning>,
}

impl Owed {
    /// Returns what came in an undisturbed story.
    pub fn of(sim: &Machine) -> Self {
        let repeats = meaning::list_repeats(sim).into_iter();
        Self {
            came: meaning::first_arrivals(sim),
            twice: repeats.flat_map(|got| got.meanings).collect(),
        }
    }
}

/// Plays a story with a clock that is wrong for a while. All that is owed must come soon after it is right, and nothing twice.
pub fn play(story: Story, seed: u64, clock: WrongClock, owed: &Owed, traced: bool) -> Outcome {
    let sim = set_up(story, seed, &[clock.from, clock.until], traced);
    if clock.missing != Missing::NotedClock {
        note_clock(&sim);
    }
    let right_ms = Arc::new(Mutex::new(0));
    let noted = Arc::clone(&right_ms);
    at_marks(&sim, move |sim, step| {
        if step == clock.from {
            set_clock(sim, clock.ahead_ms);
            // The time is noted every minute. A clock that is wrong for less, and is set right while the program is stopped, is not
            // noticed; so the stories note it here.
            if clock.missing != Missing::NotedClock {
                block_on(sim.store.note_clock()).expect("the time is noted");
            }
        }
        if step != clock.until {
            return;
        }
        *locked(&noted) = set_right(sim, clock.set_back, clock.missing);
    });
    go_on(&sim);
    let right_ms = *locked(&right_ms);
    meaning::check_repeats(&sim, 0, &owed.twice);
    meaning::check_arrivals(&sim, &owed.came, right_ms, ANSWERED_MS);
    outcome(&sim)
}
