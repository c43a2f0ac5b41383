//! What people write who book, played through the real turn-taking in virtual time, with a model that takes 0.8 s: how soon a
//! finished message has its reply, and how often a reply leaves before the contact wrote all.
//!
//! Each line of the set has the business's message before (`asked`), if there is one, and the contact's messages with the pause
//! (`gap_ms`) before each. `what` is `greeting`, `burst`, or the kind of a finished message.

use crate::played_lines::{Line, MODEL_MS, list_messages, millis_between, play_lines};
use crate::world::Setup;
use recado_domain::Timestamp;
use recado_domain::content::Content;
use recado_domain::millis::add_millis;
use recado_pipeline::Settings;
use recado_testkit::builders::Fixture;
use serde::Deserialize;

const SET: &str = include_str!("../../bursts/booking.jsonl");

#[derive(Debug, Deserialize)]
struct Written {
    what: String,
    asked: Option<String>,
    messages: Vec<Said>,
}

#[derive(Debug, Deserialize)]
struct Said {
    gap_ms: i64,
    text: String,
}

/// What came of a line.
#[derive(Debug)]
struct Played {
    /// Time from the last message to the last reply, in milliseconds.
    waited: i64,
    /// A reply left before the last message.
    is_early: bool,
    replies: usize,
}

/// Lets a contact of its own write what the line says.
async fn play(setup: &mut Setup, line: &Written, number: usize) -> Played {
    setup.fixture = setup.fixture.other_contact();
    if let Some(asked) = &line.asked {
        let opening = Line {
            at: setup.now(),
            id: format!("Q{number}"),
            content: Content::from_text("Vocês abrem hoje?"),
        };
        reply_with(setup, asked, vec![opening]).await;
    }
    let (mut lines, mut at) = (Vec::new(), setup.now());
    for (place, said) in line.messages.iter().enumerate() {
        at = add_millis(at, said.gap_ms);
        lines.push(Line {
            at,
            id: format!("W{number}-{place}"),
            content: Content::from_text(said.text.clone()),
        });
    }
    let before = list_reply_times(setup).await.len();
    reply_with(setup, "Certo.", lines).await;
    let replied = list_reply_times(setup).await.split_off(before);
    Played {
        waited: millis_between(at, *replied.last().unwrap()),
        is_early: replied.iter().any(|reply| *reply < at),
        replies: replied.len(),
    }
}

/// Plays the lines with an agent that answers all with `text`.
async fn reply_with(setup: &Setup, text: &str, lines: Vec<Line>) {
    *setup.world.llm.says.lock().unwrap() = Some(text.to_owned());
    play_lines(setup, MODEL_MS, lines).await;
}

/// Lists the times at which the contact's replies left.
async fn list_reply_times(setup: &Setup) -> Vec<Timestamp> {
    let messages = list_messages(setup).await;
    let replies = messages.iter().filter(|message| message.out.is_some());
    replies.map(|reply| reply.stored_at).collect()
}

/// The part of `all` for which `holds` is true, in per cent.
fn share<'a>(all: &[&'a (Written, Played)], holds: impl Fn(&'a Played) -> bool) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    let held = all.iter().filter(|(_, played)| holds(played)).count();
    100.0 * number(held) / number(all.len())
}

/// Prints the figures of a part of the set, and holds its bars.
fn assert_bars(name: &str, part: &[(usize, &(Written, Played))]) {
    let of = |what: &dyn Fn(&str) -> bool| -> Vec<&(Written, Played)> {
        let of = part.iter().filter(|(_, (line, _))| what(&line.what));
        of.map(|(_, one)| *one).collect()
    };
    let (bursts, greetings) = (of(&|what| what == "burst"), of(&|what| what == "greeting"));
    let finished = of(&|what| !matches!(what, "burst" | "greeting"));
    let within = |seconds: i64| move |played: &Played| played.waited < seconds * 1_000;
    let mut waits: Vec<i64> = finished.iter().map(|(_, played)| played.waited).collect();
    waits.sort_unstable();
    println!(
        "{name}: {} finished, {:.1} % within 3 s, median {} ms; {} greetings, {:.1} % within 5 s; {} bursts, {:.1} % early, {:.1} % \
         answered once",
        finished.len(),
        share(&finished, within(3)),
        waits[waits.len() / 2],
        greetings.len(),
        share(&greetings, within(5)),
        bursts.len(),
        share(&bursts, |played| played.is_early),
        share(&bursts, |played| played.replies == 1),
    );
    assert!(share(&finished, within(3)) >= 95.0, "{name}: finished messages");
    assert!(share(&greetings, within(5)) >= 100.0, "{name}: greetings");
    assert!(share(&bursts, |played| played.is_early) <= 1.0, "{name}: bursts");
}

#[tokio::test]
async fn people_who_book_have_their_reply_soon_and_hardly_ever_before_they_wrote_all() {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.deps_mut().settings_mut().debounce = Settings::default().debounce;
    let mut played = Vec::new();
    for (number, line) in SET.lines().enumerate() {
        let line: Written = serde_json::from_str(line).unwrap();
        let came = play(&mut setup, &line, number).await;
        played.push((line, came));
    }
    // The words were chosen by the lines of odd numbers, counted from 1; the even ones were held back.
    let all: Vec<_> = played.iter().enumerate().collect();
    let part = |rest| -> Vec<_> {
        let of = all.iter().filter(|(place, _)| place % 2 == rest);
        of.copied().collect()
    };
    for (place, (line, came)) in all.iter().filter(|(place, _)| place % 2 == 0) {
        let slow = line.what != "burst" && came.waited >= 3_000;
        if slow || came.is_early || came.replies > 1 {
            println!("line {}: {line:?} {came:?}", place + 1);
        }
    }
    assert!(all.len() >= 240);
    assert_bars("odd lines", &part(0));
    assert_bars("even lines", &part(1));
    assert_bars("all", &all);
}
