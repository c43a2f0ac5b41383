//! The main stories with a crash, a stall or a power cut at every step. The suite leaves out crashes at steps that equal an
//! earlier one: the same function, and nothing written since. Of a kind of step that many stories share it plays the first
//! three, and it leaves out the longest story. `make exhaustive` plays these too.
//! `RECADO_STORY` names the one story that is played.

use recado_simulation::embedded::tell;
use recado_simulation::fault_injector::DistinctStep;
use recado_simulation::scenario::{PlayedKinds, Story, Telling, Trouble};
use recado_simulation::simulator::Style;

/// Which steps of a story are played with a trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Steps {
    All,
    Distinct,
}

/// The story that is played alone, if the environment names one.
fn find_named_story() -> Option<String> {
    std::env::var("RECADO_STORY").ok()
}

fn at_every_step(style: Style, chosen: Steps, trouble: impl Fn(u64) -> Trouble) {
    let (mut told, mut broken, mut kinds) = (0, Vec::new(), PlayedKinds::default());
    let named = find_named_story();
    // The story of four appointments lasts so long that the suite plays that of one at every step instead.
    let is_played = |story: Story| chosen == Steps::All || story != Story::ActsReminds;
    let is_asked = |story: &&Story| match &named {
        Some(name) => *name == format!("{story:?}"),
        None => is_played(**story),
    };
    for story in Story::ALL.iter().filter(is_asked) {
        let base = Telling {
            style,
            ..Telling::of(*story)
        };
        let undisturbed = tell(&base, false);
        let steps: Vec<u64> = match chosen {
            Steps::All => (0..undisturbed.steps).collect(),
            Steps::Distinct => {
                let distinct = undisturbed.distinct_steps.into_iter();
                let is_kept = |step: &DistinctStep| named.is_some() || kinds.take(step);
                distinct.filter(is_kept).map(|step| step.number).collect()
            }
        };
        for step in steps {
            let outcome = tell(&base.with(trouble(step)), false);
            told += 1;
            if let Some(first) = outcome.violations.first() {
                broken.push(format!("{story:?} {:?}: {first}", trouble(step)));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} of {told} stories, such as {:#?}",
        broken.len(),
        &broken[..broken.len().min(5)]
    );
    println!("{told} stories");
    assert!(
        told > 1_500 || (named.is_some() && told > 0),
        "only {told} stories"
    );
}

#[test]
fn a_function_may_die_at_any_step() {
    at_every_step(Style::Lambda, Steps::Distinct, Trouble::Crash);
}

#[test]
fn the_machine_may_lose_its_power_at_any_step() {
    at_every_step(Style::Machine, Steps::Distinct, Trouble::PowerCut);
}

#[test]
fn a_function_may_stall_for_some_seconds_while_a_reply_is_taken_back() {
    for (style, seed) in [(Style::Lambda, 1), (Style::Lambda, 2), (Style::Machine, 1)] {
        let base = Telling {
            style,
            seed,
            ..Telling::of(Story::GiveBackInFailure)
        };
        for step in 0..tell(&base, false).steps {
            for milliseconds in [5_000, 10_000, 20_000] {
                let telling = base.with(Trouble::Stall(step, milliseconds));
                let broken = tell(&telling, false).violations;
                assert!(broken.is_empty(), "{telling:?}: {broken:?}");
            }
        }
    }
}

/// A failed message may be redriven within seconds, while its first copy stands in the provider's history.
#[test]
fn a_copy_that_failed_before_the_claim_is_no_evidence_of_the_repeat() {
    for seed in [1, 5, 9, 20] {
        let base = Telling {
            style: Style::Machine,
            seed,
            ..Telling::of(Story::SecondCopy)
        };
        // Around the claim of the repeat.
        for step in 95..125 {
            let telling = base.with(Trouble::PowerCut(step));
            let broken = tell(&telling, false).violations;
            assert!(broken.is_empty(), "{telling:?}: {broken:?}");
        }
    }
}

#[test]
#[ignore = "takes minutes: `make exhaustive` runs it"]
fn a_worker_may_stall_past_its_visibility_at_any_step_and_go_on() {
    at_every_step(Style::Machine, Steps::All, |step| Trouble::Stall(step, 130_000));
}

#[test]
#[ignore = "takes minutes: `make exhaustive` runs it"]
fn a_function_may_stall_at_any_step_and_be_cut_off() {
    at_every_step(Style::Lambda, Steps::All, |step| Trouble::Stall(step, 40_000));
}

#[test]
#[ignore = "takes minutes: `make exhaustive` runs it"]
fn a_function_may_die_at_steps_that_equal_an_earlier_one_too() {
    at_every_step(Style::Lambda, Steps::All, Trouble::Crash);
}

#[test]
#[ignore = "takes minutes: `make exhaustive` runs it"]
fn the_machine_may_lose_its_power_at_steps_that_equal_an_earlier_one_too() {
    at_every_step(Style::Machine, Steps::All, Trouble::PowerCut);
}

#[test]
fn files_come_in_the_end_and_all_is_answered_although_a_worker_stalls_past_its_lease() {
    for style in [Style::Lambda, Style::Machine] {
        let base = Telling {
            style,
            ..Telling::of(Story::Media)
        };
        for step in tell(&base, false).distinct_steps {
            let telling = base.with(Trouble::Stall(step.number, 100_000));
            let broken = tell(&telling, false).violations;
            assert!(broken.is_empty(), "{telling:?}: {broken:?}");
        }
    }
}
