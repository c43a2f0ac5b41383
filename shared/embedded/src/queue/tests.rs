use super::*;
use crate::{Clock, Embedded};
use futures::executor::block_on;
use futures::{FutureExt, poll};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, CorrelationId, ExternalId, InstanceId, Ordinal, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_domain::provider::Provider;
use recado_domain::wake_up::{AgentReturnJob, OutboundJob, SendJob, TurnJob, TurnsJob};
use recado_ports::ports::{InboundEntry, OutboundEntry, Queues};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

mod dead;
mod fair;
mod intake;
mod joint_writes;

const HIDDEN: Duration = Duration::from_secs(30);

/// Queues and their time, in milliseconds.
struct Bench {
    queues: Embedded,
    time: Arc<AtomicI64>,
}

impl Bench {
    fn new() -> Self {
        let time = Arc::new(AtomicI64::new(1_000_000));
        let now = Arc::clone(&time);
        let queues =
            Embedded::in_memory(Clock::new(move || from_unix_millis(now.load(Ordering::Relaxed)))).unwrap();
        Self { queues, time }
    }

    fn pass(&self, seconds: i64) {
        self.time.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    async fn send(&self, group: &str, id: &str) {
        self.queues.enqueue_inbound(&[event(group, id)]).await.unwrap();
    }

    async fn send_job(&self, job: &SendJob, deduplication: &str) {
        let entry = OutboundEntry {
            job: job.clone().into(),
            deduplication: deduplication.to_owned(),
        };
        self.queues.enqueue_outbound(&[entry]).await.unwrap();
    }

    async fn receive(&self, queue: QueueName, max: usize) -> Vec<DequeuedMessage> {
        self.queues.receive_messages(queue, max, HIDDEN).await.unwrap()
    }

    /// What comes from `inbound`, by its deduplication id (which the tests put into the payload).
    async fn ids(&self, max: usize) -> Vec<String> {
        self.receive(QueueName::Inbound, max)
            .await
            .iter()
            .map(id_of)
            .collect()
    }
}

fn event(group: &str, id: &str) -> InboundEntry {
    event_of("loja-01", group, id)
}

fn event_of(instance: &str, group: &str, id: &str) -> InboundEntry {
    let external = ExternalId::parse(instance).unwrap();
    let job = InboundJob {
        event: derive_event_id(Provider::Evolution, &external, EventKind::Message, id),
        external,
        group: group.to_owned(),
        payload: EventPayload::Inline(json!(id)),
        ..Fixture::new().job()
    };
    InboundEntry {
        job,
        deduplication: id.to_owned(),
    }
}

fn id_of(received: &DequeuedMessage) -> String {
    let job: InboundJob = serde_json::from_str(&received.body).unwrap();
    let EventPayload::Inline(id) = job.payload else {
        panic!("not inline")
    };
    id.as_str().unwrap().to_owned()
}

fn conversation() -> ConversationId {
    let thread =
        IdentityKey::from_bytes([7; 32]).derive_thread_id(&InstanceId::parse("loja-01").unwrap(), "someone");
    ConversationId::new(thread, 1)
}

fn send_job_in(received: &DequeuedMessage) -> SendJob {
    match serde_json::from_str(&received.body).unwrap() {
        OutboundJob::Send(job) => job,
        OutboundJob::Email(other) => panic!("no send job: {other:?}"),
    }
}

fn turns_job_in(received: &DequeuedMessage) -> TurnsJob {
    serde_json::from_str(&received.body).unwrap()
}

fn turn(ordinal: u64) -> TurnsJob {
    turn_for("loja", ordinal)
}

fn turn_for(tenant: &str, ordinal: u64) -> TurnsJob {
    TurnsJob::Turn(TurnJob {
        conversation: conversation(),
        tenant: TenantId::parse(tenant).unwrap(),
        ordinal: Ordinal(ordinal),
        correlation: CorrelationId::parse("k").unwrap(),
        parent: None,
        due: None,
    })
}

#[test]
fn a_group_comes_in_order_and_one_at_a_time_and_groups_side_by_side() {
    let bench = Bench::new();
    block_on(async {
        for (group, id) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("a", "a3")] {
            bench.send(group, id).await;
        }
        let first = bench.receive(QueueName::Inbound, 10).await;
        assert_eq!(first.iter().map(id_of).collect::<Vec<_>>(), ["a1", "b1"]);
        assert!(bench.ids(10).await.is_empty());
        assert!(bench.queues.delete_received(&first[0].receipt).await.unwrap());
        assert_eq!(bench.ids(10).await, ["a2"]);
        assert!(bench.queues.delete_received(&first[1].receipt).await.unwrap());
        assert!(bench.ids(10).await.is_empty());
    });
}

#[test]
fn a_message_that_is_put_off_holds_its_group_back_and_keeps_its_place() {
    let bench = Bench::new();
    block_on(async {
        bench.send("a", "a1").await;
        bench.send("a", "a2").await;
        let first = bench.receive(QueueName::Inbound, 1).await.remove(0);
        assert!(
            succeed(
                bench
                    .queues
                    .change_visibility(&first.receipt, Duration::from_secs(300))
            )
            .await
        );
        bench.pass(299);
        assert!(bench.ids(10).await.is_empty());
        bench.pass(1);
        let again = bench.receive(QueueName::Inbound, 1).await.remove(0);
        assert_eq!((id_of(&again).as_str(), again.receives), ("a1", 2));
    });
}

#[test]
fn what_is_not_deleted_in_time_comes_again_and_the_old_receipt_is_worth_nothing() {
    let bench = Bench::new();
    block_on(async {
        bench.send("a", "a1").await;
        let first = bench.receive(QueueName::Inbound, 1).await.remove(0);
        bench.pass(30);
        assert!(
            !bench.queues.delete_received(&first.receipt).await.unwrap(),
            "its time is over"
        );
        assert!(
            !bench
                .queues
                .change_visibility(&first.receipt, HIDDEN)
                .await
                .unwrap()
        );
        let second = bench.receive(QueueName::Inbound, 1).await.remove(0);
        assert_eq!(second.receives, 2);
        assert!(!bench.queues.delete_received(&first.receipt).await.unwrap());
        assert!(
            !bench
                .queues
                .change_visibility(&first.receipt, Duration::ZERO)
                .await
                .unwrap()
        );
        assert!(bench.ids(1).await.is_empty(), "it is still hidden");
        assert!(bench.queues.delete_received(&second.receipt).await.unwrap());
        assert!(!bench.queues.delete_received(&second.receipt).await.unwrap());
        bench.pass(3600);
        assert!(bench.ids(1).await.is_empty());
    });
}

#[test]
fn a_repeat_within_five_minutes_is_dropped_even_after_the_first_is_gone() {
    let bench = Bench::new();
    block_on(async {
        bench.send("a", "a1").await;
        bench.send("a", "a1").await;
        bench.send("b", "a1").await;
        let received = bench.receive(QueueName::Inbound, 10).await;
        assert_eq!(received.len(), 2, "another group's is another message");
        for received in &received {
            bench.queues.delete_received(&received.receipt).await.unwrap();
        }
        bench.pass(299);
        bench.send("a", "a1").await;
        assert!(bench.ids(10).await.is_empty());
        bench.pass(1);
        bench.send("a", "a1").await;
        assert_eq!(bench.ids(10).await, ["a1"]);
    });
}

#[test]
fn what_each_queue_had_handed_out_comes_again_at_once_after_a_start() {
    let bench = Bench::new();
    block_on(async {
        let send = SendJob::new(conversation(), Ordinal(3), CorrelationId::parse("k").unwrap());
        bench.send("a", "a1").await;
        succeed(bench.queues.enqueue_turns_job(&turn(1), Duration::ZERO)).await;
        bench.send_job(&send, "n1").await;
        for queue in QueueName::ALL {
            assert_eq!(bench.receive(queue, 10).await.len(), 1, "{queue:?}");
            assert_eq!(bench.receive(queue, 10).await.len(), 0, "{queue:?}");
        }
        assert_eq!(succeed(bench.queues.recover_after_crash()).await.received, 3);
        for queue in QueueName::ALL {
            let again = bench.receive(queue, 10).await;
            let receives: Vec<u32> = again.iter().map(|message| message.receives).collect();
            assert_eq!(receives, [2], "{queue:?}");
        }
    });
}

#[test]
fn a_send_job_is_enqueued_in_the_group_of_the_contact() {
    let bench = Bench::new();
    block_on(async {
        let correlation = CorrelationId::parse("k").unwrap();
        let job = SendJob::new(conversation(), Ordinal(3), correlation);
        bench.send_job(&job, "n1").await;
        bench.send_job(&job, "n2").await;
        let received = bench.receive(QueueName::Outbound, 10).await.remove(0);
        assert_eq!(
            received.group,
            Some(conversation().thread_id().as_str().to_owned())
        );
        assert_eq!(send_job_in(&received), job);
        assert!(bench.receive(QueueName::Outbound, 10).await.is_empty());
    });
}

#[test]
fn a_send_job_that_waits_in_a_replys_group_holds_up_no_other_of_the_contact() {
    let bench = Bench::new();
    block_on(async {
        let contacts = SendJob::new(conversation(), Ordinal(3), CorrelationId::parse("k").unwrap());
        let reply = conversation().message_id(Ordinal(2));
        let replys = SendJob {
            reply: Some(reply.clone()),
            ..contacts.clone()
        };
        bench.send_job(&replys, "n").await;
        let waiting = bench.receive(QueueName::Outbound, 10).await.remove(0);
        assert_eq!(waiting.group.as_deref(), Some(reply.as_str()));
        let long = Duration::from_secs(600);
        assert!(succeed(bench.queues.change_visibility(&waiting.receipt, long)).await);
        // The same id in another group is another send job.
        bench.send_job(&contacts, "n").await;
        let come = bench.receive(QueueName::Outbound, 10).await;
        let come: Vec<SendJob> = come.iter().map(send_job_in).collect();
        assert_eq!(come, [contacts]);
        bench.send_job(&replys, "n2").await;
        assert!(
            bench.receive(QueueName::Outbound, 10).await.is_empty(),
            "behind the one that waits"
        );
    });
}

#[test]
fn a_turn_comes_when_its_delay_is_over_beside_others() {
    let bench = Bench::new();
    block_on(async {
        succeed(bench.queues.enqueue_turns_job(&turn(1), Duration::from_secs(4))).await;
        succeed(bench.queues.enqueue_turns_job(&turn(2), Duration::from_secs(2))).await;
        let too_long = bench
            .queues
            .enqueue_turns_job(&turn(3), Duration::from_secs(901))
            .await;
        assert!(!too_long.unwrap_err().is_retryable());
        assert!(bench.receive(QueueName::Turns, 10).await.is_empty());
        assert_eq!(
            bench.queues.next_visible_at(QueueName::Turns).await.unwrap(),
            Some(from_unix_millis(1_002_000))
        );
        bench.pass(4);
        let both = bench.receive(QueueName::Turns, 10).await;
        assert_eq!(both.len(), 2, "a conversation's turns do not wait for each other");
        assert_eq!(turns_job_in(&both[0]), turn(2));
        bench.pass(30);
        assert!(
            bench.queues.delete_received(&both[0].receipt).await.unwrap(),
            "late, but nobody received it since"
        );
    });
}

#[test]
fn a_schedule_exists_once_per_conversation_and_minute_until_it_comes() {
    let bench = Bench::new();
    block_on(async {
        let at = from_unix_millis(86_400_000);
        bench.queues.schedule_turns_job(&turn(1), at).await.unwrap();
        succeed(
            bench
                .queues
                .schedule_turns_job(&turn(2), from_unix_millis(86_400_000 + 59_999)),
        )
        .await;
        succeed(
            bench
                .queues
                .schedule_turns_job(&turn(3), from_unix_millis(86_400_000 + 60_000)),
        )
        .await;
        assert_eq!(
            bench.queues.queue_depth(QueueName::Turns).await.unwrap().delayed,
            2
        );
        bench.time.store(86_400_000, Ordering::Relaxed);
        let fired = bench.receive(QueueName::Turns, 10).await;
        assert_eq!(fired.len(), 1);
        assert_eq!(turns_job_in(&fired[0]), turn(1), "never replaced");
        bench.queues.schedule_turns_job(&turn(4), at).await.unwrap();
        assert_eq!(
            bench.receive(QueueName::Turns, 10).await.len(),
            1,
            "it has come: the name is free"
        );
    });
}

#[test]
fn a_turn_and_the_agents_return_of_one_conversation_in_one_minute_are_two_schedules() {
    let bench = Bench::new();
    block_on(async {
        let at = from_unix_millis(86_400_000);
        let timer = TurnsJob::AgentReturn(AgentReturnJob {
            conversation: conversation(),
            tenant: TenantId::parse("loja").unwrap(),
            correlation: CorrelationId::parse("k").unwrap(),
            parent: None,
        });
        for job in [turn(1), timer.clone(), timer.clone()] {
            bench.queues.schedule_turns_job(&job, at).await.unwrap();
        }
        bench.time.store(86_400_000, Ordering::Relaxed);
        let fired = bench.receive(QueueName::Turns, 10).await;
        let fired: Vec<TurnsJob> = fired.iter().map(turns_job_in).collect();
        assert_eq!(fired.len(), 2);
        assert!(fired.contains(&turn(1)) && fired.contains(&timer));
    });
}

#[test]
fn who_waits_is_woken_and_what_happened_before_is_not_missed() {
    let bench = Bench::new();
    block_on(async {
        let mut waiting = bench.queues.wait_for_change(QueueName::Inbound).boxed();
        let mut elsewhere = bench.queues.wait_for_change(QueueName::Turns).boxed();
        assert!(poll!(&mut waiting).is_pending() && poll!(&mut elsewhere).is_pending());
        bench.send("a", "a1").await;
        assert!(poll!(&mut waiting).is_ready() && poll!(&mut elsewhere).is_pending());
        bench.send("a", "a2").await;
        assert!(poll!(&mut bench.queues.wait_for_change(QueueName::Inbound).boxed()).is_ready());
        assert!(poll!(&mut bench.queues.wait_for_change(QueueName::Inbound).boxed()).is_pending());
        let received = bench.receive(QueueName::Inbound, 1).await.remove(0);
        let mut waiting = bench.queues.wait_for_change(QueueName::Inbound).boxed();
        assert!(poll!(&mut waiting).is_pending());
        bench.queues.delete_received(&received.receipt).await.unwrap();
        assert!(poll!(&mut waiting).is_ready(), "the next of the group is free");
    });
}

#[test]
fn the_next_moment_to_look_is_known() {
    let bench = Bench::new();
    block_on(async {
        let next = || bench.queues.next_visible_at(QueueName::Inbound);
        assert_eq!(next().await.unwrap(), None);
        bench.send("a", "a1").await;
        bench.send("a", "a2").await;
        assert_eq!(next().await.unwrap(), Some(from_unix_millis(1_000_000)));
        bench.receive(QueueName::Inbound, 1).await;
        assert_eq!(
            next().await.unwrap(),
            Some(from_unix_millis(1_030_000)),
            "all of the group wait for the first"
        );
        let depth = bench.queues.queue_depth(QueueName::Inbound).await.unwrap();
        assert_eq!((depth.visible, depth.in_flight, depth.delayed), (1, 1, 0));
        assert_eq!(depth.oldest, Some(from_unix_millis(1_000_000)));
        bench.send("b", "b1").await;
        assert_eq!(next().await.unwrap(), Some(from_unix_millis(1_000_000)));
    });
}
