//! Events that are in the log when a process ends, and what is left of them in the log's file.

use super::*;
use crate::embedded::tests::Scratch;
use crate::{DequeuedMessage, Embedded};
use futures::executor::block_on;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventPayload, InboundJob};
use recado_ports::ports::{ErasableRecords, Inbox, Queues, RecordEventOutcome};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

const HIDDEN: Duration = Duration::from_secs(60);

fn jobs<const N: usize>() -> [InboundJob; N] {
    std::array::from_fn(|_| Fixture::new().job())
}

/// Appends `jobs` to the log of a folder that no process has open.
fn append_to_closed_log(folder: &Path, jobs: &[InboundJob]) {
    let connection = Connection::open(folder.join("intake.db")).unwrap();
    for job in jobs {
        let event = IncomingEvent::from_job(job).unwrap();
        assert!(event.append_to_log(&connection).unwrap());
    }
}

async fn take_in(store: &Embedded, jobs: &[InboundJob]) -> Vec<RecordEventOutcome> {
    succeed(store.record_and_enqueue(jobs).unwrap()).await
}

/// Receives what is in the queue, and returns the ids of the events, sorted.
async fn receive_all(store: &Embedded) -> Vec<String> {
    let received = store.receive_messages(QueueName::Inbound, 100, HIDDEN).await;
    let event = |message: &DequeuedMessage| {
        let job: InboundJob = serde_json::from_str(&message.body).unwrap();
        job.event.as_str().to_owned()
    };
    let mut ids: Vec<String> = received.unwrap().iter().map(event).collect();
    ids.sort();
    ids
}

/// Returns the ids of the events, sorted.
fn ids(jobs: &[InboundJob]) -> Vec<String> {
    let mut ids: Vec<String> = jobs.iter().map(|job| job.event.as_str().to_owned()).collect();
    ids.sort();
    ids
}

#[test]
fn what_was_in_the_log_when_the_process_ended_is_enqueued_by_the_next_one() {
    let scratch = Scratch::new();
    let [first, second, third] = jobs();
    block_on(async {
        let store = scratch.store();
        take_in(&store, std::slice::from_ref(&first)).await;
        store.wait_for_intake("test").await.unwrap();
        store.shut_down().await;
        drop(store);
        append_to_closed_log(&scratch.0, &[second.clone(), third.clone()]);
        let store = scratch.store();
        let depth = store.queue_depth(QueueName::Inbound).await.unwrap();
        // One that was moved a moment after the clock was read is not visible yet.
        assert_eq!(depth.visible + depth.delayed, 3, "the two in the log count, too");
        assert!(succeed(store.find_event(&third.event)).await.is_some());
        assert_eq!(receive_all(&store).await, ids(&[first, second, third]));
    });
}

#[test]
fn what_was_moved_is_not_moved_again_though_it_is_still_in_the_log() {
    let scratch = Scratch::new();
    let jobs: [_; 3] = jobs();
    block_on(async {
        let store = scratch.store();
        take_in(&store, &jobs).await;
        store.wait_for_intake("test").await.unwrap();
        store.shut_down().await;
        drop(store);
        // As if the process had ended before it deleted them.
        let log = Connection::open(scratch.0.join("intake.db")).unwrap();
        execute_sql(&log, "DELETE FROM intake", []).unwrap();
        for (number, job) in (1_i64..).zip(&jobs) {
            let event = IncomingEvent::from_job(job).unwrap();
            assert!(event.append_to_log(&log).unwrap());
            let sql = "UPDATE intake SET seq = ?1 WHERE id = ?2";
            execute_sql(&log, sql, (number, job.event.as_str())).unwrap();
        }
        drop(log);
        let store = scratch.store();
        assert_eq!(receive_all(&store).await, ids(&jobs));
        assert_eq!(receive_all(&store).await, [""; 0]);
    });
}

#[test]
fn a_log_that_is_made_anew_goes_on_behind_what_was_moved() {
    let scratch = Scratch::new();
    let jobs: [_; 3] = jobs();
    block_on(async {
        let store = scratch.store();
        take_in(&store, &jobs[..2]).await;
        store.wait_for_intake("test").await.unwrap();
        store.shut_down().await;
        drop(store);
        for file in ["intake.db", "intake.db-wal", "intake.db-shm"] {
            let _ = std::fs::remove_file(scratch.0.join(file));
        }
        let store = scratch.store();
        take_in(&store, &jobs[2..]).await;
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(receive_all(&store).await, ids(&jobs));
    });
}

#[test]
fn a_repeat_is_known_in_the_log_and_in_the_database() {
    let scratch = Scratch::new();
    let [first, second] = jobs();
    block_on(async {
        let store = scratch.store();
        let both = [first.clone(), first.clone(), second.clone()];
        let (new, pending) = (RecordEventOutcome::New, RecordEventOutcome::Pending);
        assert_eq!(take_in(&store, &both).await, [new, pending, new]);
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(take_in(&store, std::slice::from_ref(&first)).await, [pending]);
        assert_eq!(receive_all(&store).await, ids(&[first.clone(), second]));
        store.shut_down().await;
        drop(store);
        let store = scratch.store();
        assert!(
            !store.has_waiting_intake(),
            "the repeats took numbers and left nothing"
        );
        assert_eq!(take_in(&store, std::slice::from_ref(&first)).await, [pending]);
    });
}

#[test]
fn what_is_overwritten_is_in_no_file_of_the_log() {
    let scratch = Scratch::new();
    let words = "quarenta e duas laranjas";
    let [job] = jobs();
    let payload = EventPayload::Inline(json!({"message": {"conversation": words}}));
    let job = InboundJob { payload, ..job };
    let holds_words = || {
        ["intake.db", "intake.db-wal"].iter().any(|file| {
            let bytes = std::fs::read(scratch.0.join(file)).unwrap_or_default();
            bytes
                .windows(words.len())
                .any(|window| window == words.as_bytes())
        })
    };
    block_on(async {
        let store = scratch.store();
        take_in(&store, std::slice::from_ref(&job)).await;
        assert!(holds_words());
        store.overwrite_deleted().await.unwrap();
        assert!(!holds_words());
    });
}
