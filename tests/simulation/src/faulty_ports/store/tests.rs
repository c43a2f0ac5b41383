//! What is known of a write that a store did and never answered: here it is done without the faulty port. And what a store leaves of
//! one that failed in its middle.

use crate::embedded::store;
use crate::executor::{Life, Progress, Simulation, Tasks};
use crate::fault_injector::{Common, FaultInjector, Faults};
use crate::faulty_ports::FaultyPort;
use futures::executor::block_on;
use recado_embedded::Embedded;
use recado_pipeline::ports::{
    CommitOutcome, Conversations, InboundWrite, Inbox, OutboxStore, RecordEventOutcome, StoreInboundOutcome,
};
use recado_pipeline::table::{Condition, Record, Table, Write};
use recado_testkit::builders::Fixture;
use recado_testkit::own_kinds::Slip;
use std::sync::Arc;

/// How long after the write somebody looks, in milliseconds.
const LATER_MS: i64 = 7_000;

/// Lets `function` run to its end, over a port that meets no trouble; what was observed.
fn run<F>(function: impl FnOnce(Simulation, Embedded, FaultyPort<Embedded>) -> F) -> Arc<Common>
where
    F: Future<Output = ()> + Send + 'static,
{
    let simulation = Simulation::new(1);
    let common = Common::new(simulation.clone(), Faults::default(), None, false);
    let (common, store) = (Arc::new(common), store(&simulation));
    let port = FaultyPort::new(store.clone(), FaultInjector::new(&common, "function"));
    let mut tasks = Tasks::default();
    simulation.spawn(Life::default(), function(simulation.clone(), store, port));
    while tasks.step(&simulation, i64::MAX) != Progress::Idle {}
    assert_eq!(tasks.alive(), 0, "it came to its end");
    common
}

#[test]
fn an_outgoing_message_whose_commit_was_not_answered_is_committed_once_it_is_among_the_open_ones() {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let said = fixture.inbound(&mut conversation, &job);
    let with_said = conversation.clone();
    let reply = fixture.reply(&mut conversation);
    let id = reply.message_id();
    let common = run(async move |simulation, store, port| {
        assert_eq!(store.record_event(&job).await.unwrap(), RecordEventOutcome::New);
        let write = InboundWrite {
            event: &job.event,
            conversation: &with_said,
            message: &said,
            finish: None,
        };
        assert_eq!(
            store.store_inbound(write).await.unwrap(),
            StoreInboundOutcome::Stored
        );
        let written = store.commit_messages(&conversation, &[reply], &[]).await.unwrap();
        assert_eq!(written, CommitOutcome::Committed);
        for _ in 0..2 {
            simulation.sleep(LATER_MS).await;
            assert_eq!(port.list_open_messages(&fixture.thread()).await.unwrap().len(), 1);
        }
    });
    let known = common.observations().committed.get(&id).copied();
    assert!(
        known.is_some_and(|at| (LATER_MS..2 * LATER_MS).contains(&at)),
        "{known:?}"
    );
}

#[test]
fn an_event_whose_message_was_stored_without_an_answer_is_stored_once_its_repetition_is_told_so() {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let said = fixture.inbound(&mut conversation, &job);
    let event = job.event.clone();
    let common = run(async move |simulation, store, port| {
        assert_eq!(store.record_event(&job).await.unwrap(), RecordEventOutcome::New);
        let write = || InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &said,
            finish: None,
        };
        assert_eq!(
            store.store_inbound(write()).await.unwrap(),
            StoreInboundOutcome::Stored
        );
        simulation.sleep(LATER_MS).await;
        let again = port.store_inbound(write()).await.unwrap();
        assert!(
            matches!(again, StoreInboundOutcome::AlreadyStored(_)),
            "{again:?}"
        );
    });
    let known = common.observations().stored.get(&event).copied();
    assert!(known.is_some_and(|at| at >= LATER_MS), "{known:?}");
}

/// Lets the database have so many pages more than it has.
fn limit_growth(store: &Embedded, pages: i64) {
    let limited = store.open_rows_for_test(|rows| -> rusqlite::Result<i64> {
        let used: i64 = rows.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        let limit = format!("PRAGMA max_page_count = {}", used + pages);
        rows.query_row(&limit, [], |row| row.get(0))
    });
    limited.expect("a store in memory").expect("the limit is set");
}

#[test]
fn of_writes_of_which_one_fails_none_is_made() {
    let store = store(&Simulation::new(1));
    let slip = |number: usize| Slip::new(None, &format!("{number:02}"), &"x".repeat(100_000));
    let slips: Vec<Slip> = (0..20).map(slip).collect();
    let (before, new) = slips.split_at(1);
    let put = |slip: &Slip| slip.put(Condition::Absent);
    let before: Vec<Write> = before.iter().map(put).collect();
    let new: Vec<Write> = new.iter().map(put).collect();
    block_on(store.write(&before)).unwrap().unwrap();
    // Some of the new ones have room.
    limit_growth(&store, 100);
    assert!(block_on(store.write(&new)).is_err());
    for (number, slip) in slips.iter().enumerate() {
        let found = block_on(store.get(&slip.key())).unwrap();
        assert_eq!(found.is_some(), number == 0, "{number}");
    }
    limit_growth(&store, 100_000);
    assert_eq!(block_on(store.write(&new)).unwrap().unwrap().len(), 19);
}
