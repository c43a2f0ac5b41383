//! Histories in which holders of one tenant's token ask for another's records by every way in: no answer names anything of
//! the other tenant, and what the others were promised is kept.

use recado_simulation::embedded::store;
use recado_simulation::executor::Simulation;
use recado_simulation::plan::Plan;
use recado_simulation::queue::EitherQueues;
use recado_simulation::simulator::{StoreExtras, Way};
use recado_simulation::{Outcome, play_beside};

fn history(seed: u64, ways: &[Way], are_limited: bool) -> Outcome {
    let make = |simulation: &Simulation, _: &Plan| {
        let queues = EitherQueues::on_sqs(simulation.clone(), 0.03);
        (store(simulation), queues, StoreExtras::default())
    };
    play_beside(seed, None, false, make, |sim| {
        sim.let_strangers_ask(ways, are_limited);
    })
}

#[test]
fn a_stranger_is_told_nothing_and_changes_nothing_whatever_happens_meanwhile() {
    let ways = [&Way::READING[..], &Way::CHANGING[..]].concat();
    for seed in 0..90 {
        let outcome = history(seed, &ways, true);
        assert!(
            outcome.violations.is_empty(),
            "seed {seed}: {:?}",
            outcome.violations
        );
    }
}

#[test]
fn each_way_tells_of_the_other_tenant_where_tokens_are_not_limited() {
    let ways = Way::READING
        .into_iter()
        .chain([Way::Send, Way::ChangeGuests, Way::OrderBatch]);
    for way in ways {
        let tells = |seed| {
            let outcome = history(seed, &[way], false);
            let told = format!("by {way:?}");
            outcome.violations.iter().any(|broken| broken.ends_with(&told))
        };
        assert!(
            (0..60).any(tells),
            "{way:?} tells nothing: the check would not see it"
        );
    }
}
