//! Events are recorded and enqueued in one transaction.

use super::*;
use recado_ports::ports::{EventChange, Inbox, OverdueWork, Overviews, PortResult, RecordEventOutcome};
use recado_ports::records::dead_letters::find_dead_letter;
use recado_ports::settings::VisibilityTimeouts;
use recado_testkit::builders::{Fixture, at, far_ahead};

async fn take_in(bench: &Bench, jobs: &[InboundJob]) -> PortResult<Vec<RecordEventOutcome>> {
    bench.queues.record_and_enqueue_events(jobs).await
}

#[test]
fn an_event_is_recorded_and_comes_from_the_queue_behind_its_group() {
    let bench = Bench::new();
    block_on(async {
        let jobs = [event("a", "a1").job, event("a", "a2").job, event("b", "b1").job];
        let recorded = succeed(take_in(&bench, &jobs)).await;
        assert_eq!(recorded, [RecordEventOutcome::New; 3]);
        for job in &jobs {
            assert!(succeed(bench.queues.find_event(&job.event)).await.is_some());
        }
        let received = bench.receive(QueueName::Inbound, 10).await;
        assert_eq!(received.iter().map(id_of).collect::<Vec<_>>(), ["a1", "b1"]);
        assert_eq!(received[0].owner, TenantKey::for_event(&jobs[0]));
        assert!(bench.queues.delete_received(&received[0].receipt).await.unwrap());
        assert_eq!(bench.ids(10).await, ["a2"]);
    });
}

#[test]
fn a_repeat_is_enqueued_while_the_event_is_pending_and_then_only_acknowledged() {
    let bench = Bench::new();
    block_on(async {
        let job = event("a", "a1").job;
        for expected in ["New", "Pending", "Pending", "Pending"] {
            let recorded = succeed(take_in(&bench, std::slice::from_ref(&job))).await;
            assert_eq!(format!("{:?}", recorded[0]), expected);
        }
        // The first repeat is enqueued, those behind it are dropped: their deduplication id is known for five minutes.
        let waiting = bench.queues.queue_depth(QueueName::Inbound).await.unwrap();
        assert_eq!(waiting.visible, 2);
        succeed(bench.queues.change_event(
            &job.event,
            EventChange::Apply {
                at: at(1),
                expires: far_ahead(),
            },
        ))
        .await;
        bench.pass(600);
        let recorded = succeed(take_in(&bench, std::slice::from_ref(&job))).await;
        assert_eq!(recorded, [RecordEventOutcome::Settled]);
        assert_eq!(
            bench
                .queues
                .queue_depth(QueueName::Inbound)
                .await
                .unwrap()
                .visible,
            2
        );
    });
}

#[test]
fn what_cannot_be_enqueued_is_not_recorded() {
    let bench = Bench::new();
    block_on(async {
        let rename = |from: &str, to: &str| {
            let sql = format!("ALTER TABLE {from} RENAME TO {to}");
            bench
                .queues
                .run_write("test", move |c| Ok(c.execute_batch(&sql)?))
        };
        let jobs = [event("a", "a1").job, event("b", "b1").job];
        succeed(rename("queue_groups", "hidden")).await;
        assert!(take_in(&bench, &jobs).await.is_err());
        succeed(rename("hidden", "queue_groups")).await;
        for job in &jobs {
            assert!(succeed(bench.queues.find_event(&job.event)).await.is_none());
        }
        assert_eq!(
            succeed(take_in(&bench, &jobs)).await,
            [RecordEventOutcome::New; 2]
        );
        assert_eq!(bench.ids(10).await, ["a1", "b1"]);
    });
}

/// Damages the record of an event: its bytes, its JSON, its end, and the depth of its payload.
const DAMAGES: [&str; 5] = [
    "UPDATE events SET body = CAST(x'7b22ff' AS TEXT) WHERE id = ?1",
    "UPDATE events SET body = '{' WHERE id = ?1",
    "UPDATE events SET body = substr(body, 1, 100) WHERE id = ?1",
    "UPDATE events SET body = substr(body, 1, 140) WHERE id = ?1",
    "UPDATE events SET body = replace(body, '\"a1\"', printf('%.*c', 127, '[') || printf('%.*c', 127, ']')) WHERE id = ?1",
];

async fn damage(bench: &Bench, job: &InboundJob, sql: &'static str) {
    let id = job.event.clone();
    let work = move |c: &Connection| execute_sql(c, sql, [id.as_str()]);
    assert_eq!(succeed(bench.queues.run_write("damage", work)).await, 1);
}

#[test]
fn an_event_whose_record_is_damaged_holds_up_no_other_and_is_settled() {
    for sql in DAMAGES {
        let bench = Bench::new();
        block_on(async {
            let jobs = [event("a", "a1").job, event("b", "b1").job];
            succeed(take_in(&bench, &jobs)).await;
            damage(&bench, &jobs[0], sql).await;
            let received = bench.receive(QueueName::Inbound, 10).await;
            assert_eq!(received.len(), 2, "{sql}");
            let readable =
                |message: &&DequeuedMessage| serde_json::from_str::<InboundJob>(&message.body).is_ok();
            let readable: Vec<&DequeuedMessage> = received.iter().filter(readable).collect();
            assert_eq!(readable.len(), 1, "{sql}");
            assert_eq!(id_of(readable[0]), "b1");
            let letter = Fixture::new().dead_letter_of(&jobs[0], at(1));
            let settled = bench.queues.change_event(
                &jobs[0].event,
                EventChange::GiveUp {
                    dead_letter: &letter,
                    expires: far_ahead(),
                },
            );
            assert!(succeed(settled).await, "{sql}");
            let kept = succeed(find_dead_letter(&bench.queues, &letter.id)).await;
            assert_eq!(kept, Some(letter), "{sql}");
            let outcomes = succeed(take_in(&bench, &jobs)).await;
            assert_eq!(outcomes[0], RecordEventOutcome::Settled, "{sql}");
            let overdue = succeed(bench.queues.list_overdue(far_ahead(), 10)).await;
            assert_eq!(overdue, [OverdueWork::Event(jobs[1].event.clone())], "{sql}");
        });
    }
}

#[test]
fn the_repeat_of_a_damaged_pending_event_brings_it_back() {
    for sql in &DAMAGES[..4] {
        let bench = Bench::new();
        block_on(async {
            let job = event("a", "a1").job;
            succeed(take_in(&bench, std::slice::from_ref(&job))).await;
            damage(&bench, &job, sql).await;
            let outcomes = succeed(take_in(&bench, std::slice::from_ref(&job))).await;
            assert_eq!(outcomes, [RecordEventOutcome::Pending], "{sql}");
            let record = succeed(bench.queues.find_event(&job.event)).await.unwrap();
            assert_eq!(record.job, job, "{sql}");
            assert_eq!(bench.ids(1).await, ["a1"], "{sql}");
        });
    }
}

#[test]
fn a_damaged_message_that_was_handed_out_too_often_is_given_up_and_the_others_are_not() {
    let bench = Bench::new();
    block_on(async {
        let jobs = [event("a", "a1").job, event("b", "b1").job];
        succeed(take_in(&bench, &jobs[..1])).await;
        damage(&bench, &jobs[0], DAMAGES[1]).await;
        for _ in 0..VisibilityTimeouts::RECEIVES_MAX {
            assert_eq!(bench.receive(QueueName::Inbound, 1).await.len(), 1);
            bench.pass(60);
        }
        succeed(take_in(&bench, &jobs[1..])).await;
        assert_eq!(bench.ids(10).await, ["b1"]);
        let dead = bench
            .queues
            .list_dead_messages(QueueName::Inbound, 9)
            .await
            .unwrap();
        assert_eq!(dead[0].body, "{");
    });
}

#[test]
fn the_message_of_an_applied_or_deleted_event_is_dropped_and_its_group_goes_on() {
    let bench = Bench::new();
    block_on(async {
        let jobs = ["a1", "a2", "a3"].map(|id| event("a", id).job);
        succeed(take_in(&bench, &jobs)).await;
        succeed(bench.queues.change_event(
            &jobs[0].event,
            EventChange::Apply {
                at: at(1),
                expires: far_ahead(),
            },
        ))
        .await;
        let erased = jobs[1].event.clone();
        let erase =
            move |c: &Connection| execute_sql(c, "DELETE FROM events WHERE id = ?1", [erased.as_str()]);
        bench.queues.run_write("erase", erase).await.unwrap();
        assert_eq!(bench.ids(10).await, ["a3"]);
        let left = bench.queues.queue_depth(QueueName::Inbound).await.unwrap();
        assert_eq!((left.visible, left.in_flight), (0, 1));
    });
}

#[test]
fn in_the_dead_letter_queue_a_message_has_its_job_whatever_becomes_of_its_event() {
    let bench = Bench::new();
    block_on(async {
        let job = event("a", "a1").job;
        succeed(take_in(&bench, std::slice::from_ref(&job))).await;
        for _ in 0..VisibilityTimeouts::RECEIVES_MAX {
            assert_eq!(bench.ids(1).await, ["a1"]);
            bench.pass(60);
        }
        assert!(bench.ids(1).await.is_empty());
        let erase = |c: &Connection| execute_sql(c, "DELETE FROM events", []);
        bench.queues.run_write("erase", erase).await.unwrap();
        let dead = bench
            .queues
            .list_dead_messages(QueueName::Inbound, 9)
            .await
            .unwrap();
        assert_eq!(dead.len(), 1);
        assert_eq!(serde_json::from_str::<InboundJob>(&dead[0].body).unwrap(), job);
        assert!(
            bench
                .queues
                .redrive_dead_message(QueueName::Inbound, dead[0].id)
                .await
                .unwrap()
        );
        assert_eq!(bench.ids(1).await, ["a1"]);
    });
}
