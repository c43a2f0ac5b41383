//! Events that are in the log when a process ends, and what is left of them in the log's file.

use super::*;
use crate::embedded::tests::Scratch;
use crate::{DequeuedMessage, Embedded};
use futures::executor::block_on;
use recado_domain::dead_letter::{DeadLetterContent, QueueName};
use recado_domain::event::{EventPayload, EventState, FollowUpJob, InboundJob, ProcessingRecord};
use recado_domain::reason::Reason;
use recado_ports::ports::{
    EventChange, EventFinish, Inbox, PageRequest, QueueDepths, RecordEventOutcome, RecordRemoval,
};
use recado_ports::records::configuration::put_configuration;
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use recado_testkit::builders::{Fixture, at, far_ahead};
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
    succeed(store.record_and_enqueue_events(jobs)).await
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

/// Runs SQL on the database of a store.
async fn run_sql_statement(store: &Embedded, sql: String) {
    let run = move |c: &Connection| Ok(c.execute_batch(&sql)?);
    succeed(store.run_write("test", run)).await;
}

/// The mover goes event by event when some cannot be recorded together.
#[test]
fn an_event_that_cannot_be_recorded_is_set_aside_for_its_tenant_and_the_others_go_on() {
    let scratch = Scratch::new();
    let fixtures: [Fixture; 3] = std::array::from_fn(|_| Fixture::new());
    let jobs = fixtures.each_ref().map(|fixture| InboundJob {
        external: fixture.external(),
        ..fixture.job()
    });
    block_on(async {
        let store = scratch.store();
        succeed(put_configuration(&store, &fixtures[1].document())).await;
        let refused = jobs[1].event.clone();
        run_sql_statement(
            &store,
            format!(
                "CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.id = '{refused}'
                    BEGIN SELECT RAISE(ABORT, 'refused'); END"
            ),
        )
        .await;
        take_in(&store, &jobs).await;
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(
            receive_all(&store).await,
            ids(&[jobs[0].clone(), jobs[2].clone()])
        );
        let page = PageRequest::first(9);
        let letters = succeed(list_dead_letters(&store, &DeadLetterFilter::default(), &page)).await;
        let [letter] = &letters.items[..] else {
            panic!("{letters:?}")
        };
        assert_eq!(letter.tenant.as_ref(), Some(&fixtures[1].bound.tenant.id));
        assert_eq!(letter.instance.as_ref(), Some(fixtures[1].instance()));
        assert_eq!(letter.unread_event(), Some(refused));
        let DeadLetterContent::Unreadable { body } = &letter.what else {
            panic!("{letter:?}")
        };
        assert_eq!(serde_json::from_str::<InboundJob>(body).unwrap(), jobs[1]);
        store.shut_down().await;
        drop(store);
        assert!(
            !scratch.store().has_waiting_intake(),
            "nothing is left in the log"
        );
    });
}

#[test]
fn an_event_of_which_nothing_can_be_recorded_as_it_came_is_settled_so_that_its_repeats_are_acknowledged() {
    let scratch = Scratch::new();
    let [job] = jobs();
    block_on(async {
        let store = scratch.store();
        // What refuses the queue's row alone lets the record of what was given up be written.
        run_sql_statement(
            &store,
            "CREATE TRIGGER refuse BEFORE INSERT ON queue_messages WHEN NEW.event IS NOT NULL
                BEGIN SELECT RAISE(ABORT, 'refused'); END"
                .to_owned(),
        )
        .await;
        take_in(&store, std::slice::from_ref(&job)).await;
        store.wait_for_intake("test").await.unwrap();
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_eq!(
            (record.state, record.reason),
            (EventState::Dead, Some(Reason::Poison))
        );
        assert_eq!(
            take_in(&store, std::slice::from_ref(&job)).await,
            [RecordEventOutcome::Settled]
        );
    });
}

#[test]
fn the_repeat_of_a_pending_event_that_cannot_be_decoded_holds_up_nothing() {
    let scratch = Scratch::new();
    let mut deep = json!("end");
    for _ in 0..126 {
        deep = json!([deep]);
    }
    let [first, second] = jobs();
    let first = InboundJob {
        payload: EventPayload::Inline(deep),
        ..first
    };
    block_on(async {
        let store = scratch.store();
        take_in(&store, std::slice::from_ref(&first)).await;
        store.wait_for_intake("test").await.unwrap();
        store.shut_down().await;
        drop(store);
        // As if the repeat had come after the first one was deleted from the log.
        let log = Connection::open(scratch.0.join("intake.db")).unwrap();
        execute_sql(&log, "DELETE FROM intake", []).unwrap();
        drop(log);
        append_to_closed_log(&scratch.0, &[first.clone(), second.clone()]);
        let store = scratch.store();
        store.wait_for_intake("test").await.unwrap();
        let received = store.receive_messages(QueueName::Inbound, 100, HIDDEN).await;
        let received = received.unwrap();
        let named = received.iter().map(|message| {
            let names = recado_domain::event::JobNames::cut_out(&message.body);
            names.event.unwrap()
        });
        let named: std::collections::BTreeSet<_> = named.collect();
        assert_eq!(named, [first.event, second.event].into());
    });
}

#[test]
fn a_row_of_the_log_with_damaged_bytes_holds_up_nothing() {
    let scratch = Scratch::new();
    let jobs: [_; 2] = jobs();
    drop(scratch.store());
    append_to_closed_log(&scratch.0, &jobs);
    let log = Connection::open(scratch.0.join("intake.db")).unwrap();
    let sql = "UPDATE intake SET body = CAST(x'7bff' AS TEXT) WHERE id = ?1";
    execute_sql(&log, sql, [jobs[0].event.as_str()]).unwrap();
    drop(log);
    block_on(async {
        let store = scratch.store();
        store.wait_for_intake("test").await.unwrap();
        let received = store
            .receive_messages(QueueName::Inbound, 100, HIDDEN)
            .await
            .unwrap();
        assert_eq!(received.len(), 2);
        let readable = received
            .iter()
            .filter_map(|message| serde_json::from_str::<InboundJob>(&message.body).ok());
        assert_eq!(readable.collect::<Vec<_>>(), [jobs[1].clone()]);
    });
}

#[test]
fn how_long_the_oldest_new_event_waits_is_known() {
    let scratch = Scratch::new();
    let [first, second] = jobs();
    let first = InboundJob {
        received_at: at(5_000),
        ..first
    };
    block_on(async {
        let store = scratch.store();
        assert_eq!(succeed(store.read_oldest_intake()).await, None);
        // Another try may succeed: the mover waits, and sets nothing aside.
        run_sql_statement(&store, "ALTER TABLE queue_groups RENAME TO hidden".to_owned()).await;
        take_in(&store, &[first, second]).await;
        assert_eq!(succeed(store.read_oldest_intake()).await, Some(at(5_000)));
        run_sql_statement(&store, "ALTER TABLE hidden RENAME TO queue_groups".to_owned()).await;
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(succeed(store.read_oldest_intake()).await, None);
        assert_eq!(receive_all(&store).await.len(), 2);
    });
}

#[test]
fn a_proof_that_the_log_accepts_writes_takes_no_number() {
    let scratch = Scratch::new();
    let jobs: [_; 2] = jobs();
    block_on(async {
        let store = scratch.store();
        succeed(store.prove_intake_write()).await;
        take_in(&store, &jobs[..1]).await;
        succeed(store.prove_intake_write()).await;
        store.wait_for_intake("test").await.unwrap();
        store.shut_down().await;
        drop(store);
        let store = scratch.store();
        assert!(!store.has_waiting_intake(), "a proof is no event");
        take_in(&store, &jobs[1..]).await;
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(receive_all(&store).await, ids(&jobs));
        store.shut_down().await;
        drop(store);
        let log = Connection::open(scratch.0.join("intake.db")).unwrap();
        let sql = "SELECT count(*) FROM sqlite_sequence WHERE name = 'last_proof' AND seq > 0";
        let proofs: i64 = log.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(proofs, 1, "the second proof took the place of the first one");
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

/// Overwrites what was left out, as soon as nobody reads the logs: the mover's threads may still do.
async fn overwrite_left_out(store: &Embedded) {
    for _ in 0..400 {
        match store.overwrite_left_out().await {
            Ok(()) => return,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the logs are read all the time");
}

#[test]
fn what_was_left_out_is_in_no_file_after_the_logs_were_truncated() {
    let scratch = Scratch::new();
    let words = "setenta e sete tangerinas ";
    // A body of several pages, and one beside rows of others.
    let [large, small] = jobs();
    let with = |job: InboundJob, times: usize| InboundJob {
        payload: EventPayload::Inline(json!({"message": {"conversation": words.repeat(times)}})),
        ..job
    };
    let both = [with(large, 900), with(small, 1)];
    let folder = scratch.0.clone();
    let files_with_words = move || -> Vec<String> {
        let (mut folders, mut found) = (vec![folder.clone()], Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes
                    .windows(words.len())
                    .any(|window| window == words.as_bytes())
                {
                    found.push(path.display().to_string());
                }
            }
        }
        found
    };
    block_on(async {
        let store = scratch.store();
        overwrite_left_out(&store).await;
        take_in(&store, &both).await;
        take_in(&store, &jobs::<20>()).await;
        store.wait_for_intake("test").await.unwrap();
        assert_eq!(receive_all(&store).await.len(), 22);
        assert!(!files_with_words().is_empty());
        for (job, reason) in both.iter().zip([Some(Reason::Blocked), None]) {
            let processed = ProcessingRecord {
                started_at: at(1_000),
                enqueued: FollowUpJob::Ignored,
            };
            let finish = EventFinish {
                processed,
                at: at(1_000),
                expires: far_ahead(),
                reason,
            };
            succeed(store.change_event(&job.event, EventChange::Finish(&finish))).await;
        }
        overwrite_left_out(&store).await;
        assert_eq!(files_with_words(), Vec::<String>::new());
    });
}
