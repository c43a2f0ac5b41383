//! The machine's clock runs ahead and is set back in every story: what is owed comes soon after, and nothing twice.
//! `RECADO_STORY` names the one story that is played.

use recado_simulation::Outcome;
use recado_simulation::embedded::machine_faults::clock::{Owed, SetBack, WrongClock, play};
use recado_simulation::embedded::machine_faults::{Missing, list_timed_tables, undisturbed};
use recado_simulation::scenario::Story;

const HOUR_MS: i64 = 3_600_000;

/// How far the clock runs ahead, in milliseconds: less than the day for which an invitation's meaning is known, and the two of a client's
/// key. A clock that is further ahead takes them for over, and sends a repeat that comes meanwhile.
const AHEAD_MS: [i64; 2] = [40 * 60_000, 23 * HOUR_MS];

/// The stories, each of which has something else open. `Unheard` is not among them: an echo is known by its time, which is the
/// provider's. As long as the machine's clock is far ahead, it lies long before the send. The echo is then taken for a person's words, and
/// the conversation waits for people.
const STORIES: &[Story] = &[
    Story::Burst,
    Story::OneAtATime,
    Story::Outage,
    Story::Unreachable,
    Story::Crowd,
    Story::Media,
    Story::Acts,
    Story::ActsLate,
    Story::BatchPaused,
    Story::RefusedOnce,
    Story::InvitedAlone,
];

/// The steps of a story at which the clock is set right: so many of them, evenly.
const PLACES: u64 = 6;

fn is_asked(story: Story) -> bool {
    std::env::var("RECADO_STORY").map_or(true, |name| name == format!("{story:?}"))
}

/// Plays a story with the clock set wrong and right at several steps.
fn play_all(story: Story, missing: Missing, mut look: impl FnMut(WrongClock, &Outcome)) {
    let (sim, base) = undisturbed(story, 1);
    let owed = Owed::of(&sim);
    drop(sim);
    for place in 1..PLACES {
        let until = base.steps * place / PLACES;
        for from in [until / 3, until.saturating_sub(4)] {
            for ahead_ms in AHEAD_MS {
                for set_back in [SetBack::Running, SetBack::Stopped] {
                    let clock = WrongClock {
                        ahead_ms,
                        from,
                        until,
                        set_back,
                        missing,
                    };
                    look(clock, &play(story, 1, clock, &owed, false));
                }
            }
        }
    }
}

#[test]
fn what_is_owed_comes_soon_after_the_clock_is_right_again() {
    let (mut told, mut broken) = (0, Vec::new());
    for story in STORIES.iter().copied().filter(|story| is_asked(*story)) {
        play_all(story, Missing::Nothing, |clock, outcome| {
            told += 1;
            if let Some(first) = outcome.violations.first() {
                broken.push(format!("{story:?} {clock:?}: {first}"));
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

/// The tables whose times matter in these stories, with the story that misses their correction.
const MISSED: &[(&str, Story)] = &[
    ("conversations", Story::Crowd),
    ("messages", Story::RefusedOnce),
    ("instance_states", Story::Unreachable),
];

/// The tables that no story here has rows of whose times lie ahead, or whose times another part corrects as well (a queue's message comes
/// late, and what is overdue is enqueued again): no story misses their correction. Their tests are those of the use
/// cases and of the list of tables itself.
const ELSEWHERE: &[&str] = &[
    "queue_messages",
    "parked",
    "records",
    "queue_groups",
    "queue_dedup",
    "in_flight",
    "events",
    "installation",
];

/// Whether a story that lacks something ever breaks a promise.
fn is_missed(story: Story, missing: Missing) -> bool {
    let mut seen = None;
    play_all(story, missing, |_, outcome| {
        seen = seen.take().or_else(|| outcome.violations.first().cloned());
    });
    println!("{missing:?}: {seen:?}");
    seen.is_some()
}

#[test]
fn the_notes_of_the_clock_are_missed_where_they_are_left_out() {
    assert!(is_missed(Story::Unreachable, Missing::NotedClock));
}

#[test]
fn each_corrected_table_is_missed_or_tested_elsewhere() {
    let missed: Vec<&str> = MISSED.iter().map(|(table, _)| *table).collect();
    for table in list_timed_tables() {
        assert!(missed.contains(&table) != ELSEWHERE.contains(&table), "{table}");
    }
    for (table, story) in MISSED {
        assert!(
            STORIES.contains(story),
            "nothing is broken while all tables are corrected"
        );
        assert!(
            is_missed(*story, Missing::SetBack(table)),
            "nothing misses the correction of {table}"
        );
    }
}
