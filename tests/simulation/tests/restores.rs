//! The machine is lost and goes on from a backup, in every story: nothing of one meaning comes twice without a mark, and what was
//! acknowledged and is repeated is stored once. `RECADO_STORY` names the one story that is played.

use recado_simulation::Outcome;
use recado_simulation::embedded::machine_faults::clock::Owed;
use recado_simulation::embedded::machine_faults::restore::{Loss, play};
use recado_simulation::embedded::machine_faults::{Missing, undisturbed};
use recado_simulation::scenario::Story;

/// The stories: replies, answers of people, hand-overs, orders, invitations, reminders, bookings.
const STORIES: &[Story] = &[
    Story::Burst,
    Story::Overlap,
    Story::Unheard,
    Story::UnheardAtMeta,
    Story::EchoAlone,
    Story::Answer,
    Story::TakeOver,
    Story::LastWords,
    Story::ClientsAtMeta,
    Story::BatchPaused,
    Story::InvitedAlone,
    Story::ActsRemindsOne,
    Story::Acts,
    Story::ActsMute,
    Story::Outage,
    Story::Crowd,
    Story::Media,
];

/// Backups and losses of a story: so many of each, evenly.
const PLACES: u64 = 8;

fn is_asked(story: Story) -> bool {
    std::env::var("RECADO_STORY").map_or(true, |name| name == format!("{story:?}"))
}

fn play_all(story: Story, missing: Missing, mut look: impl FnMut(Loss, &Outcome)) {
    let (sim, base) = undisturbed(story, 1);
    let owed = Owed::of(&sim);
    drop(sim);
    for place in 1..PLACES {
        for after in 1..=3 {
            let backup = base.steps * place / PLACES;
            let loss = Loss {
                backup,
                loss: backup + ((base.steps - backup) * after / 4).max(after),
                missing,
            };
            look(loss, &play(story, 1, loss, &owed, false));
        }
    }
}

#[test]
fn nothing_comes_twice_without_a_mark_and_nothing_is_lost_after_a_restore() {
    let (mut told, mut broken) = (0, Vec::new());
    for story in STORIES.iter().copied().filter(|story| is_asked(*story)) {
        play_all(story, Missing::Nothing, |loss, outcome| {
            told += 1;
            if let Some(first) = outcome.violations.first() {
                broken.push(format!("{story:?} {loss:?}: {first}"));
            }
        });
    }
    println!("{told} stories");
    assert!(told > 0, "no story was told");
    assert!(
        broken.is_empty(),
        "{} of {told}, such as {:#?}",
        broken.len(),
        &broken[..broken.len().min(8)]
    );
}

/// What is taken out, with the story that misses it.
const MISSED: &[(Missing, Story)] = &[
    (Missing::Doubt("messages"), Story::Crowd),
    (Missing::Doubt("conversations"), Story::Burst),
    (Missing::Doubt("records"), Story::BatchPaused),
    (Missing::Doubt("records"), Story::ClientsAtMeta),
    (Missing::RestoreTime, Story::Burst),
];

#[test]
fn each_doubt_is_missed_where_it_is_taken_out() {
    let mut idle = Vec::new();
    for (missing, story) in MISSED {
        let mut seen = None;
        play_all(*story, *missing, |_, outcome| {
            seen = seen.take().or_else(|| outcome.violations.first().cloned());
        });
        println!("{missing:?}: {seen:?}");
        if seen.is_none() {
            idle.push(missing);
        }
    }
    assert!(idle.is_empty(), "nothing misses {idle:?}");
}
