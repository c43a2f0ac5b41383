//! Random histories of one machine whose clock jumps, that is lost and restored, or of whose store a row is damaged:
//! `RECADO_MACHINE_SEEDS` of each behaviour (40). `RECADO_SEED` names one history, which is played with its trace.

use recado_simulation::embedded::machine_faults::random::{MachineFault, play};

/// Histories of each behaviour.
const HISTORIES: u64 = 40;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.trim().parse().ok()
}

fn play_all(behaviour: MachineFault) {
    if let Some(seed) = number("RECADO_SEED") {
        let outcome = play(seed, behaviour, true);
        let (trace, broken) = (outcome.trace.join("\n"), &outcome.violations);
        assert!(broken.is_empty(), "{trace}\n{broken:?}");
        return;
    }
    let (mut steps, mut broken) = (0, Vec::new());
    for seed in 0..number("RECADO_MACHINE_SEEDS").unwrap_or(HISTORIES) {
        let outcome = play(seed, behaviour, false);
        steps += outcome.steps;
        if let Some(first) = outcome.violations.first() {
            broken.push(format!("RECADO_SEED={seed} replays it: {first}"));
        }
    }
    assert!(steps > 0, "something happened");
    assert!(
        broken.is_empty(),
        "{} histories:\n{}",
        broken.len(),
        broken[..broken.len().min(10)].join("\n")
    );
}

#[test]
fn no_jump_of_the_clock_breaks_a_promise() {
    play_all(MachineFault::Clock);
}

#[test]
fn no_restore_breaks_a_promise() {
    play_all(MachineFault::Loss);
}

#[test]
fn no_damaged_row_breaks_a_promise() {
    play_all(MachineFault::Damage);
}
