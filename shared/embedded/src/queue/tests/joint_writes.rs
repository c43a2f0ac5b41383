//! Records, the jobs that follow from them and acknowledgements are written in one transaction.

use super::*;
use futures::future::join;
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventState, FollowUpJob, ProcessingRecord};
use recado_domain::message::Message;
use recado_ports::ports::{Conversations, EventFinish, InboundWrite, Inbox, OutboxStore, PortResult};
use recado_ports::step_commit::{ReplyWrite, SettlementWrite, StepCommit, StepJob, StepOutcome, StepRecords};
use recado_testkit::builders::{accepted, at, claimed, far_ahead};

const DEBOUNCE: Duration = Duration::from_secs(4);

/// A contact's first message that was taken in and handed out.
struct Arrived {
    bench: Bench,
    fixture: Fixture,
    job: InboundJob,
    received: DequeuedMessage,
}

/// The turn job of `message`.
fn turn_of(message: &Message) -> TurnsJob {
    TurnsJob::Turn(TurnJob {
        conversation: message.conversation.clone(),
        tenant: message.tenant.clone(),
        ordinal: message.ordinal,
        correlation: message.correlation.clone(),
        parent: None,
        due: None,
    })
}

/// Commits a step that ends the work of its queue message.
async fn commit(worker: &Embedded, records: StepRecords<'_>, jobs: Vec<StepJob>) -> PortResult<StepOutcome> {
    let step = StepCommit {
        records,
        jobs,
        acknowledges: true,
        takes_jobs: false,
    };
    worker.commit_step(&step).unwrap().await
}

impl Arrived {
    async fn new() -> Self {
        let (bench, fixture) = (Bench::new(), Fixture::new());
        let job = fixture.job();
        succeed(bench.queues.record_and_enqueue_events(std::slice::from_ref(&job))).await;
        let received = bench.receive(QueueName::Inbound, 1).await.remove(0);
        Self {
            bench,
            fixture,
            job,
            received,
        }
    }

    async fn apply(&self, worker: &Embedded) -> (PortResult<StepOutcome>, Conversation, Message) {
        let mut conversation = self.fixture.conversation(1);
        let message = self.fixture.inbound(&mut conversation, &self.job);
        let finish = EventFinish {
            processed: ProcessingRecord {
                started_at: at(1),
                enqueued: FollowUpJob::Turn(message.ordinal),
            },
            at: at(2),
            expires: far_ahead(),
            reason: None,
        };
        let write = InboundWrite {
            event: &self.job.event,
            conversation: &conversation,
            message: &message,
            finish: Some(&finish),
        };
        let turn = StepJob::Turns(turn_of(&message), DEBOUNCE);
        let stored = commit(worker, StepRecords::Inbound(write), vec![turn]).await;
        (stored, conversation, message)
    }

    fn worker(&self) -> Embedded {
        self.bench.queues.for_message(&self.received.receipt)
    }

    async fn waiting(&self, queue: QueueName) -> (u64, u64) {
        let depth = self.bench.queues.queue_depth(queue).await.unwrap();
        (depth.visible, depth.in_flight)
    }
}

#[test]
fn a_message_its_turn_job_its_finished_event_and_its_acknowledgement_are_one() {
    block_on(async {
        let arrived = Arrived::new().await;
        let worker = arrived.worker();
        let (stored, _, message) = arrived.apply(&worker).await;
        assert_eq!(stored.unwrap(), StepOutcome::Committed);
        assert!(worker.has_acknowledged());
        let queues = &arrived.bench.queues;
        assert!(!queues.has_acknowledged(), "only the worker's handle");
        assert_eq!(arrived.waiting(QueueName::Inbound).await, (0, 0));
        let event = succeed(queues.find_event(&arrived.job.event)).await.unwrap();
        assert_eq!(event.state, EventState::Applied);
        assert_eq!(event.settled_at, Some(at(2)));
        assert_eq!(event.stored.unwrap().ordinal, message.ordinal);
        assert_eq!(
            succeed(queues.find_message(&message.message_id())).await,
            Some(message.clone())
        );
        assert!(
            arrived.bench.receive(QueueName::Turns, 1).await.is_empty(),
            "debounced"
        );
        arrived.bench.pass(4);
        let turn = arrived.bench.receive(QueueName::Turns, 1).await.remove(0);
        assert_eq!(turns_job_in(&turn), turn_of(&message));
    });
}

#[test]
fn what_was_stored_before_is_neither_followed_nor_acknowledged() {
    block_on(async {
        let arrived = Arrived::new().await;
        let (first, ..) = arrived.apply(&arrived.bench.queues).await;
        assert_eq!(first.unwrap(), StepOutcome::Committed);
        let worker = arrived.worker();
        let (again, ..) = arrived.apply(&worker).await;
        assert!(matches!(again.unwrap(), StepOutcome::AlreadyStored(_)));
        assert!(!worker.has_acknowledged());
        assert_eq!(arrived.waiting(QueueName::Inbound).await, (0, 1));
        arrived.bench.pass(4);
        assert_eq!(arrived.bench.receive(QueueName::Turns, 9).await.len(), 1);
    });
}

#[test]
fn a_receipt_that_is_over_acknowledges_nothing() {
    block_on(async {
        let arrived = Arrived::new().await;
        arrived.bench.pass(30);
        let (stored, ..) = arrived.apply(&arrived.worker()).await;
        assert_eq!(stored.unwrap(), StepOutcome::Committed);
        assert_eq!(arrived.waiting(QueueName::Inbound).await, (1, 0));
    });
}

#[test]
fn nothing_is_written_if_one_part_cannot_be() {
    block_on(async {
        let arrived = Arrived::new().await;
        let rename = |from: &str, to: &str| {
            let sql = format!("ALTER TABLE {from} RENAME TO {to}");
            arrived
                .bench
                .queues
                .run_write("test", move |c| Ok(c.execute_batch(&sql)?))
        };
        succeed(rename("queue_messages", "hidden")).await;
        let worker = arrived.worker();
        let (failed, _, message) = arrived.apply(&worker).await;
        assert!(failed.is_err() && !worker.has_acknowledged());
        succeed(rename("hidden", "queue_messages")).await;
        let queues = &arrived.bench.queues;
        let event = succeed(queues.find_event(&arrived.job.event)).await.unwrap();
        assert_eq!((event.state, event.stored), (EventState::Pending, None));
        assert!(
            succeed(queues.find_message(&message.message_id()))
                .await
                .is_none()
        );
        assert_eq!(arrived.waiting(QueueName::Inbound).await, (0, 1));
    });
}

/// Commits a reply over the turn job that is handed out, and returns it.
async fn commit_reply(arrived: &Arrived, rest: Option<&TurnsJob>) -> Message {
    let (_, mut conversation, _) = arrived.apply(&arrived.worker()).await;
    arrived.bench.pass(4);
    let turn = arrived.bench.receive(QueueName::Turns, 1).await.remove(0);
    let worker = arrived.bench.queues.for_message(&turn.receipt);
    let message = arrived.fixture.reply(&mut conversation);
    let send = OutboundJob::from(SendJob::new(
        message.conversation.clone(),
        message.ordinal,
        message.correlation.clone(),
    ));
    let reply = ReplyWrite {
        conversation: &conversation,
        parts: std::slice::from_ref(&message),
        beside: &[],
    };
    let send = StepJob::Outbound(send, message.instance.clone());
    let rest = rest.map(|turn| StepJob::Turns(turn.clone(), Duration::ZERO));
    let jobs: Vec<StepJob> = [send].into_iter().chain(rest).collect();
    let written = commit(&worker, StepRecords::Reply(reply), jobs.clone());
    assert_eq!(succeed(written).await, StepOutcome::Committed);
    assert!(worker.has_acknowledged());
    let conflict = commit(&worker, StepRecords::Reply(reply), jobs);
    assert_eq!(succeed(conflict).await, StepOutcome::Conflict);
    message
}

#[test]
fn a_reply_its_send_job_and_the_acknowledgement_of_its_turn_are_one() {
    block_on(async {
        let arrived = Arrived::new().await;
        let message = commit_reply(&arrived, None).await;
        assert_eq!(arrived.waiting(QueueName::Turns).await, (0, 0));
        let sends = arrived.bench.receive(QueueName::Outbound, 9).await;
        assert_eq!(sends.len(), 1, "a conflict enqueues nothing");
        let instance = arrived.fixture.instance().as_str();
        assert_eq!(sends[0].owner.as_str(), instance, "whose turn it is");
        let worker = arrived.bench.queues.for_message(&sends[0].receipt);
        let (sending, flight) = claimed(&message);
        succeed(worker.claim_message(&sending, None, &flight)).await;
        let sent = accepted(&sending);
        let settlement = SettlementWrite {
            message: &sent,
            finished_send: Some(&flight),
            link: None,
        };
        let settled = commit(&worker, StepRecords::Settlement(settlement), Vec::new());
        assert_eq!(succeed(settled).await, StepOutcome::Committed);
        assert!(worker.has_acknowledged());
        assert_eq!(arrived.waiting(QueueName::Outbound).await, (0, 0));
        let thread = arrived.fixture.thread();
        assert!(succeed(worker.list_open_messages(&thread)).await.is_empty());
        assert!(
            succeed(worker.list_in_flight(arrived.fixture.instance()))
                .await
                .is_empty()
        );
    });
}

#[test]
fn what_a_reply_leaves_owed_gets_its_turn_job_in_the_same_transaction() {
    block_on(async {
        let arrived = Arrived::new().await;
        let rest = turn(1);
        commit_reply(&arrived, Some(&rest)).await;
        let turns = arrived.bench.receive(QueueName::Turns, 9).await;
        let jobs: Vec<TurnsJob> = turns.iter().map(turns_job_in).collect();
        assert_eq!(jobs, [rest]);
    });
}

/// Each change of a queue message needs more pages than the database may have, as on a full disk.
async fn fill_disk(queues: &Embedded) {
    let filled = queues.run_write("test", |c| {
        c.execute_batch(
            "CREATE TABLE filler (bytes BLOB);
            CREATE TRIGGER fill_by_insert AFTER INSERT ON queue_messages
                BEGIN INSERT INTO filler VALUES (zeroblob(50000000)); END;
            CREATE TRIGGER fill_by_update AFTER UPDATE ON queue_messages
                BEGIN INSERT INTO filler VALUES (zeroblob(50000000)); END;",
        )?;
        Ok(c.pragma_update(None, "max_page_count", 1)?)
    });
    succeed(filled).await;
}

async fn make_room(queues: &Embedded) {
    let made = queues.run_write("test", |c| {
        c.pragma_update(None, "max_page_count", 1_000_000)?;
        Ok(c.execute_batch("DROP TRIGGER fill_by_insert; DROP TRIGGER fill_by_update; DROP TABLE filler")?)
    });
    succeed(made).await;
}

#[tokio::test]
async fn what_a_worker_has_in_hand_on_a_full_disk_is_written_once_there_is_room() {
    let arrived = Arrived::new().await;
    let (worker, queues) = (arrived.worker(), &arrived.bench.queues);
    fill_disk(queues).await;
    // The worker waits while there is made room.
    let ((stored, ..), ()) = join(arrived.apply(&worker), make_room(queues)).await;
    assert_eq!(stored.unwrap(), StepOutcome::Committed);
    assert!(worker.has_acknowledged());
    arrived.bench.pass(4);
    let turn = arrived.bench.receive(QueueName::Turns, 1).await.remove(0);
    fill_disk(queues).await;
    let worker = queues.for_message(&turn.receipt);
    let returned = worker.change_visibility(&turn.receipt, Duration::from_secs(2));
    let (returned, ()) = join(returned, make_room(queues)).await;
    assert!(returned.unwrap());
    arrived.bench.pass(2);
    assert_eq!(arrived.bench.receive(QueueName::Turns, 1).await.len(), 1);
}

#[tokio::test]
async fn nobody_waits_for_a_full_disk_whose_message_another_worker_may_have() {
    let arrived = Arrived::new().await;
    fill_disk(&arrived.bench.queues).await;
    let (failed, ..) = arrived.apply(&arrived.bench.queues).await;
    assert!(failed.is_err(), "it handles no message");
    arrived.bench.pass(30);
    let (failed, ..) = arrived.apply(&arrived.worker()).await;
    assert!(failed.is_err(), "its time is over");
}
