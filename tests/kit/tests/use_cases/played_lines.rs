//! Plays what a contact writes through the real turn-taking in virtual time, with a model that takes its time.

use crate::world::{Setup, beside};
use recado_domain::Timestamp;
use recado_domain::content::Content;
use recado_domain::event::EventKind;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::{Conversations, Queues};
use recado_pipeline::{Verdict, handle_turns_message, process};
use recado_testkit::ports::succeed;
use serde_json::json;

/// The time that the model of the sets takes, in milliseconds.
pub(crate) const MODEL_MS: i64 = 800;

/// How often the turn jobs are looked at.
const TICK_MS: i64 = 20;

/// The longest that anybody waits for a reply here, in milliseconds.
const PATIENCE_MS: i64 = 40_000;

/// A line that a contact writes at this time.
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) id: String,
    pub(crate) content: Content,
}

/// Lets the contact write each line in its time, also while the model thinks or a reply is held. Ends when all is answered.
pub(crate) async fn play_lines(setup: &Setup, model_ms: i64, lines: Vec<Line>) {
    let mut times = Vec::new();
    for line in lines {
        times.push(line.at);
        write_later(setup, line).await;
    }
    let until = add_millis(times.last().copied().unwrap_or_else(|| setup.now()), PATIENCE_MS);
    let time = &setup.world.system;
    while setup.now() < until {
        time.wait(0).await;
        let jobs = setup.due_turns().await;
        let looks = !jobs.is_empty();
        for job in jobs {
            run_turn(setup, model_ms, &job).await;
        }
        let is_answered = || async { !setup.latest_conversation().await.unwrap().owes_answer() };
        if !looks || !is_answered().await {
            time.wait(TICK_MS).await;
            continue;
        }
        // Nothing happens until the next line.
        let Some(next) = times.iter().find(|at| **at > setup.now()) else {
            return;
        };
        time.pass(millis_between(setup.now(), *next));
    }
}

/// Has a line arrive at its time.
async fn write_later(setup: &Setup, line: Line) {
    let address = setup.fixture.address.as_str();
    let payload =
        json!({"address": address, "id": line.id, "text": "", "from_me": false, "content": line.content});
    let mut event = setup.event(EventKind::Message, payload).await;
    event.received_at = line.at;
    let (world, body) = (beside(&setup.world), serde_json::to_string(&event).unwrap());
    setup.world.system.happens_at(line.at, async move {
        assert_eq!(process::process(&world, &body, 1).await, Verdict::Done);
    });
}

/// Runs a turn, and puts its job back if it comes back.
async fn run_turn(setup: &Setup, model_ms: i64, job: &TurnsJob) {
    let time = setup.world.system.clone();
    setup
        .world
        .llm
        .meanwhile
        .set(async move { time.wait(model_ms).await });
    let body = serde_json::to_string(job).unwrap();
    if let Verdict::Retry { after } = handle_turns_message(&setup.world, &body, 1, None).await {
        let again = setup.world.queues.enqueue_turns_job(job, after.unsigned_abs());
        again.await.unwrap();
    }
}

/// Returns the messages of the contact's conversation, in their order.
pub(crate) async fn list_messages(setup: &Setup) -> Vec<Message> {
    let Some(conversation) = setup.latest_conversation().await else {
        return Vec::new();
    };
    let found = setup.world.store.find_with_history(&conversation.id, 200);
    succeed(found).await.unwrap().1
}

/// Returns the milliseconds from one time to a later one.
pub(crate) fn millis_between(from: Timestamp, to: Timestamp) -> i64 {
    to.as_millisecond() - from.as_millisecond()
}
