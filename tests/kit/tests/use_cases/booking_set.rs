//! What people write who book, played through the real turn-taking in virtual time, with a model that takes 0.8 s: how soon a
//! finished message has its reply, and how often a reply leaves before the contact wrote all.
//!
//! Each line of the set has the business's message before (`asked`), if there is one, and the contact's messages with the pause
//! (`gap_ms`) before each. `what` is `greeting`, `burst`, or the kind of a finished message.

use crate::world::{Setup, beside};
use jiff::{SignedDuration, Timestamp};
use recado_domain::event::EventKind;
use recado_domain::millis::add_duration;
use recado_domain::wake_up::TurnJob;
use recado_pipeline::ports::{Conversations, Queues, System};
use recado_pipeline::{Settings, Verdict, process, reply};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde::Deserialize;
use serde_json::json;

const SET: &str = include_str!("../../bursts/booking.jsonl");

/// The time that the model takes, in milliseconds.
const MODEL_MS: i64 = 800;

/// How often the turn jobs are looked at.
const TICK_MS: i64 = 20;

#[derive(Debug, Deserialize)]
struct Line {
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
    /// A reply was ready to leave before the last message.
    is_early: bool,
    replies: usize,
}

/// What the contact still writes: when, the message's id and its text.
type Coming = Vec<(Timestamp, String, String)>;

/// Lets a contact of its own write what the line says.
async fn play(setup: &mut Setup, line: &Line, number: usize) -> Played {
    setup.fixture = setup.fixture.other_contact();
    if let Some(asked) = &line.asked {
        let mut question = vec![(setup.now(), format!("Q{number}"), "Vocês abrem hoje?".to_owned())];
        reply_with(setup, asked, &mut question).await;
    }
    let mut coming = Coming::new();
    let mut at = setup.now();
    for (place, said) in line.messages.iter().enumerate() {
        at = add_duration(at, SignedDuration::from_millis(said.gap_ms));
        coming.push((at, format!("W{number}-{place}"), said.text.clone()));
    }
    let before = count_replies(setup).await;
    reply_with(setup, "Certo.", &mut coming).await;
    let replied = list_reply_times(setup).await.split_off(before);
    Played {
        waited: to_millis(replied.last().unwrap().duration_since(at)),
        is_early: replied.iter().any(|reply| *reply < at),
        replies: replied.len(),
    }
}

/// Lets everything of `coming` arrive in its time, until the agent has answered all with `text`.
async fn reply_with(setup: &Setup, text: &str, coming: &mut Coming) {
    *setup.world.llm.says.lock().unwrap() = Some(text.to_owned());
    loop {
        let now = setup.now();
        let due = coming.iter().filter(|(at, ..)| *at <= now).count();
        for (_, id, text) in coming.drain(..due) {
            setup.message(&setup.fixture, &id, &text, false).await;
        }
        let jobs = setup.due_turns().await;
        let looks = !jobs.is_empty();
        for job in jobs {
            run_turn(setup, &job, coming).await;
        }
        if looks && coming.is_empty() && !setup.latest_conversation().await.unwrap().owes_answer() {
            return;
        }
        setup.world.system.pass(TICK_MS);
    }
}

/// Runs a turn. What is still `coming` arrives while the model thinks, if it is its time.
async fn run_turn(setup: &Setup, job: &TurnJob, coming: &mut Coming) {
    let newest = setup.latest_conversation().await.unwrap().turn_upto;
    if job.ordinal == newest {
        let ready = add_duration(setup.now(), SignedDuration::from_millis(MODEL_MS));
        let meanwhile = coming.iter().filter(|(at, ..)| *at < ready).count();
        let mut arriving = Vec::new();
        for (at, id, text) in coming.drain(..meanwhile) {
            let address = setup.fixture.address.as_str();
            let payload = json!({"address": address, "id": id, "text": text, "from_me": false});
            let mut event = setup.event(EventKind::Message, payload).await;
            event.received_at = at;
            arriving.push((at, serde_json::to_string(&event).unwrap()));
        }
        let world = beside(&setup.world);
        setup.world.llm.meanwhile.set(async move {
            for (at, body) in arriving {
                world
                    .system
                    .pass(to_millis(at.duration_since(world.system.now())));
                assert_eq!(process::process(&world, &body, 1).await, Verdict::Done);
            }
            world
                .system
                .pass(to_millis(ready.duration_since(world.system.now())));
        });
    }
    let body = serde_json::to_string(job).unwrap();
    if let Verdict::Retry { after } = reply::handle_turn_message(&setup.world, &body, 1, None).await {
        let again = setup.world.queues.enqueue_turn_job(job, after.unsigned_abs());
        again.await.unwrap();
    }
}

fn to_millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis().max(0)).unwrap()
}

/// Lists the times at which the contact's replies were ready to leave.
async fn list_reply_times(setup: &Setup) -> Vec<Timestamp> {
    let Some(conversation) = setup.latest_conversation().await else {
        return Vec::new();
    };
    let found = setup.world.store.find_with_history(&conversation.id, 200);
    let (_, messages) = succeed(found).await.unwrap();
    let replies = messages.iter().filter(|message| message.out.is_some());
    replies.map(|reply| reply.stored_at).collect()
}

async fn count_replies(setup: &Setup) -> usize {
    list_reply_times(setup).await.len()
}

/// The part of `all` for which `holds` is true, in per cent.
fn share<'a>(all: &[&'a (Line, Played)], holds: impl Fn(&'a Played) -> bool) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap());
    let held = all.iter().filter(|(_, played)| holds(played)).count();
    100.0 * number(held) / number(all.len())
}

/// Prints the figures of a part of the set, and holds its bars.
fn assert_bars(name: &str, part: &[(usize, &(Line, Played))]) {
    let of = |what: &dyn Fn(&str) -> bool| -> Vec<&(Line, Played)> {
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
    setup.world.settings.debounce = Settings::default().debounce;
    let mut played = Vec::new();
    for (number, line) in SET.lines().enumerate() {
        let line: Line = serde_json::from_str(line).unwrap();
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
