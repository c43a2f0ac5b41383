//! The use cases' promises on the `DynamoDB` adapter.

use recado_dynamo_histories::{history, tell};
use recado_simulation::Outcome;
use recado_simulation::scenario::{PlayedKinds, Story, Telling, Trouble};

/// How many are played: as many as `RECADO_SEEDS` says, or enough that each trouble is met many times.
fn histories() -> u64 {
    read_number("RECADO_SEEDS").unwrap_or(30)
}

fn read_number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_histories_keep_every_promise() {
    if let Some(seed) = read_number("RECADO_SEED") {
        let outcome = history(seed, None, true);
        assert_eq!(
            outcome.violations,
            Vec::<String>::new(),
            "{}",
            outcome.trace.join("\n")
        );
        return;
    }
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

/// Stories that are played with a crash at each request, and how many steps each has at least.
const STORIES: [(Story, u64); 6] = [
    (Story::Burst, 100),
    (Story::TakeOver, 50),
    (Story::Outage, 100),
    (Story::Lost, 50),
    (Story::RefusedOnce, 50),
    (Story::Acts, 100),
];

/// Plays a story with a crash at each of its steps that is chosen.
fn die_at_steps(story: Story, fewest: u64, choose: impl FnOnce(&Outcome) -> Vec<u64>) {
    let base = Telling::of(story);
    let calm = tell(&base, false);
    assert_eq!(calm.violations, Vec::<String>::new(), "{story:?}");
    assert!(calm.steps > fewest, "{story:?} has {} steps", calm.steps);
    let steps = choose(&calm);
    println!("{story:?}: {} of {} steps", steps.len(), calm.steps);
    for step in steps {
        let outcome = tell(&base.with(Trouble::Crash(step)), false);
        assert_eq!(
            outcome.violations,
            Vec::<String>::new(),
            "{story:?}, at step {step}"
        );
    }
}

#[test]
fn a_function_may_die_before_any_request() {
    let mut kinds = PlayedKinds::default();
    for (story, fewest) in STORIES {
        die_at_steps(story, fewest, |calm| {
            let distinct = calm.distinct_steps.iter();
            distinct
                .filter(|step| kinds.take(step))
                .map(|step| step.number)
                .collect()
        });
    }
}

#[test]
#[ignore = "takes minutes: `make exhaustive` runs it"]
fn a_function_may_die_before_requests_that_equal_an_earlier_one_too() {
    for (story, fewest) in STORIES {
        die_at_steps(story, fewest, |calm| (0..calm.steps).collect());
    }
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
