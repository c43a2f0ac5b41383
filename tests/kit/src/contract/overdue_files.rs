//! The files of messages that are waited for are found when they are due.

use super::given::{assert_written, begun, claim, replied, updated};
use super::overdue::{assert_done, assert_due, job_at, minutes, year};
use crate::builders::{Fixture, accepted, claimed, far_ahead, out};
use crate::ports::succeed;
use recado_domain::message::{FileLoss, FileState, MessageFile};
use recado_ports::ports::{EventChange, InboundWrite, OverdueWork, Store, StoreInboundOutcome};

fn file_in(state: FileState, attempts: u32) -> MessageFile {
    MessageFile {
        state,
        attempts,
        is_under_way: false,
        from_webhook: false,
        is_blocked: false,
        kept_until: None,
        text: None,
    }
}

pub async fn a_file_that_is_waited_for_is_overdue_until_it_is_stored<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(12));
    let mut conversation = fixture.conversation(1);
    let job = job_at(&fixture, base);
    let _ = succeed(store.record_event(&job)).await;
    let mut message = fixture.inbound(&mut conversation, &job);
    let waiting = |minute| FileState::Waiting {
        next_at: minutes(base, minute),
    };
    message.file = Some(file_in(waiting(2), 0));
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    assert_eq!(
        succeed(store.store_inbound(write)).await,
        StoreInboundOutcome::Stored
    );
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: base,
            expires: far_ahead(),
        },
    ))
    .await;
    let ours = OverdueWork::File {
        conversation: message.conversation.clone(),
        ordinal: message.ordinal,
    };
    let is_ours = |work: &OverdueWork| *work == ours;
    assert_due(store, minutes(base, 2), is_ours).await;
    for (state, due) in [
        (waiting(30), Some(30)),
        (
            FileState::Lost {
                reason: FileLoss::Gone,
            },
            None,
        ),
    ] {
        message.rev += 1;
        message.file = Some(file_in(state, 1));
        assert_written(store.update_closed_message(&message, None)).await;
        match due {
            Some(minute) => drop(assert_due(store, minutes(base, minute), is_ours).await),
            None => assert_done(store, base, is_ours).await,
        }
    }
    conversation.take_over();
    updated(store, &mut conversation).await;
}

pub async fn the_file_of_a_message_that_was_sent_is_overdue_until_nothing_is_to_be_done<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(19));
    let mut conversation = begun(store, &fixture).await;
    let (sending, flight) = claimed(&replied(store, &fixture, &mut conversation).await);
    claim(store, &sending, &flight).await;
    let mut sent = accepted(&sending);
    let next_at = minutes(base, 2);
    sent.file = Some(file_in(FileState::Waiting { next_at }, 0));
    assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
    let ours = OverdueWork::File {
        conversation: sent.conversation.clone(),
        ordinal: sent.ordinal,
    };
    let is_ours = |work: &OverdueWork| *work == ours;
    assert_due(store, minutes(base, 2), is_ours).await;
    sent.file.as_mut().unwrap().record_expired();
    out(&mut sent).rev += 1;
    assert_written(store.update_closed_message(&sent, None)).await;
    assert_done(store, base, is_ours).await;
}
