//! What queues dead-letter by themselves, and copies that are left over.

use crate::tests::Site;
use crate::tests::dying::{CONTACT, dead_depth, dies, get, job, now, post, reply, state};
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventState, InboundJob};
use recado_domain::ids::{CorrelationId, InstanceId, Ordinal};
use recado_domain::message::Message;
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::wake_up::{SendJob, TurnsJob};
use recado_embedded::{Clock, Embedded};
use recado_pipeline::ports::{Conversations, Inbox, OutboundEntry, Queues};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::remove_dead_letter;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Sends something to `queue`, which hands it out until it puts it into its dead-letter queue by itself.
async fn given_up_by_its_queue(site: &Site, queue: QueueName, send: impl AsyncFn()) {
    send().await;
    let before = dead_depth(site, queue).await;
    for _ in 0..=recado_pipeline::settings::VisibilityTimeouts::RECEIVES_MAX {
        for received in succeed(site.store.receive_messages(queue, 1, Duration::from_secs(1))).await {
            // Put back at once, as a worker does that cannot do it now.
            let kept = site.store.change_visibility(&received.receipt, Duration::ZERO);
            assert!(kept.await.unwrap());
        }
    }
    assert_eq!(dead_depth(site, queue).await, before + 1, "{queue:?}");
}

/// One thing on each queue that the queue gave up by itself: a message's send job, an event, a turn.
async fn one_of_each(site: &Site) -> (Message, InboundJob) {
    let id = site.conversation(CONTACT).await;
    let message = reply(site, &id).await;
    let send_job = SendJob::new(id.clone(), message.ordinal, message.correlation.clone());
    given_up_by_its_queue(site, QueueName::Outbound, async || {
        let entry = OutboundEntry {
            job: send_job.clone().into(),
            deduplication: "k1".to_owned(),
        };
        site.store.enqueue_outbound(&[entry]).await.unwrap();
    })
    .await;
    let job = job("suporte-01", "E1");
    let _ = site.store.record_event(&job).await.unwrap();
    given_up_by_its_queue(site, QueueName::Inbound, async || {
        let enqueue = recado_pipeline::ports::InboundEntry {
            job: job.clone(),
            deduplication: "e1".to_owned(),
        };
        site.store.enqueue_inbound(&[enqueue]).await.unwrap();
    })
    .await;
    turns_job_given_up(
        site,
        json!({"job": "turn", "conversation": id, "tenant": message.tenant, "ordinal": 1, "correlation": "k"}),
    )
    .await;
    (message, job)
}

/// Sends a job to `turns`, which gives it up by itself.
async fn turns_job_given_up(site: &Site, job: Value) {
    let job: TurnsJob = serde_json::from_value(job).unwrap();
    given_up_by_its_queue(site, QueueName::Turns, async || {
        site.store.enqueue_turns_job(&job, Duration::ZERO).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_a_queue_gave_up_by_itself_is_entered_into_its_record_and_can_be_redriven() {
    let (site, clock) = at(now()).await;
    let (message, job) = one_of_each(&site).await;
    let deps = site.deps();
    let done = reconcile(&deps).await.unwrap();
    assert_eq!((done.count_of("collected"), done.failed), (3, 0));
    let listed = get(&site, "/v1/dead-letters").await;
    let mut kinds: Vec<&str> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["what"].as_str().unwrap())
        .collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["event", "message", "turn"], "{listed}");
    assert!(
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|item| item["reason"] == "poison")
    );
    assert!(matches!(
        state(&site, &message.message_id()).await,
        OutboxState::Dead {
            reason: Reason::Poison,
            ..
        }
    ));
    let record = site.store.find_event(&job.event).await.unwrap().unwrap();
    assert_eq!(
        (record.state, record.reason),
        (EventState::Dead, Some(Reason::Poison))
    );
    for queue in QueueName::ALL {
        let copies = site.store.list_dead_messages(queue, 10).await.unwrap();
        assert!(
            copies.iter().all(|copy| copy.dead_letter.is_some()),
            "only marked copies"
        );
        assert_eq!(copies.len(), 1, "{queue:?}");
    }
    // What reconcile has just looked at is handed out again a few seconds later.
    clock.fetch_add(6_000, Ordering::Relaxed);
    let answered = post(&site, "/v1/dead-letters/redrive", json!({"reason": "poison"})).await;
    assert_eq!(answered.body["redriven"], 3, "{}", answered.text);
    assert_eq!(state(&site, &message.message_id()).await, OutboxState::Queued);
    for queue in QueueName::ALL {
        assert_eq!(dead_depth(&site, queue).await, 0, "{queue:?}");
    }
}

#[tokio::test]
async fn each_job_of_turns_that_was_given_up_says_what_it_is_and_what_it_is_about() {
    let (site, _) = at(now()).await;
    let id = site.conversation(CONTACT).await;
    let tenant = succeed(site.store.find_conversation(&id)).await.unwrap().tenant;
    for job in [
        json!({"job": "agent_return", "conversation": id, "tenant": tenant, "correlation": "k"}),
        json!({"job": "file", "conversation": id, "tenant": tenant, "ordinal": 1, "correlation": "k"}),
        json!({"job": "batch", "tenant": tenant, "batch": "b", "from": 40, "correlation": "k"}),
    ] {
        turns_job_given_up(&site, job).await;
    }
    reconcile(&site.deps()).await.unwrap();
    let listed = get(&site, "/v1/dead-letters").await;
    let items = listed["items"].as_array().unwrap();
    let about = |kind: &str| {
        let item = items.iter().find(|item| item["what"] == kind).unwrap();
        (item["conversation_id"].clone(), item["message_id"].clone())
    };
    let file = id.message_id(Ordinal(1));
    assert_eq!(about("agent_return"), (json!(id), Value::Null));
    assert_eq!(about("file"), (json!(id), json!(file)));
    assert_eq!(about("batch"), (Value::Null, Value::Null));
    // Nobody has the conversation, the message has no file, and there is no batch.
    let dry = json!({"dry_run": true});
    let found = post(&site, "/v1/dead-letters/redrive", dry).await.body;
    assert_eq!(
        (&found["selected"], &found["no_longer_dead"]),
        (&json!(3), &json!(3))
    );
    let done = post(&site, "/v1/dead-letters/redrive", json!({})).await.body;
    assert_eq!(
        (&done["redriven"], &done["no_longer_dead"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(get(&site, "/v1/dead-letters").await["items"], json!([]));
}

/// A site whose store's clock stands at `time` until it is moved on, in milliseconds.
async fn at(time: Timestamp) -> (Site, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(time.as_millisecond()));
    let hand = Arc::clone(&clock);
    let store =
        Embedded::in_memory(Clock::new(move || from_unix_millis(hand.load(Ordering::Relaxed)))).unwrap();
    (Site::over(store).configured().await, clock)
}

#[tokio::test]
async fn a_copy_without_its_dead_letter_goes_unless_it_is_so_young_that_one_may_just_be_made() {
    for (minutes, left) in [(0, 1), (1, 1), (3, 0)] {
        let (site, _) = at(add_millis(now(), -minutes * 60_000)).await;
        let dead_letter = DeadLetter {
            id: "x".to_owned(),
            queue: QueueName::Turns,
            reason: Reason::Poison,
            at: now(),
            attempts: 1,
            last_error: None,
            correlation: CorrelationId::parse("c-9").unwrap(),
            tenant: None,
            instance: Some(InstanceId::parse("suporte-01").unwrap()),
            what: DeadLetterContent::Unreadable { body: "{".to_owned() },
        };
        site.store.enqueue_dead_copy(&dead_letter).await.unwrap();
        reconcile(&site.deps()).await.unwrap();
        assert_eq!(
            dead_depth(&site, QueueName::Turns).await,
            left,
            "{minutes} minutes old"
        );
    }
}

#[tokio::test]
async fn a_copy_stays_as_long_as_its_dead_letter_does() {
    let (site, clock) = at(add_millis(now(), -3_600_000)).await;
    let id = site.conversation(CONTACT).await;
    let message = reply(&site, &id).await;
    let dead_letter = dies(&site, &message, now()).await;
    reconcile(&site.deps()).await.unwrap();
    assert_eq!(dead_depth(&site, QueueName::Outbound).await, 1);
    assert!(succeed(remove_dead_letter(&site.store, &dead_letter.id, dead_letter.at)).await);
    clock.fetch_add(6_000, Ordering::Relaxed);
    reconcile(&site.deps()).await.unwrap();
    assert_eq!(dead_depth(&site, QueueName::Outbound).await, 0);
}
