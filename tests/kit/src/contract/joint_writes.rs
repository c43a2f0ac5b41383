//! Steps that are committed in one transaction with the queues, by a backend whose records and queues lie in one database. (Where they lie
//! apart there is nothing to call.)

use crate::builders::{Fixture, at, claimed, far_ahead};
use recado_domain::event::{FollowUpJob, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::message::Message;
use recado_domain::wake_up::SendJob;
use recado_ports::ports::{EventFinish, InboundWrite, PortResult, Queues, RecordEventOutcome};
use recado_ports::step_commit::{ReplyWrite, SettlementWrite, StepCommit, StepJob, StepOutcome, StepRecords};

/// Commits these records with these jobs; `None` where there is nothing to call.
async fn commit<Q: Queues>(
    queues: &Q,
    records: StepRecords<'_>,
    jobs: Vec<StepJob>,
) -> Option<PortResult<StepOutcome>> {
    let step = StepCommit {
        records,
        jobs,
        acknowledges: true,
        takes_jobs: false,
    };
    Some(queues.commit_step(&step)?.await)
}

async fn record<Q: Queues>(queues: &Q, events: &[InboundJob]) -> Option<PortResult<StepOutcome>> {
    commit(queues, StepRecords::Events(events), Vec::new()).await
}

pub async fn an_event_that_comes_again_is_pending<Q: Queues>(queues: &Q) {
    let events = [Fixture::new().job()];
    for expected in [RecordEventOutcome::New, RecordEventOutcome::Pending] {
        if let Some(recorded) = record(queues, &events).await {
            assert_eq!(recorded.unwrap(), StepOutcome::Recorded(vec![expected]));
        }
    }
}

pub async fn each_event_of_a_call_has_its_own_answer_in_their_order<Q: Queues>(queues: &Q) {
    let (known, new) = (Fixture::new().job(), Fixture::new().job());
    let _ = record(queues, std::slice::from_ref(&known)).await;
    if let Some(recorded) = record(queues, &[known, new.clone(), new]).await {
        let (new, pending) = (RecordEventOutcome::New, RecordEventOutcome::Pending);
        assert_eq!(
            recorded.unwrap(),
            StepOutcome::Recorded(vec![pending, new, pending])
        );
    }
}

async fn store_and_finish<Q: Queues>(
    queues: &Q,
    fixture: &Fixture,
    job: &InboundJob,
) -> Option<(PortResult<StepOutcome>, Message)> {
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
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: Some(&finish),
    };
    let stored = commit(queues, StepRecords::Inbound(write), Vec::new()).await?;
    Some((stored, message))
}

pub async fn the_message_of_an_event_that_is_not_recorded_is_not_stored<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    if let Some((stored, _)) = store_and_finish(queues, &fixture, &fixture.job()).await {
        assert_eq!(stored.unwrap(), StepOutcome::Conflict);
    }
}

pub async fn a_message_is_stored_once_and_then_found<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let Some(recorded) = record(queues, std::slice::from_ref(&job)).await else {
        return;
    };
    recorded.unwrap();
    let (stored, message) = store_and_finish(queues, &fixture, &job).await.unwrap();
    assert_eq!(stored.unwrap(), StepOutcome::Committed);
    let place = MessagePosition {
        conversation: message.conversation,
        ordinal: message.ordinal,
    };
    let (again, _) = store_and_finish(queues, &fixture, &job).await.unwrap();
    assert_eq!(again.unwrap(), StepOutcome::AlreadyStored(place));
}

pub async fn a_reply_of_a_conversation_that_changed_is_not_committed<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    fixture.inbound(&mut conversation, &fixture.job());
    let message = fixture.reply(&mut conversation);
    let send = SendJob::new(
        message.conversation.clone(),
        message.ordinal,
        message.correlation.clone(),
    );
    let reply = ReplyWrite {
        conversation: &conversation,
        parts: std::slice::from_ref(&message),
        beside: &[],
    };
    let jobs = vec![StepJob::Outbound(send.into(), message.instance.clone())];
    // Nothing is stored, and this would be its second revision.
    if let Some(written) = commit(queues, StepRecords::Reply(reply), jobs).await {
        assert_eq!(written.unwrap(), StepOutcome::Conflict);
    }
}

pub async fn a_message_that_is_not_stored_is_not_settled<Q: Queues>(queues: &Q) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    fixture.inbound(&mut conversation, &fixture.job());
    let (sending, flight) = claimed(&fixture.reply(&mut conversation));
    let settlement = SettlementWrite {
        message: &sending,
        finished_send: Some(&flight),
        link: None,
    };
    if let Some(written) = commit(queues, StepRecords::Settlement(settlement), Vec::new()).await {
        assert_eq!(written.unwrap(), StepOutcome::Conflict);
    }
}
