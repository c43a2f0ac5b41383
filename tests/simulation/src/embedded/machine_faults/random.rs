//! Random histories of one machine whose clock jumps, that is lost and restored, or of whose store a row is damaged.

use super::clock::{self, SetBack};
use super::damage::{self, Damaged, KINDS};
use super::rows::Damage;
use super::{Machine, Missing, locked, meaning, note_clock, outcome, restore};
use crate::embedded::{recover, store};
use crate::executor::{Life, Simulation};
use crate::fault_injector::{Common, Faults};
use crate::history::{Outcome, sim};
use crate::plan::Plan;
use crate::queue::EitherQueues;
use crate::simulator::{StoreExtras, Style};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A history goes on for so long after nothing goes wrong any more, in milliseconds.
const GOES_ON_MS: i64 = 5_400_000;

/// What happens to the machine of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineFault {
    /// Its clock runs ahead for a while.
    Clock,
    /// It is lost and restored.
    Loss,
    /// A row is damaged.
    Damage,
}

/// Plays the history of this seed with a behaviour.
pub fn play(seed: u64, behaviour: MachineFault, traced: bool) -> Outcome {
    if behaviour == MachineFault::Damage {
        return play_damage(seed, traced);
    }
    let sim = make(seed, traced);
    let from_ms = Arc::new(Mutex::new(i64::MAX));
    if behaviour == MachineFault::Clock {
        let ahead_ms = sim.simulation().pick(&[600_000, 10_800_000, 172_800_000]);
        let (from, length) = (
            sim.simulation().between(0, 120_000),
            sim.simulation().between(1_000, 1_200_000),
        );
        let set_back = sim.simulation().pick(&[SetBack::Running, SetBack::Stopped]);
        note_clock(&sim);
        let on = Arc::clone(&sim);
        sim.simulation().spawn(Life::default(), async move {
            on.simulation().sleep(from).await;
            clock::set_clock(&on, ahead_ms);
            on.simulation().sleep(length).await;
            clock::set_right(&on, set_back, Missing::Nothing);
        });
        *locked(&from_ms) = 0;
    } else {
        let (backup, loss) = (
            sim.simulation().between(0, 200_000),
            sim.simulation().between(100, 400_000),
        );
        let (on, noted) = (Arc::clone(&sim), Arc::clone(&from_ms));
        sim.simulation().spawn(Life::default(), async move {
            on.simulation().sleep(backup).await;
            let copy = on.store.copy_for_test().expect("a backup is taken");
            let copy = copy.expect("a store in memory");
            let accepted = restore::Accepted::count(&on);
            on.simulation().sleep(loss).await;
            restore::restore(&on, &copy, Missing::Nothing);
            restore::repeat_webhooks(&on);
            restore::repeat_orders(&on, accepted);
            restore::repeat_configuration(&on);
            *locked(&noted) = on.simulation().elapsed_ms();
        });
    }
    let end = sim.common.faults.calm_from_ms + GOES_ON_MS;
    sim.go_on_until(end, false);
    meaning::check_repeats(&sim, *locked(&from_ms), &excused(&sim));
    meaning::check_questions(&sim);
    outcome(&sim)
}

/// Clients that repeat what the backup does not know order it anew.
fn excused(sim: &Machine) -> BTreeSet<meaning::Meaning> {
    let all = meaning::first_arrivals(sim).into_keys();
    all.filter(|(_, what)| !what.starts_with("re ")).collect()
}

fn make(seed: u64, traced: bool) -> Machine {
    let simulation = Simulation::new(seed);
    let mut plan = Plan::random(&simulation);
    plan.style = Style::Machine;
    plan.lost = 0.0;
    let faults = Faults {
        throttled: Vec::new(),
        ..plan.faults.clone()
    };
    let common = Arc::new(Common::new(simulation.clone(), faults, None, traced));
    let store = store(&simulation);
    let again = recover(&store);
    let mut sim = sim(
        &common,
        store.clone(),
        EitherQueues::Embedded(store),
        plan.bounds(),
    );
    sim.style = Style::Machine;
    sim.extras = StoreExtras::from(Some(again));
    sim.posted_twice = plan.posted_twice;
    let sim = Arc::new(sim);
    plan.set(&sim);
    sim.fake_world.let_model_be_plain();
    sim.fake_world.let_model_go_on(0.0);
    sim
}

fn play_damage(seed: u64, traced: bool) -> Outcome {
    let simulation = Simulation::new(seed);
    let (kind, concerns) = simulation.pick(KINDS);
    let damaged = Damaged {
        kind,
        concerns,
        damage: simulation.pick(&[Damage::CutOff, Damage::Replaced]),
        missing: Missing::Nothing,
    };
    damage::play(seed, damaged, traced).outcome
}
