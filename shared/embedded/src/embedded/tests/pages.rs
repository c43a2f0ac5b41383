//! The pages that webhooks and messages write, and the statements that they run: each commit writes every page that it touches, so
//! they are what a disk and the writing thread have to do. Unlike times, they are the same on every machine.

use super::*;
use crate::folder::DataFolder;
use recado_domain::conversation::Conversation;
use recado_domain::event::{
    EventKind, EventPayload, FollowUpJob, InboundJob, ProcessingRecord, derive_event_id,
};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::wake_up::{OutboundJob, SendJob, TurnJob, TurnsJob};
use recado_ports::ports::{
    ClaimOutcome, Conversations, EventFinish, InboundWrite, Instances, OutboxStore, Queues, SlotTurn,
    WriteOutcome,
};
use recado_ports::records::configuration::put_configuration;
use recado_ports::step_commit::{ReplyWrite, SettlementWrite, StepCommit, StepJob, StepOutcome, StepRecords};
use recado_testkit::builders::{Fixture, accepted, at, claimed, far_ahead};
use recado_testkit::ports::succeed;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

/// The pages for each webhook, when 32 share a commit. The limits are what is reached, and only ever go down.
const PAGES_OF_A_WEBHOOK: f64 = 1.8;

/// The pages for each answered message of a contact of its own, when each of its writes is a commit. Six of them are those of the
/// published events, which are stored in the same commits.
const PAGES_OF_A_MESSAGE: f64 = 82.1;

/// The statements for each of them.
const STATEMENTS: Statements = Statements {
    of_webhook: 3.1,
    of_message: 90.0,
};

/// The most statements that the database runs.
struct Statements {
    of_webhook: f64,
    of_message: f64,
}

/// A store on the disk whose operations each are a commit, without threads.
struct OnDisk {
    store: Embedded,
    statements: Arc<AtomicU64>,
    _folder: DataFolder,
    _scratch: Scratch,
}

impl OnDisk {
    fn new() -> Self {
        let scratch = Scratch::new();
        let folder = DataFolder::open_exclusive(&scratch.0).unwrap();
        let (mut connection, statements) = (folder.open_writer().unwrap(), Arc::<AtomicU64>::default());
        let counter = Arc::clone(&statements);
        let count = move |_: TraceEvent<'_>| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        connection
            .trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(count))
            .unwrap();
        let front = DatabaseAccess::Inline(Mutex::new(connection));
        let payloads = StoredFiles::in_memory(PAYLOAD);
        let files = StoredFiles::in_memory(FILE);
        Self {
            store: Embedded::new(
                front,
                Clock::new(|| at(1_000)),
                (payloads, files),
                None,
                new_wakers(),
            ),
            statements,
            _folder: folder,
            _scratch: scratch,
        }
    }

    /// Returns the number of statements that were run since the last call.
    fn count_statements(&self) -> f64 {
        let count = self.statements.swap(0, Ordering::Relaxed);
        f64::from(u32::try_from(count).unwrap())
    }

    /// Returns the pages that were written since the last call.
    fn count_pages(&self) -> f64 {
        let DatabaseAccess::Inline(connection) = &self.store.inner.access else {
            panic!("there are no threads")
        };
        let copied = lock_unpoisoned(connection).query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
            Ok((row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
        });
        let (written, copied) = copied.unwrap();
        // The next commit begins the log anew.
        assert_eq!(written, copied);
        f64::from(written)
    }
}

/// A webhook's event: number `number`, of one of 500 contacts.
fn job(fixture: &Fixture, number: u32) -> InboundJob {
    let external: ExternalId = fixture.external();
    let name = format!("3EB0{number:016X}");
    InboundJob {
        event: derive_event_id(Provider::Evolution, &external, EventKind::Message, &name),
        group: format!("{:064x}", u128::from(number % 500) * 0x9e37_79b9_7f4a_7c15_f39c),
        correlation: CorrelationId::parse(&format!("{number:032x}")).unwrap(),
        parent: None,
        payload: EventPayload::Inline(
            json!({"key": {"id": name}, "message": {"conversation": "x".repeat(800)}}),
        ),
        ..fixture.job()
    }
}

/// Commits a step that ends the work of its queue message.
async fn commit(store: &Embedded, records: StepRecords<'_>, jobs: Vec<StepJob>) -> StepOutcome {
    let step = StepCommit {
        records,
        jobs,
        acknowledges: true,
        takes_jobs: false,
    };
    succeed(store.commit_step(&step).unwrap()).await
}

#[test]
fn a_webhook_writes_few_pages() {
    let (disk, fixture) = (OnDisk::new(), Fixture::new());
    let take_in = |from: u32| {
        let jobs: Vec<InboundJob> = (from..from + 32).map(|number| job(&fixture, number)).collect();
        block_on(commit(&disk.store, StepRecords::Events(&jobs), Vec::new()));
    };
    (0..40).for_each(|batch| take_in(batch * 32));
    disk.count_pages();
    disk.count_statements();
    (40..60).for_each(|batch| take_in(batch * 32));
    let statements = disk.count_statements() / f64::from(20 * 32);
    let pages = disk.count_pages() / f64::from(20 * 32);
    assert!(pages <= PAGES_OF_A_WEBHOOK, "{pages} pages");
    assert!(statements <= STATEMENTS.of_webhook, "{statements} statements");
}

/// The time for which a worker may handle a message.
const HIDDEN: Duration = Duration::from_secs(30);

/// Takes a contact's message in and stores it. Returns its conversation.
async fn store_message(store: &Embedded, fixture: &Fixture, number: u32) -> Conversation {
    let job = InboundJob {
        group: fixture.thread().as_str().to_owned(),
        ..job(fixture, number)
    };
    let mut conversation = fixture.conversation(1);
    let message = fixture.inbound(&mut conversation, &job);
    commit(store, StepRecords::Events(std::slice::from_ref(&job)), Vec::new()).await;
    let event = store
        .receive_messages(QueueName::Inbound, 1, HIDDEN)
        .await
        .unwrap();
    let turn = TurnsJob::Turn(TurnJob {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        ordinal: message.ordinal,
        correlation: message.correlation.clone(),
        parent: None,
        due: None,
    });
    let finish = EventFinish {
        processed: ProcessingRecord {
            started_at: at(1),
            enqueued: FollowUpJob::Turn(message.ordinal),
        },
        reason: None,
        at: at(2),
        expires: far_ahead(),
    };
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: Some(&finish),
    };
    let worker = store.for_message(&event[0].receipt);
    let turn = StepJob::Turns(turn, Duration::ZERO);
    let stored = commit(&worker, StepRecords::Inbound(write), vec![turn]).await;
    assert_eq!(stored, StepOutcome::Committed);
    conversation
}

/// Takes a contact's message all the way: the ten writes of an answered message.
async fn answer_message(store: &Embedded, fixture: &Fixture, number: u32) {
    let mut conversation = store_message(store, fixture, number).await;
    let turns = store.receive_messages(QueueName::Turns, 1, HIDDEN).await.unwrap();
    conversation.rev += 1;
    let leased = succeed(store.update_conversation(&conversation, &[])).await;
    assert_eq!(leased, WriteOutcome::Written);
    let reply = fixture.reply(&mut conversation);
    let send = OutboundJob::from(SendJob::new(
        reply.conversation.clone(),
        reply.ordinal,
        reply.correlation.clone(),
    ));
    let committed = ReplyWrite {
        conversation: &conversation,
        parts: std::slice::from_ref(&reply),
        beside: &[],
    };
    let worker = store.for_message(&turns[0].receipt);
    let send = StepJob::Outbound(send, reply.instance.clone());
    let written = commit(&worker, StepRecords::Reply(committed), vec![send]).await;
    assert_eq!(written, StepOutcome::Committed);
    let sends = store
        .receive_messages(QueueName::Outbound, 1, HIDDEN)
        .await
        .unwrap();
    let rate = Rate {
        per_second: 1000.0,
        burst: 1000,
    };
    succeed(store.reserve_slot(fixture.instance(), rate, SlotTurn::Next, at(1_000))).await;
    let (sending, flight) = claimed(&reply);
    let claim = succeed(store.claim_message(&sending, None, &flight)).await;
    assert_eq!(claim, ClaimOutcome::Claimed);
    let (worker, accepted_reply) = (store.for_message(&sends[0].receipt), accepted(&sending));
    let settlement = SettlementWrite {
        message: &accepted_reply,
        finished_send: Some(&flight),
        link: None,
    };
    let settled = commit(&worker, StepRecords::Settlement(settlement), Vec::new()).await;
    assert_eq!(settled, StepOutcome::Committed);
}

#[test]
fn an_answered_message_writes_few_pages() {
    let (disk, fixture) = (OnDisk::new(), Fixture::new());
    block_on(async {
        succeed(put_configuration(&disk.store, &fixture.document())).await;
        for number in 0..20 {
            Box::pin(answer_message(&disk.store, &fixture.other_contact(), number)).await;
        }
        disk.count_pages();
        disk.count_statements();
        for number in 20..40 {
            Box::pin(answer_message(&disk.store, &fixture.other_contact(), number)).await;
        }
    });
    let statements = disk.count_statements() / 20.0;
    let pages = disk.count_pages() / 20.0;
    assert!(pages <= PAGES_OF_A_MESSAGE, "{pages} pages");
    assert!(statements <= STATEMENTS.of_message, "{statements} statements");
    for queue in QueueName::ALL {
        let depth = block_on(disk.store.queue_depth(queue)).unwrap();
        assert_eq!((depth.visible, depth.in_flight, depth.delayed), (0, 0, 0));
    }
}
