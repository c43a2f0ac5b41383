//! Storing what came in: once per event, on the conversation as read.

use super::given::{begun, find_stored, list_open, received};
use crate::builders::{Fixture, at, far_ahead};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::content::Content;
use recado_domain::event::{EventPayload, EventState, FollowUpJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::Ordinal;
use recado_ports::ports::{
    EventChange, EventFinish, InboundWrite, PortError, RecordEventOutcome, Store, StoreInboundOutcome,
};
use serde_json::Value;

pub async fn a_message_its_conversation_and_its_event_are_stored_together<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let message = received(store, &fixture, &mut conversation, &job).await;
    let stored = MessagePosition {
        conversation: conversation.id.clone(),
        ordinal: Ordinal(1),
    };
    let event = succeed(store.find_event(&job.event)).await.unwrap();
    assert_eq!(event.stored, Some(stored));
    assert_eq!(event.job, job, "it is still owed");
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation.clone())
    );
    assert_eq!(find_stored(store, &message).await, Some(message));
    assert!(
        list_open(store, &conversation.id).await.is_empty(),
        "what came in does not go out"
    );
}

pub async fn a_message_ends_its_event_in_the_same_write_and_is_stored_once<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    let message = fixture.inbound(&mut conversation, &job);
    let processed = ProcessingRecord {
        started_at: at(1_000),
        enqueued: FollowUpJob::Turn(message.ordinal),
    };
    let finish = EventFinish {
        processed,
        at: at(2_000),
        expires: far_ahead(),
        reason: None,
    };
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: Some(&finish),
    };
    let stored = succeed(store.store_inbound(write)).await;
    assert_eq!(stored, StoreInboundOutcome::Stored);
    let event = succeed(store.find_event(&job.event)).await.unwrap();
    let place = MessagePosition {
        conversation: conversation.id.clone(),
        ordinal: message.ordinal,
    };
    assert_eq!(
        (event.state, event.processed, event.settled_at),
        (EventState::Applied, Some(processed), Some(at(2_000)))
    );
    assert_eq!(event.stored, Some(place.clone()));
    assert_eq!(
        event.job.payload,
        EventPayload::Inline(Value::Null),
        "nobody needs the words twice"
    );
    assert_eq!(find_stored(store, &message).await, Some(message.clone()));
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Settled
    );
    let again = succeed(store.store_inbound(write)).await;
    assert_eq!(again, StoreInboundOutcome::AlreadyStored(place));
}

pub async fn a_second_message_follows_the_first<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let second = received(store, &fixture, &mut conversation, &fixture.job()).await;
    assert_eq!(second.ordinal, Ordinal(2));
    let (read, messages) = succeed(store.find_with_history(&conversation.id, 10))
        .await
        .unwrap();
    assert_eq!((read, messages.len()), (conversation, 2));
}

pub async fn an_events_message_is_stored_once<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    received(store, &fixture, &mut conversation, &job).await;
    let before = conversation.clone();
    // A worker that read the conversation only now would number the message anew.
    let again = fixture.inbound(&mut conversation, &job);
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &again,
        finish: None,
    };
    let stored = MessagePosition {
        conversation: before.id.clone(),
        ordinal: Ordinal(1),
    };
    assert_eq!(
        succeed(store.store_inbound(write)).await,
        StoreInboundOutcome::AlreadyStored(stored)
    );
    assert_eq!(succeed(store.find_conversation(&before.id)).await, Some(before));
    assert_eq!(find_stored(store, &again).await, None);
}

pub async fn a_worker_that_repeats_its_own_write_is_told_where_it_lies<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let message = received(store, &fixture, &mut conversation, &job).await;
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let found = succeed(store.store_inbound(write)).await;
    assert!(
        matches!(
            found,
            StoreInboundOutcome::AlreadyStored(MessagePosition {
                ordinal: Ordinal(1),
                ..
            })
        ),
        "{found:?}"
    );
}

async fn assert_conflict<S: Store>(
    store: &S,
    fixture: &Fixture,
    mut stale: recado_domain::conversation::Conversation,
) {
    let (job, before) = (fixture.job(), succeed(store.find_conversation(&stale.id)).await);
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    let mut message = fixture.inbound(&mut stale, &job);
    message.ordinal = Ordinal(77);
    let write = InboundWrite {
        event: &job.event,
        conversation: &stale,
        message: &message,
        finish: None,
    };
    assert_eq!(
        succeed(store.store_inbound(write)).await,
        StoreInboundOutcome::Conflict
    );
    assert_eq!(succeed(store.find_conversation(&stale.id)).await, before);
    assert_eq!(find_stored(store, &message).await, None);
    assert_eq!(succeed(store.find_event(&job.event)).await.unwrap().stored, None);
}

pub async fn a_conversation_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let stale = conversation.clone();
    received(store, &fixture, &mut conversation, &fixture.job()).await;
    assert_conflict(store, &fixture, stale).await;
}

pub async fn a_new_conversation_where_one_exists_is_a_conflict<S: Store>(store: &S) {
    let fixture = Fixture::new();
    begun(store, &fixture).await;
    assert_conflict(store, &fixture, fixture.conversation(1)).await;
}

pub async fn a_conversation_that_does_not_exist_cannot_be_continued<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut never_stored = fixture.conversation(1);
    never_stored.rev = 4;
    assert_conflict(store, &fixture, never_stored).await;
}

pub async fn a_message_of_an_event_that_is_not_pending_is_not_stored<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (unknown, settled) = (fixture.job(), fixture.job());
    let _ = succeed(store.record_event(&settled)).await;
    succeed(store.change_event(
        &settled.event,
        EventChange::Apply {
            at: at(5),
            expires: far_ahead(),
        },
    ))
    .await;
    for job in [unknown, settled] {
        let mut conversation = fixture.conversation(1);
        let message = fixture.inbound(&mut conversation, &job);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        assert_eq!(
            succeed(store.store_inbound(write)).await,
            StoreInboundOutcome::Conflict
        );
        assert_eq!(succeed(store.find_conversation(&conversation.id)).await, None);
        assert_eq!(find_stored(store, &message).await, None);
    }
}

pub async fn of_twenty_first_messages_at_once_one_begins_the_conversation<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let attempts = (0..20).map(async |_| {
        let (job, mut conversation) = (fixture.job(), fixture.conversation(1));
        let _ = succeed(store.record_event(&job)).await;
        let message = fixture.inbound(&mut conversation, &job);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        (succeed(store.store_inbound(write)).await, job, message)
    });
    let found = join_all(attempts).await;
    let (won, lost): (Vec<_>, Vec<_>) = found
        .iter()
        .partition(|(found, ..)| *found == StoreInboundOutcome::Stored);
    assert_eq!(won.len(), 1);
    assert!(
        lost.iter()
            .all(|(found, ..)| *found == StoreInboundOutcome::Conflict)
    );
    let (_, job, message) = won[0];
    assert_eq!(find_stored(store, message).await.as_ref(), Some(message));
    assert!(
        succeed(store.find_event(&job.event))
            .await
            .unwrap()
            .stored
            .is_some()
    );
    for (_, job, _) in lost {
        assert_eq!(succeed(store.find_event(&job.event)).await.unwrap().stored, None);
    }
}

pub async fn of_ten_workers_on_one_event_one_stores_its_message<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    // Half of them think that it belongs elsewhere: the event alone decides.
    let attempts = (0..10).map(async |index| {
        let fixture = if index % 2 == 0 { &fixture } else { &other };
        let mut conversation = fixture.conversation(1);
        let message = fixture.inbound(&mut conversation, &job);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        (succeed(store.store_inbound(write)).await, message.message_id())
    });
    let found = join_all(attempts).await;
    let won: Vec<_> = found
        .iter()
        .filter(|(found, _)| *found == StoreInboundOutcome::Stored)
        .collect();
    assert_eq!(won.len(), 1);
    for (found, _) in &found {
        if let StoreInboundOutcome::AlreadyStored(stored) = found {
            assert_eq!(stored.conversation.message_id(stored.ordinal), won[0].1);
        }
    }
    let mut stored = 0;
    for fixture in [&fixture, &other] {
        stored += usize::from(
            succeed(store.find_latest_conversation(&fixture.thread()))
                .await
                .is_some(),
        );
    }
    assert_eq!(stored, 1);
}

pub async fn a_message_that_no_record_holds_is_refused_and_a_large_one_is_kept<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    succeed(store.record_event(&job)).await;
    let mut message = fixture.inbound(&mut conversation, &job);
    // Of letters that JSON, and UTF-8, write in more than one byte.
    for (text, kept) in [("ã\n".repeat(130_000), false), ("ã\n".repeat(80_000), true)] {
        message.content = Content::from_text(text);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        match store.store_inbound(write).await {
            Ok(stored) => assert!(kept && stored == StoreInboundOutcome::Stored),
            Err(error) => assert!(!kept && matches!(error, PortError::TooLarge { .. }), "{error:?}"),
        }
    }
    assert_eq!(find_stored(store, &message).await, Some(message));
}
