//! What is owed is done although the queues are lost, as after a move or a restore of the table: the records say it.

use futures::executor::block_on;
use recado_pipeline::ports::{ImportBegin, MovableRecords};
use recado_simulation::Outcome;
use recado_simulation::embedded::store;
use recado_simulation::executor::{Life, Simulation};
use recado_simulation::history::play_beside;
use recado_simulation::plan::Plan;
use recado_simulation::queue::EitherQueues;
use recado_simulation::simulator::Aids;
use recado_testkit::moved_records::{check_all_move, read_sorted_records};
use std::sync::Arc;

/// The times at which the queues of a history are lost, at random within the first ten minutes.
const LOSSES: usize = 3;

/// Plays a history in which all queues are lost at random moments. At each of them the records also move into another store.
fn play_with_losses(seed: u64) -> Outcome {
    let make = |simulation: &Simulation, _: &Plan| {
        let queues = EitherQueues::on_sqs(simulation.clone(), 0.03);
        (store(simulation), queues, Aids::default())
    };
    play_beside(seed, None, false, make, |sim| {
        let on = Arc::clone(sim);
        sim.simulation().spawn(Life::default(), async move {
            for _ in 0..LOSSES {
                let pause = on.simulation().between(0, 200_000);
                on.simulation().sleep(pause).await;
                check_all_move(&on.store, &store(on.simulation())).await;
                on.queues.lose_messages();
            }
        });
    })
}

/// Whether a broken promise says how soon something is done. What lost its job waits for the next look of reconcile.
fn is_about_time(promise: &str) -> bool {
    let waited = promise.contains(" waited for ") && promise.ends_with(" ms");
    let was_late = promise.contains(" was answered after ") && promise.contains(" ms: ");
    promise.contains(" ms after ") || waited || was_late
}

#[test]
fn what_is_owed_when_all_queues_are_lost_is_done_and_nothing_is_sent_twice() {
    let mut lost = 0;
    for seed in (0..120).step_by(2) {
        let outcome = play_with_losses(seed);
        let mut broken = outcome.violations;
        broken.retain(|promise| !is_about_time(promise));
        assert!(broken.is_empty(), "seed {seed}: {broken:?}");
        lost += outcome.counters.model_calls;
    }
    assert!(lost > 0, "something happened");
}

#[test]
fn a_store_with_records_takes_no_export() {
    let simulation = Simulation::new(2);
    let (from, to) = (store(&simulation), store(&simulation));
    let fixture = recado_testkit::builders::Fixture::new();
    block_on(recado_pipeline::ports::ConfigurationStore::apply_configuration(
        &to,
        &fixture.document(),
    ))
    .unwrap();
    let before = block_on(read_sorted_records(&to));
    let begun = block_on(to.begin_import("this")).unwrap();
    assert!(matches!(begun, ImportBegin::NotEmpty(_)), "{begun:?}");
    assert_eq!(block_on(read_sorted_records(&to)), before);
    assert_eq!(block_on(from.begin_import("this")).unwrap(), ImportBegin::Ready);
}
