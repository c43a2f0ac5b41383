//! What is owed is done although the queues are lost, as after a move or a restore of the table: the records say it.

use futures::executor::block_on;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_embedded::Embedded;
use recado_pipeline::ports::{ImportBegin, MovableRecords};
use recado_simulation::Outcome;
use recado_simulation::embedded::store;
use recado_simulation::executor::{Life, Simulation};
use recado_simulation::fake_world::{Said, SendBehaviours};
use recado_simulation::fault_injector::{Common, Faults};
use recado_simulation::history::{finish, play_beside, sim};
use recado_simulation::plan::{Plan, address, bound};
use recado_simulation::queue::EitherQueues;
use recado_simulation::scenario::{Story, Telling};
use recado_simulation::simulator::{AtMark, Simulator, StoreExtras};
use recado_testkit::moved_records::{check_all_move, read_sorted_records};
use std::sync::Arc;

/// The times at which the queues of a history are lost, at random within the first ten minutes.
const LOSSES: usize = 3;

/// Plays a history in which all queues are lost at random moments. At each of them the records also move into another store.
fn play_with_losses(seed: u64) -> Outcome {
    let make = |simulation: &Simulation, _: &Plan| {
        let queues = EitherQueues::on_sqs(simulation.clone(), 0.03);
        (store(simulation), queues, StoreExtras::default())
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

/// A history on one store and the model of SQS.
type Played = Arc<Simulator<Embedded, EitherQueues>>;

fn on_sqs(simulation: &Simulation) -> (Embedded, EitherQueues, StoreExtras) {
    let queues = EitherQueues::on_sqs(simulation.clone(), 0.0);
    (store(simulation), queues, StoreExtras::default())
}

/// A contact writes to a number that is not configured, so the event is given up.
fn write_to_unknown_number(faults: Faults) -> Played {
    let simulation = Simulation::new(1);
    let common = Arc::new(Common::new(simulation.clone(), faults, None, false));
    let (store, queues, _) = on_sqs(&simulation);
    let known = bound(0, 0, Provider::Evolution, None);
    let unknown = bound(9, 9, Provider::Evolution, None).instance;
    let sim = Arc::new(sim(&common, store, queues, vec![known.clone()]));
    sim.fake_world.connect(
        &known.instance.id,
        known.instance.provider,
        SendBehaviours::calm(),
    );
    let said = Said {
        id: "in-m1",
        text: "m1",
        from_me: false,
        sent_at: None,
    };
    if let Some(external) = unknown.resolve_external_id() {
        let event = said.event(unknown.provider, &external, &address(9, 0));
        sim.post(WebhookItem::Event(event), 0);
    }
    sim
}

/// When a function comes to a marked step, all functions die and all queue messages are lost.
fn lose_all_at_marks(sim: &Played) {
    let on = Arc::downgrade(sim);
    let lose = move |_: u64| {
        if let Some(sim) = on.upgrade() {
            sim.cut_power();
            sim.queues.lose_messages();
        }
    };
    assert!(sim.at_mark.set(AtMark(Arc::new(lose))).is_ok());
}

/// Plays a history once for each of its steps, and loses all at that step. Returns each step with what came of it.
fn lose_all_at_each_step(calm_from_ms: i64, set_up: impl Fn(Faults) -> Played) -> Vec<(u64, Outcome)> {
    let play = |marks: Vec<u64>| {
        let sim = set_up(Faults {
            calm_from_ms,
            marks,
            ..Faults::default()
        });
        lose_all_at_marks(&sim);
        finish(&sim)
    };
    let steps = play(Vec::new()).distinct_steps.into_iter();
    steps.map(|step| (step.number, play(vec![step.number]))).collect()
}

/// Whether a broken promise says that nobody is told of something that was given up, or that it waits for that for ever.
fn is_about_letters(promise: &str) -> bool {
    promise.contains("letter") || promise.starts_with("left open")
}

/// The write that makes an event dead stores its dead letter, so no crash comes between them.
#[test]
fn what_is_given_up_has_its_dead_letter_although_all_functions_die_and_all_queues_are_lost() {
    let events = lose_all_at_each_step(60_000, write_to_unknown_number);
    for (step, outcome) in &events {
        assert_eq!(outcome.dead, 1, "step {step}: {:?}", outcome.violations);
    }
    let mut played = vec![("an event".to_owned(), events)];
    for story in [Story::RefusedOnce, Story::FailedLater, Story::Mailed] {
        let set_up = |faults| Telling::of(story).set_up(faults, false, on_sqs);
        played.push((
            format!("{story:?}"),
            lose_all_at_each_step(story.calm_ms(), set_up),
        ));
    }
    for (what, outcomes) in played {
        assert!(outcomes.iter().any(|(_, outcome)| outcome.dead > 0), "{what}");
        for (step, mut outcome) in outcomes {
            outcome.violations.retain(|promise| is_about_letters(promise));
            assert!(
                outcome.violations.is_empty(),
                "{what}, step {step}: {:?}",
                outcome.violations
            );
        }
    }
}

#[test]
fn a_store_with_records_takes_no_export() {
    let simulation = Simulation::new(2);
    let (from, to) = (store(&simulation), store(&simulation));
    let fixture = recado_testkit::builders::Fixture::new();
    block_on(recado_pipeline::records::configuration::put_configuration(
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
