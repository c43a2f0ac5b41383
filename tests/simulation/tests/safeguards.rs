//! Each safeguard of the protocol is taken out in turn: the story that needs it must then go wrong, and does not while it
//! is there. `RECADO_STORY` names the one story of which that is looked at.

use recado_simulation::embedded::tell;
use recado_simulation::scenario::{BACKED, Costs, SAFEGUARDS, Safeguard, Telling, Troubles};
use recado_simulation::{Mutation, Outcome};

fn tellings(safeguard: &Safeguard, mutation: Option<Mutation>) -> impl Iterator<Item = Telling> {
    let (base, troubles) = (safeguard.telling, safeguard.troubles);
    (1..=troubles.seeds()).flat_map(move |seed| {
        let base = Telling {
            seed,
            mutation,
            ..base
        };
        let undisturbed = tell(&base, false);
        troubles
            .all(&undisturbed)
            .into_iter()
            .map(move |trouble| base.with(trouble))
    })
}

/// The safeguards that are looked at: all, or those of the story that the environment names.
fn list_asked_safeguards() -> Vec<&'static Safeguard> {
    let named = std::env::var("RECADO_STORY").ok();
    let of_story = |safeguard: &&Safeguard| {
        let story = format!("{:?}", safeguard.telling.story);
        named.as_ref().is_none_or(|name| *name == story)
    };
    SAFEGUARDS.iter().filter(of_story).collect()
}

/// What the stories cost at most while the safeguard is there.
#[derive(Default)]
struct Most {
    model_calls: u64,
    repeated: u64,
}

fn most(safeguard: &Safeguard) -> Most {
    let mut most = Most::default();
    if safeguard.costs != Costs::Promise {
        for telling in tellings(safeguard, None) {
            let outcome = tell(&telling, false);
            most.model_calls = most.model_calls.max(outcome.counters.model_calls);
            most.repeated = most.repeated.max(outcome.repeated);
        }
    }
    most
}

fn is_missed(safeguard: &Safeguard, most: &Most, without: &Outcome) -> bool {
    match safeguard.costs {
        Costs::Promise => !without.violations.is_empty(),
        Costs::ModelCalls => without.counters.model_calls > most.model_calls,
        Costs::Repeats => without.repeated > most.repeated,
    }
}

#[test]
fn every_safeguard_is_missed_where_it_is_taken_out() {
    let mut idle = Vec::new();
    for safeguard in list_asked_safeguards() {
        let most = most(safeguard);
        let missed = tellings(safeguard, Some(safeguard.mutation)).find_map(|telling| {
            let without = tell(&telling, false);
            let whole = Telling {
                mutation: None,
                ..telling
            };
            let missed = is_missed(safeguard, &most, &without);
            (missed && tell(&whole, false).violations.is_empty()).then_some((telling, without))
        });
        let Some((telling, outcome)) = missed else {
            idle.push(safeguard.mutation);
            continue;
        };
        let what = outcome.violations.first().map_or("costs more", String::as_str);
        let Telling {
            story, seed, trouble, ..
        } = telling;
        println!(
            "{:?}: {story:?}, seed {seed}, {trouble:?}: {what}",
            safeguard.mutation
        );
    }
    assert!(
        idle.is_empty(),
        "nothing misses {idle:?}: not needed, or not tested"
    );
}

#[test]
fn nothing_goes_wrong_in_those_stories_while_all_safeguards_are_there() {
    let (mut told, mut seen) = (0, Vec::new());
    for safeguard in list_asked_safeguards() {
        let (base, troubles) = (safeguard.telling, safeguard.troubles);
        // (Alone, without `reconcile`, some stories need it for another reason.)
        if !base.reconciles || seen.contains(&(base, troubles)) {
            continue;
        }
        // `exhaustive.rs` plays those with a crash at each kind of step.
        if troubles == Troubles::Crash && base == Telling::of(base.story) {
            continue;
        }
        seen.push((base, troubles));
        let undisturbed = tell(&base, false);
        for trouble in troubles.all(&undisturbed) {
            told += 1;
            let telling = base.with(trouble);
            let outcome = tell(&telling, false);
            assert!(
                outcome.violations.is_empty(),
                "{telling:?}: {:?}",
                outcome.violations
            );
        }
    }
    let is_whole = list_asked_safeguards().len() == SAFEGUARDS.len();
    assert!(told > 300 || !is_whole, "only {told} stories were told");
}

#[test]
fn every_safeguard_has_a_story_or_is_backed_by_another() {
    for mutation in Mutation::ALL {
        let has_story = SAFEGUARDS.iter().any(|safeguard| safeguard.mutation == *mutation);
        assert!(has_story != BACKED.contains(mutation), "{mutation:?}");
    }
}
