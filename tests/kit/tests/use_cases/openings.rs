//! Turns that wait for an opening, and what the contact is told meanwhile.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_millis;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_domain::time_words::is_message_time;
use recado_domain::wake_up::TurnsJob;
use recado_domain::{SignedDuration, Timestamp};
use recado_pipeline::ports::{ConnectionAnswer, Conversations, SendOutcome, WriteOutcome};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::{Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::time::Duration;

const CLOSED: &str = "Estamos fechados. Respondemos amanhã.";

/// It is Monday, noon in UTC; the instance opens on Tuesday at 12:00 UTC.
fn hours(more: &Value) -> Value {
    let mut hours = json!({"tue": ["12:00-18:00"], "wed": ["12:00-18:00"], "time_zone": "UTC"});
    for (name, value) in more.as_object().unwrap() {
        hours[name] = value.clone();
    }
    hours
}

async fn setup_on(provider: Provider, more: Value) -> Setup {
    let mut fixture = Fixture::on(provider);
    fixture.bound.instance.opening_hours = serde_json::from_value(hours(&more)).unwrap();
    let setup = Setup::set(fixture).await;
    *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    setup
}

async fn setup(more: Value) -> Setup {
    setup_on(Provider::Evolution, more).await
}

fn opens(setup: &Setup) -> Timestamp {
    let _ = setup;
    "2026-01-06T12:00:00Z".parse().unwrap()
}

async fn conversation(setup: &Setup, fixture: &Fixture) -> Conversation {
    let latest = succeed(setup.world.store.find_latest_conversation(&fixture.thread())).await;
    latest.unwrap()
}

async fn messages(setup: &Setup, fixture: &Fixture) -> Vec<Message> {
    let id = conversation(setup, fixture).await.id;
    succeed(setup.world.store.find_with_history(&id, 100))
        .await
        .unwrap()
        .1
}

/// What was said to the contact, whether it left or not.
async fn said(setup: &Setup) -> Vec<String> {
    let all = messages(setup, &setup.fixture).await.into_iter();
    let own = all.filter(|message| message.role != Role::User);
    own.map(|message| message.content.render_text()).collect()
}

fn calls(setup: &Setup) -> usize {
    setup.world.llm.asked.lock().unwrap().len()
}

async fn handle(setup: &Setup, job: &TurnsJob) -> Verdict {
    handle_turns_message(&setup.world, &serde_json::to_string(job).unwrap(), 1, None).await
}

/// A contact writes, and its turn job comes after the debounce.
async fn writes(setup: &Setup, fixture: &Fixture, id: &str) {
    setup.message(fixture, id, "oi", false).await;
    setup.pass(4);
    for job in setup.due_turns().await {
        assert_eq!(handle(setup, &job).await, Verdict::Done);
    }
}

/// The hours are applied anew while the instance runs; `None`: it is always open.
async fn apply_hours(setup: &Setup, hours: Option<Value>) {
    let mut document = setup.fixture.document();
    document.instances[0].opening_hours = hours.map(|hours| serde_json::from_value(hours).unwrap());
    put_configuration(&setup.world.store, &document).await.unwrap();
}

fn pass_until(setup: &Setup, at: Timestamp) {
    setup
        .world
        .system
        .pass(at.duration_since(setup.now()).as_millis().try_into().unwrap());
}

#[tokio::test]
async fn what_waits_for_one_opening_is_answered_at_the_rate_of_the_instance_and_in_order() {
    let setup = setup(json!({"replies_per_minute": 20})).await;
    let contacts: Vec<Fixture> = (0..70).map(|_| setup.fixture.other_contact()).collect();
    for (number, contact) in contacts.iter().enumerate() {
        writes(&setup, contact, &format!("W{number}")).await;
    }
    let mut turns = Vec::new();
    for contact in &contacts {
        turns.push(conversation(&setup, contact).await.opening.scheduled_for.unwrap());
    }
    let expected: Vec<Timestamp> = (0..70).map(|n| add_millis(opens(&setup), n * 3_000)).collect();
    assert_eq!(turns, expected, "who wrote first is answered first");
    // At the opening the jobs of the first minute come, and each waits for its second.
    pass_until(&setup, opens(&setup));
    let jobs = setup.due_turns().await;
    assert_eq!(jobs.len(), 20);
    for (number, job) in jobs.iter().enumerate() {
        let after = SignedDuration::from_secs(i64::try_from(number).unwrap() * 3);
        let expected = if number == 0 {
            Verdict::Done
        } else {
            Verdict::Retry { after }
        };
        assert_eq!(handle(&setup, job).await, expected);
    }
    assert_eq!(calls(&setup), 1);
    setup.pass(3);
    assert_eq!(handle(&setup, &jobs[1]).await, Verdict::Done);
    assert_eq!(calls(&setup), 2);
}

#[tokio::test]
async fn sixty_messages_of_a_night_are_one_turn_at_the_opening() {
    let setup = setup(json!({})).await;
    for number in 0..60 {
        writes(&setup, &setup.fixture, &format!("W{number}")).await;
        setup.pass(60);
    }
    assert_eq!(
        conversation(&setup, &setup.fixture).await.opening.scheduled_for,
        Some(opens(&setup))
    );
    pass_until(&setup, opens(&setup));
    let jobs = setup.due_turns().await;
    assert_eq!(jobs.len(), 1, "one schedule per conversation and minute");
    assert_eq!(handle(&setup, &jobs[0]).await, Verdict::Done);
    assert_eq!(calls(&setup), 1);
}

/// Handles the turn jobs that are due, and those that they ask for at once.
async fn handle_due(setup: &Setup) {
    loop {
        let due = setup.due_turns().await;
        if due.is_empty() {
            return;
        }
        for job in due {
            assert_eq!(handle(setup, &job).await, Verdict::Done);
        }
    }
}

/// The contact writes `m1` to `m60`, one a minute.
async fn writes_sixty(setup: &Setup) {
    for number in 1..=60 {
        let (id, text) = (format!("W{number}"), format!("m{number}"));
        setup.message(&setup.fixture, &id, &text, false).await;
        setup.pass(60);
        handle_due(setup).await;
    }
}

/// Nobody was asked before the opening. At the opening the model is shown all sixty messages, each once and in order, and
/// its replies cover them all.
async fn assert_all_sixty_are_read_at_the_opening(setup: &Setup, covers: [u64; 3]) {
    assert_eq!(calls(setup), 0);
    pass_until(setup, opens(setup));
    handle_due(setup).await;
    let all: Vec<String> = (1..=60).map(|number| format!("m{number}")).collect();
    let asked = setup.world.llm.asked.lock().unwrap().join("\n");
    let told = asked.lines().filter(|line| !is_message_time(line));
    assert_eq!(told.collect::<Vec<_>>(), all);
    let replies = messages(setup, &setup.fixture)
        .await
        .into_iter()
        .filter_map(|message| message.out);
    let covered: Vec<u64> = replies.map(|out| out.covers.0).collect();
    let known = conversation(setup, &setup.fixture).await;
    assert_eq!(covered, covers);
    assert_eq!(
        (
            known.owes_answer(),
            known.needs_person,
            known.opening.scheduled_for
        ),
        (false, None, None)
    );
}

#[tokio::test]
async fn sixty_messages_of_a_night_are_answered_at_the_opening_with_all_of_them_read() {
    let setup = setup(json!({})).await;
    writes_sixty(&setup).await;
    assert_all_sixty_are_read_at_the_opening(&setup, [20, 40, 60]).await;
}

#[tokio::test]
async fn sixty_messages_to_people_are_all_read_at_the_opening_after_a_give_back() {
    let setup = setup(json!({})).await;
    let (caller, by) = (Caller::installation(), correlation());
    setup.message(&setup.fixture, "W0", "typed", true).await;
    let id = conversation(&setup, &setup.fixture).await.id;
    writes_sixty(&setup).await;
    assert_eq!(
        conversation(&setup, &setup.fixture).await.opening.scheduled_for,
        None
    );
    let given =
        recado_operators::set_conversation_mode(&setup.world, &caller, &id, ConversationMode::Ai, &by);
    given.await.unwrap();
    handle_due(&setup).await;
    // (The words on the phone are the first message.)
    assert_all_sixty_are_read_at_the_opening(&setup, [21, 41, 61]).await;
}

#[tokio::test]
async fn a_job_of_an_earlier_place_in_the_minute_of_the_opening_answers_the_whole_burst() {
    let setup = setup(json!({})).await;
    writes(&setup, &setup.fixture, "W1").await;
    setup.message(&setup.fixture, "W2", "oi", false).await;
    setup.pass(4);
    let _ = setup.due_turns().await;
    // W2 came between the schedule and the write that keeps its place. So the turn took a place again, and kept that one.
    let mut kept = conversation(&setup, &setup.fixture).await;
    kept.opening.scheduled_for = Some(add_millis(opens(&setup), 1_000));
    kept.raise_revision();
    let written = setup.world.store.update_conversation(&kept, &[]).await.unwrap();
    assert_eq!(written, WriteOutcome::Written);
    pass_until(&setup, opens(&setup));
    handle_due(&setup).await;
    assert_eq!(calls(&setup), 1);
    assert!(!conversation(&setup, &setup.fixture).await.owes_answer());
}

#[tokio::test]
async fn a_schedule_that_finds_the_instance_closed_again_moves_to_the_next_opening() {
    let setup = setup(json!({})).await;
    writes(&setup, &setup.fixture, "W1").await;
    // Tuesday became a holiday meanwhile.
    let holiday = json!([{"date": "2026-01-06", "closed": true}]);
    apply_hours(&setup, Some(hours(&json!({"exceptions": holiday})))).await;
    pass_until(&setup, opens(&setup));
    let jobs = setup.due_turns().await;
    assert_eq!(handle(&setup, &jobs[0]).await, Verdict::Done);
    let next = "2026-01-07T12:00:00Z".parse().unwrap();
    assert_eq!(calls(&setup), 0);
    assert_eq!(
        conversation(&setup, &setup.fixture).await.opening.scheduled_for,
        Some(next)
    );
    pass_until(&setup, next);
    let jobs = setup.due_turns().await;
    assert_eq!((jobs.len(), handle(&setup, &jobs[0]).await), (1, Verdict::Done));
    assert_eq!(calls(&setup), 1);
}

#[tokio::test]
async fn whoever_writes_after_the_hours_changed_waits_for_the_new_opening() {
    let setup = setup(json!({})).await;
    writes(&setup, &setup.fixture, "W1").await;
    apply_hours(&setup, Some(hours(&json!({"mon": ["15:00-18:00"]})))).await;
    writes(&setup, &setup.fixture, "W2").await;
    let today = "2026-01-05T15:00:00Z".parse().unwrap();
    assert_eq!(
        conversation(&setup, &setup.fixture).await.opening.scheduled_for,
        Some(today)
    );
}

#[tokio::test]
async fn a_schedule_finds_nothing_to_do_in_a_conversation_that_people_have_or_resolved_or_answered() {
    for how in ["manual", "resolved", "answered"] {
        let setup = setup(json!({})).await;
        writes(&setup, &setup.fixture, "W1").await;
        let id = conversation(&setup, &setup.fixture).await.id;
        let (caller, by) = (Caller::installation(), correlation());
        match how {
            "manual" => {
                let mode = ConversationMode::Manual;
                let taken = recado_operators::set_conversation_mode(&setup.world, &caller, &id, mode, &by);
                taken.await.unwrap();
            }
            "resolved" => {
                let resolved = recado_operators::resolve_conversation(&setup.world, &caller, &id, None, &by);
                resolved.await.unwrap();
            }
            _ => {
                // The hours were dropped for a while.
                apply_hours(&setup, None).await;
                writes(&setup, &setup.fixture, "W2").await;
                assert_eq!(calls(&setup), 1);
            }
        }
        let before = calls(&setup);
        pass_until(&setup, opens(&setup));
        for job in setup.due_turns().await {
            assert_eq!(handle(&setup, &job).await, Verdict::Done);
        }
        assert_eq!(calls(&setup), before, "{how}");
    }
}

#[tokio::test]
async fn a_contact_is_told_once_in_a_closure_and_again_in_the_next() {
    let setup = setup(json!({"closed_message": CLOSED})).await;
    writes(&setup, &setup.fixture, "W1").await;
    writes(&setup, &setup.fixture, "W2").await;
    assert_eq!(said(&setup).await, [CLOSED]);
    let id = conversation(&setup, &setup.fixture).await.id;
    setup.send(&id).await;
    assert_eq!(setup.world.providers.sent(), 1);
    assert_eq!(
        conversation(&setup, &setup.fixture).await.answered.0,
        0,
        "it answers nothing"
    );
    pass_until(&setup, opens(&setup));
    for job in setup.due_turns().await {
        let _ = handle(&setup, &job).await;
    }
    assert_eq!(said(&setup).await, [CLOSED, "Olá!"]);
    // After the closing, a new closure.
    setup.pass(7 * 3_600);
    writes(&setup, &setup.fixture, "W3").await;
    writes(&setup, &setup.fixture, "W4").await;
    assert_eq!(said(&setup).await, [CLOSED, "Olá!", CLOSED]);
}

#[tokio::test]
async fn a_turn_job_that_comes_again_after_a_crash_tells_nothing_again() {
    let setup = setup(json!({"closed_message": CLOSED})).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(4);
    let jobs = setup.due_turns().await;
    for _ in 0..3 {
        assert_eq!(handle(&setup, &jobs[0]).await, Verdict::Done);
    }
    assert_eq!(said(&setup).await, [CLOSED]);
    let scheduled = conversation(&setup, &setup.fixture).await.opening.scheduled_for;
    assert_eq!(scheduled, Some(opens(&setup)), "its place in the queue is kept");
}

#[tokio::test]
async fn nobody_is_told_while_people_have_the_conversation_nor_where_the_window_is_over() {
    let setup = setup(json!({"closed_message": CLOSED})).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let id = conversation(&setup, &setup.fixture).await.id;
    let (caller, mode) = (Caller::installation(), ConversationMode::Manual);
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &caller,
        &id,
        mode,
        &correlation(),
    ))
    .await;
    setup.pass(4);
    for job in setup.due_turns().await {
        let _ = handle(&setup, &job).await;
    }
    assert!(said(&setup).await.is_empty());
    // At Meta the queue was slow for more than a day: Sunday would be the next opening.
    let sundays = json!({"tue": [], "wed": [], "sun": ["12:00-18:00"], "closed_message": CLOSED});
    let meta = setup_on(Provider::Meta, sundays).await;
    meta.message(&meta.fixture, "W1", "oi", false).await;
    meta.pass(25 * 3_600);
    for job in meta.due_turns().await {
        let _ = handle(&meta, &job).await;
    }
    assert!(said(&meta).await.is_empty());
}

#[tokio::test]
async fn what_could_not_leave_before_the_opening_is_cancelled() {
    let setup = setup(json!({"closed_message": CLOSED})).await;
    writes(&setup, &setup.fixture, "W1").await;
    let id = conversation(&setup, &setup.fixture).await.id;
    setup.answers(SendOutcome::Disconnected {
        why: "gone".to_owned(),
    });
    setup.world.providers.is(ConnectionAnswer::Closed);
    let _ = setup.job(&id).await;
    pass_until(&setup, opens(&setup));
    setup.world.providers.is(ConnectionAnswer::Open);
    let _ = setup.job(&id).await;
    let own = messages(&setup, &setup.fixture)
        .await
        .into_iter()
        .find(|message| message.role != Role::User);
    let id = own.unwrap().message_id();
    let message = succeed(setup.world.store.find_message(&id)).await.unwrap();
    let state = message.out.unwrap().state;
    let cancelled = matches!(
        state,
        recado_domain::outbox::OutboxState::Cancelled {
            reason: Reason::Expired,
            ..
        }
    );
    assert!(cancelled, "{state:?}");
}

#[tokio::test]
async fn a_notice_that_waits_keeps_no_reply_waiting_once_the_instance_is_open() {
    for seconds in [120, 3_600] {
        let setup = setup(json!({"closed_message": CLOSED})).await;
        pass_until(&setup, add_millis(opens(&setup), -60_000));
        setup.answers(SendOutcome::Retryable {
            why: "429".to_owned(),
            after: Some(Duration::from_secs(seconds)),
        });
        writes(&setup, &setup.fixture, "W1").await;
        setup.sender(add_millis(setup.now(), 1_000)).await;
        pass_until(&setup, opens(&setup));
        handle_due(&setup).await;
        setup.sender(add_millis(setup.now(), 1_000)).await;
        let tried = setup.world.providers.contents();
        let tried: Vec<String> = tried.iter().map(Content::render_text).collect();
        assert_eq!(tried, [CLOSED, "Olá!"], "{seconds}");
    }
}

#[tokio::test]
async fn who_writes_where_the_hours_never_open_again_is_told_so_once() {
    let over = json!([{"date": "2026-01-01", "hours": ["08:00-12:00"]}]);
    let only_past = json!({"exceptions": over, "time_zone": "UTC", "closed_message": CLOSED});
    let mut fixture = Fixture::on(Provider::Evolution);
    fixture.bound.instance.opening_hours = serde_json::from_value(only_past).unwrap();
    let setup = Setup::set(fixture).await;
    writes(&setup, &setup.fixture, "W1").await;
    writes(&setup, &setup.fixture, "W2").await;
    assert_eq!(said(&setup).await, [CLOSED]);
    let all = messages(&setup, &setup.fixture).await;
    let told = all.iter().find_map(|message| message.out.as_ref()).unwrap();
    assert_eq!(told.expires_at, None);
    assert!(conversation(&setup, &setup.fixture).await.owes_answer());
    assert_eq!(calls(&setup), 0);
}

#[tokio::test]
async fn two_messages_in_the_last_seconds_before_the_opening_are_answered_at_it() {
    let setup = setup(json!({})).await;
    pass_until(&setup, add_millis(opens(&setup), -10_000));
    writes(&setup, &setup.fixture, "W1").await;
    writes(&setup, &setup.fixture, "W2").await;
    pass_until(&setup, opens(&setup));
    let due = setup.due_turns().await;
    assert_eq!(due.len(), 1, "one job waits for the opening");
    assert_eq!(handle(&setup, &due[0]).await, Verdict::Done);
    assert_eq!(calls(&setup), 1);
    assert!(!conversation(&setup, &setup.fixture).await.owes_answer());
}
