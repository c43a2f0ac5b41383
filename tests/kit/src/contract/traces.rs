//! What bears one correlation id is found by it.

use super::given::{received, replied};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, correlation, far_ahead};
use crate::ports::succeed;
use recado_domain::event::{EventState, FollowUpJob, ProcessingRecord};
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_ports::ports::{CommitOutcome, CorrelatedRecords, EventChange, EventFinish, Store};

async fn traced<S: Store>(store: &S, message: &Message, events: usize, messages: usize) -> CorrelatedRecords {
    let look = async || succeed(store.find_by_correlation(&message.correlation, None, 100)).await;
    let whole = |found: &CorrelatedRecords| found.events.len() == events && found.messages.len() == messages;
    let mut found = eventually(INDEX, look, whole).await;
    assert!(whole(&found), "{found:?}");
    found.messages.sort_by_key(|message| message.ordinal);
    found
}

pub async fn an_unknown_correlation_leads_nowhere<S: Store>(store: &S) {
    let found = succeed(store.find_by_correlation(&correlation(), None, 100)).await;
    assert_eq!(found, CorrelatedRecords::default());
}

pub async fn an_event_its_message_and_the_reply_are_found_by_their_correlation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let job = fixture.job();
    let asked = received(store, &fixture, &mut conversation, &job).await;
    // The reply bears the event's; another message of the same conversation one of its own.
    let mut reply = fixture.reply(&mut conversation);
    reply.correlation = job.correlation.clone();
    let committed = succeed(store.commit_messages(&conversation, std::slice::from_ref(&reply), &[])).await;
    assert_eq!(committed, CommitOutcome::Committed);
    replied(store, &fixture, &mut conversation).await;
    let found = traced(store, &asked, 1, 2).await;
    assert_eq!(found.events[0].job.event, job.event);
    assert_eq!(found.messages, [asked.clone(), reply]);
    let one = succeed(store.find_by_correlation(&asked.correlation, None, 1)).await;
    assert_eq!(one.events.len() + one.messages.len(), 1, "no more than asked for");
}

pub async fn a_finished_event_keeps_how_it_was_applied<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let job = fixture.job();
    let asked = received(store, &fixture, &mut conversation, &job).await;
    let processed = ProcessingRecord {
        started_at: at(1_000),
        enqueued: FollowUpJob::Turn(asked.ordinal),
    };
    let finish = EventFinish {
        processed,
        at: at(2_000),
        expires: far_ahead(),
        reason: None,
    };
    succeed(store.change_event(&job.event, EventChange::Finish(&finish))).await;
    let record = succeed(store.find_event(&job.event)).await.unwrap();
    assert_eq!(record.state, EventState::Applied);
    assert_eq!(
        (record.processed, record.settled_at),
        (Some(processed), Some(at(2_000)))
    );
    assert_eq!(
        record.job.payload,
        recado_domain::event::EventPayload::Inline(serde_json::Value::Null)
    );
    // A second worker that finishes it changes nothing.
    let processed = ProcessingRecord {
        started_at: at(9_000),
        enqueued: FollowUpJob::Nothing,
    };
    let late = EventFinish {
        processed,
        at: at(9_000),
        expires: far_ahead(),
        reason: None,
    };
    succeed(store.change_event(&job.event, EventChange::Finish(&late))).await;
    assert_eq!(succeed(store.find_event(&job.event)).await, Some(record.clone()));
    assert_eq!(traced(store, &asked, 1, 1).await.events, [record]);
}

pub async fn a_finished_event_keeps_why_its_message_was_left_out<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    succeed(store.record_event(&job)).await;
    let processed = ProcessingRecord {
        started_at: at(1_000),
        enqueued: FollowUpJob::Nothing,
    };
    let finish = EventFinish {
        processed,
        at: at(2_000),
        expires: far_ahead(),
        reason: Some(Reason::Blocked),
    };
    succeed(store.change_event(&job.event, EventChange::Finish(&finish))).await;
    let record = succeed(store.find_event(&job.event)).await.unwrap();
    assert_eq!(
        (record.state, record.reason, record.stored, record.processed),
        (EventState::Applied, Some(Reason::Blocked), None, Some(processed))
    );
}
