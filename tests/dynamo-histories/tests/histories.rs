//! The use cases' promises on the `DynamoDB` adapter.

use recado_dynamo_histories::{history, tell};
use recado_simulation::scenario::{Story, Telling, Trouble};

/// How many are played: as many as `RECADO_SEEDS` says, or enough that each trouble is met many times.
fn histories() -> u64 {
    let said = std::env::var("RECADO_SEEDS").ok();
    said.and_then(|count| count.parse().ok()).unwrap_or(30)
}

#[test]
fn random_histories_keep_every_promise() {
    let histories = histories();
    let (mut broken, mut unavailable, mut crashes) = (Vec::new(), 0, 0);
    for seed in 1..=histories {
        let outcome = history(seed, None, false);
        unavailable += outcome.counters.unavailable;
        crashes += outcome.counters.crashes;
        broken.extend(outcome.violations.first().map(|first| format!("{seed}: {first}")));
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(
        unavailable > histories && crashes > histories,
        "{unavailable} requests failed, {crashes} functions died"
    );
}

#[test]
fn a_history_is_the_same_when_it_is_played_again() {
    for seed in [3, 4, 5, 6] {
        let (first, again) = (history(seed, None, true), history(seed, None, true));
        assert!(first.trace.len() > 50, "something happens in {seed}");
        assert_eq!(first.trace, again.trace);
    }
}

/// Tells it with a crash at each step in turn; how often.
fn dies_at_any_step(story: Story) -> u64 {
    let base = Telling::of(story);
    let calm = tell(&base, false);
    assert_eq!(calm.violations, Vec::<String>::new(), "{story:?}");
    for step in 0..calm.steps {
        let outcome = tell(&base.with(Trouble::Crash(step)), false);
        assert_eq!(
            outcome.violations,
            Vec::<String>::new(),
            "{story:?}, at step {step}"
        );
    }
    calm.steps
}

#[test]
fn a_function_may_die_before_any_request_of_a_burst() {
    assert!(dies_at_any_step(Story::Burst) > 100);
}

#[test]
fn a_function_may_die_before_any_request_of_a_takeover() {
    assert!(dies_at_any_step(Story::TakeOver) > 50);
}

#[test]
fn a_function_may_die_before_any_request_of_an_outage() {
    assert!(dies_at_any_step(Story::Outage) > 100);
}

#[test]
fn a_function_may_die_before_any_request_around_a_send_that_is_lost() {
    assert!(dies_at_any_step(Story::Lost) > 50);
}

#[test]
fn a_function_may_die_before_any_request_around_a_send_that_is_refused() {
    assert!(dies_at_any_step(Story::RefusedOnce) > 50);
}

#[test]
fn a_function_may_die_before_any_request_of_a_booking() {
    assert!(dies_at_any_step(Story::Acts) > 100);
}

#[test]
fn of_fifty_contacts_who_wish_one_slot_at_once_one_has_it_and_all_are_answered() {
    for seed in 1..=2 {
        let telling = Telling {
            seed,
            ..Telling::of(Story::ActsCrowd)
        };
        let outcome = tell(&telling, false);
        assert_eq!(outcome.violations, Vec::<String>::new(), "seed {seed}");
        assert!(outcome.counters.model_calls >= 100, "each asks twice");
    }
}
