//! What counts as an attempt at an event, and how many there are.

use crate::bucket;
use crate::world::Setup;
use futures::FutureExt;
use futures::future::join;
use futures::poll;
use jiff::SignedDuration;
use recado_domain::content::Content;
use recado_domain::event::{EventKind, EventPayload, EventRecord, EventState, InboundJob};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Inbox, OutboxStore, Queues};
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_pipeline::{Settings, Verdict, process};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;

async fn setup() -> Setup {
    Setup::set(Fixture::new()).await
}

async fn record(setup: &Setup, job: &InboundJob) -> EventRecord {
    setup.world.store.find_event(&job.event).await.unwrap().unwrap()
}

/// A message that arrives.
async fn hello(setup: &Setup, fixture: &Fixture, id: &str) -> InboundJob {
    let payload = json!({"address": fixture.address.as_str(), "id": id, "text": "Olá", "from_me": false});
    setup.event(EventKind::Message, payload).await
}

/// A message whose body ends whoever reads it.
async fn killer(setup: &Setup) -> InboundJob {
    setup.event(EventKind::Message, json!({"address": 7})).await
}

/// A receive in a process that may end; whether it did.
async fn ends(setup: &Setup, job: &InboundJob, receives: u32) -> bool {
    let worked = AssertUnwindSafe(setup.receive(job, receives));
    worked.catch_unwind().await.is_err()
}

#[test]
fn an_event_and_a_turn_are_tried_three_times_and_a_message_is_stale_after_an_hour() {
    let settings = Settings::default();
    assert_eq!((settings.attempts.inbound, settings.attempts.turn), (3, 3));
    assert_eq!(settings.stale_after, SignedDuration::from_hours(1));
}

/// A message that arrives with a body so large that it lies in the bucket: its queue message.
async fn large(setup: &Setup, world: &bucket::World) -> (InboundJob, String) {
    let job = hello(setup, &setup.fixture, "A").await;
    let EventPayload::Inline(payload) = &job.payload else {
        panic!("a short body")
    };
    succeed(world.queues.put_payload("large", payload)).await;
    let stored = InboundJob {
        payload: EventPayload::Stored("large".to_owned()),
        ..job
    };
    let body = serde_json::to_string(&stored).unwrap();
    (stored, body)
}

/// Only a crash of the process, or data that cannot be read, is an attempt at an event.
#[tokio::test]
async fn a_failing_queue_is_no_attempt_however_long_it_fails() {
    for first in [1, 30, 41, 200] {
        let setup = setup().await;
        let world = bucket::world(&setup, 3);
        let (job, body) = large(&setup, &world).await;
        world.queues.reads_fail.store(10, Ordering::SeqCst);
        for receives in first..first + 10 {
            let verdict = process::process(&world, &body, receives).await;
            assert!(matches!(verdict, Verdict::Retry { .. }));
            let found = record(&setup, &job).await;
            assert_eq!((found.state, found.attempts), (EventState::Pending, 0));
            setup.pass(60);
        }
        assert_eq!(process::process(&world, &body, first + 10).await, Verdict::Done);
        assert_eq!(record(&setup, &job).await.state, EventState::Applied);
        setup.pass(30);
        assert_eq!(setup.due_turns().await.len(), 1);
    }
}

#[tokio::test]
async fn a_turn_job_that_cannot_be_sent_is_sent_when_its_applied_event_comes_again() {
    for first in [1, 30, 41, 200] {
        let setup = setup().await;
        let world = bucket::world(&setup, 3);
        let job = hello(&setup, &setup.fixture, "A").await;
        let body = serde_json::to_string(&job).unwrap();
        world.queues.turns_fail.store(10, Ordering::SeqCst);
        for receives in first..first + 10 {
            let verdict = process::process(&world, &body, receives).await;
            assert!(matches!(verdict, Verdict::Retry { .. }));
            let letter = succeed(find_dead_letter(&setup.world.store, job.event.as_str())).await;
            assert_eq!(letter, None);
            setup.pass(60);
        }
        assert_eq!(process::process(&world, &body, first + 10).await, Verdict::Done);
        assert_eq!(record(&setup, &job).await.state, EventState::Applied);
        setup.pass(30);
        assert_eq!(setup.due_turns().await.len(), 1);
    }
}

/// A worker that finds another count takes one from that.
#[tokio::test]
async fn two_workers_at_one_event_that_waits_both_take_their_attempt_back() {
    let setup = setup().await;
    let worlds = [bucket::world(&setup, 3), bucket::world(&setup, 3)];
    let (job, body) = large(&setup, &worlds[0]).await;
    for world in &worlds {
        world.queues.reads_fail.store(10, Ordering::SeqCst);
    }
    // As a webhook and a catch-up may enqueue it, in groups of two names of its contact.
    let (mut first, mut second) = (
        Box::pin(process::process(&worlds[0], &body, 2)),
        Box::pin(process::process(&worlds[1], &body, 2)),
    );
    while record(&setup, &job).await.attempts < 1 {
        assert!(poll!(&mut first).is_pending());
    }
    while record(&setup, &job).await.attempts < 2 {
        assert!(poll!(&mut second).is_pending());
    }
    assert!(matches!(first.await, Verdict::Retry { .. }));
    assert!(matches!(second.await, Verdict::Retry { .. }));
    assert_eq!(record(&setup, &job).await.attempts, 0);
}

#[tokio::test]
async fn an_event_that_ends_its_process_is_given_up_after_three_counted_attempts() {
    let setup = setup().await;
    let job = killer(&setup).await;
    // The first receive is not counted: most events need no second one.
    for (receives, attempts) in [(1, 0), (2, 1), (3, 2), (4, 3)] {
        assert!(ends(&setup, &job, receives).await);
        assert_eq!(record(&setup, &job).await.attempts, attempts);
    }
    assert_eq!(setup.receive(&job, 5).await, Verdict::Done);
    let dead_letter = succeed(find_dead_letter(&setup.world.store, job.event.as_str())).await;
    let dead_letter = dead_letter.unwrap();
    assert_eq!((dead_letter.reason, dead_letter.attempts), (Reason::Poison, 3));
}

#[tokio::test]
async fn a_turn_that_ends_its_process_three_times_gives_the_agents_error_message() {
    let setup = setup().await;
    setup.message(&setup.fixture, "A", "Olá", false).await;
    let model = &setup.world.llm;
    model.ends.store(true, Ordering::SeqCst);
    for asked in 1..=3 {
        setup.pass(600);
        let turn = AssertUnwindSafe(setup.turns(&setup.fixture));
        assert!(turn.catch_unwind().await.is_err());
        assert_eq!(model.asked.lock().unwrap().len(), asked);
        let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
        assert_eq!(open, [], "the model is asked again");
    }
    setup.pass(600);
    let reply = setup.turn(&setup.fixture).await;
    let error = setup.fixture.bound.agent.error_message.clone();
    assert_eq!(
        (reply.content, reply.unanswered),
        (Content::from_text(error), Some(Reason::ModelFailed))
    );
    assert_eq!(model.asked.lock().unwrap().len(), 3, "there is no fourth call");
}

/// A process tries one event at a time again, and counts it before it reads its body.
#[tokio::test]
async fn an_event_beside_one_that_ends_the_process_loses_no_attempt() {
    let setup = setup().await;
    let (killer, other) = (killer(&setup).await, hello(&setup, &setup.fixture, "A").await);
    for receives in 2..=4 {
        // One batch: whichever comes first, the process ends.
        let batch = join(setup.receive(&killer, receives), setup.receive(&other, receives));
        assert!(AssertUnwindSafe(batch).catch_unwind().await.is_err());
        assert_eq!(record(&setup, &killer).await.attempts, receives - 1);
        let beside = record(&setup, &other).await;
        assert!(
            beside.state == EventState::Applied || beside.attempts == 0,
            "{beside:?}"
        );
    }
    assert_eq!(setup.receive(&killer, 5).await, Verdict::Done);
    assert_eq!(setup.receive(&other, 5).await, Verdict::Done);
    assert_eq!(record(&setup, &killer).await.reason, Some(Reason::Poison));
    assert_eq!(record(&setup, &other).await.state, EventState::Applied);
}

#[tokio::test]
async fn a_failed_delivery_that_waits_is_never_given_up_for_waiting() {
    let setup = setup().await;
    let reply = setup.replied().await;
    setup.times_out();
    let _ = setup.job(&reply.conversation).await;
    let job = crate::unknown::failed(&setup, &reply, "ELSE").await;
    for receives in 1..=60 {
        assert!(matches!(
            setup.receive(&job, receives).await,
            Verdict::Retry { .. }
        ));
        let found = record(&setup, &job).await;
        assert_eq!((found.state, found.attempts), (EventState::Pending, 0));
    }
    setup.send(&reply.conversation).await;
    setup.pass(600);
    assert_eq!(setup.receive(&job, 61).await, Verdict::Done);
    assert_eq!(record(&setup, &job).await.state, EventState::Applied);
}
