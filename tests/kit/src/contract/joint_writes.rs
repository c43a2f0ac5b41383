//! Writes that share a transaction with the queues, by a backend whose records and queues lie in one database. (Where they lie
//! apart there is nothing to call.)

use crate::builders::{Fixture, at, claimed, far_ahead};
use recado_domain::event::{FollowUpJob, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::message::Message;
use recado_domain::wake_up::{OutboundJob, SendJob};
use recado_ports::ports::{
    AppliedMessage, CommittedReply, EventFinish, InboundWrite, PortResult, Queues, StoreInboundOutcome,
    WriteOutcome,
};

async fn store_and_finish<Q: Queues>(
    queues: &Q,
    fixture: &Fixture,
    job: &InboundJob,
) -> Option<(PortResult<StoreInboundOutcome>, Message)> {
    let mut conversation = fixture.conversation(1);
    let message = fixture.inbound(&mut conversation, job);
    let finish = EventFinish {
        processed: ProcessingRecord {
            started_at: at(1),
            enqueued: FollowUpJob::Nothing,
        },
        at: at(2),
        expires: far_ahead(),
        reason: None,
    };
    let applied = AppliedMessage {
        write: InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: Some(&finish),
        },
        turn: None,
    };
    let stored = queues.store_and_finish(&applied)?.await;
    Some((stored, message))
}

pub async fn the_message_of_an_event_that_is_not_recorded_is_not_stored<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    if let Some((stored, _)) = store_and_finish(queues, &fixture, &fixture.job()).await {
        assert_eq!(stored.unwrap(), StoreInboundOutcome::Conflict);
    }
}

pub async fn a_message_is_stored_once_and_then_found<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let Some(recorded) = queues.record_and_enqueue(std::slice::from_ref(&job)) else {
        return;
    };
    recorded.await.unwrap();
    let (stored, message) = store_and_finish(queues, &fixture, &job).await.unwrap();
    assert_eq!(stored.unwrap(), StoreInboundOutcome::Stored);
    let place = MessagePosition {
        conversation: message.conversation,
        ordinal: message.ordinal,
    };
    let (again, _) = store_and_finish(queues, &fixture, &job).await.unwrap();
    assert_eq!(again.unwrap(), StoreInboundOutcome::AlreadyStored(place));
}

pub async fn a_reply_of_a_conversation_that_changed_is_not_committed<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    fixture.inbound(&mut conversation, &fixture.job());
    let message = fixture.reply(&mut conversation);
    let send = OutboundJob::from(SendJob::new(
        message.conversation.clone(),
        message.ordinal,
        message.correlation.clone(),
    ));
    let reply = CommittedReply {
        conversation: &conversation,
        parts: std::slice::from_ref(&message),
        beside: &[],
        send: &send,
        turn: None,
    };
    // Nothing is stored, and this would be its second revision.
    if let Some(written) = queues.commit_and_enqueue(&reply) {
        assert_eq!(written.await.unwrap(), WriteOutcome::Conflict);
    }
}

pub async fn a_message_that_is_not_stored_is_not_settled<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    fixture.inbound(&mut conversation, &fixture.job());
    let (sending, flight) = claimed(&fixture.reply(&mut conversation));
    if let Some(written) = queues.settle_and_acknowledge(&sending, Some(&flight), None) {
        assert_eq!(written.await.unwrap(), WriteOutcome::Conflict);
    }
}
