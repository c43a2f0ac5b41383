//! Large bodies and uploads where everything expires after two weeks, as in the bucket on AWS: what a message or a dead
//! dead letter names is kept longer.

use crate::world::{Setup, Time};
use async_trait::async_trait;
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::dead_letter::{DeadLetter, QueueName, RedrivenLetter};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::ids::TokenName;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use recado_domain::reason::Reason;
use recado_domain::wake_up::{OutboundJob, SendJob, TurnsJob};
use recado_embedded::Embedded;
use recado_features::FEATURES;
use recado_pipeline::ports::{
    ConnectionAnswer, Conversations, DeadLetterQueues, DeadQueueLook, DeadQueueMessage, EventChange,
    FileBytes, FileError, Files, InboundEntry, Inbox, OutboundEntry, PageRequest, PortError, PortResult,
    Queues, RecordEventOutcome, System,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::{DeadLetterFilter, find_dead_letter, list_dead_letters};
use recado_pipeline::{Components, Settings, handle_outbound_message, process, upload};
use recado_testkit::builders::{Fixture, change_instance, correlation, seen};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const KEPT: SignedDuration = SignedDuration::from_hours(14 * 24);

/// Queues whose bodies expire 14 days after they were put or renewed.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    inner: Embedded,
    bodies: Arc<Mutex<BTreeMap<String, (Timestamp, Value)>>>,
    /// What lies in the dead-letter queue of `inbound`.
    dead: Arc<Mutex<Vec<DeadQueueMessage>>>,
    /// How much of it is looked through, if it says that.
    look: Arc<Mutex<Option<DeadQueueLook>>>,
    /// How many were received of it in each look, and removed.
    noted: Arc<Mutex<Vec<(usize, usize)>>>,
    /// How long it takes to receive some of them.
    receive_ms: Arc<AtomicI64>,
    /// How many further timers of turns fail to be sent.
    pub(crate) turns_fail: Arc<AtomicU32>,
    /// How many further bodies fail to be read.
    pub(crate) reads_fail: Arc<AtomicU32>,
    /// How many further bodies fail to be stored.
    pub(crate) puts_fail: Arc<AtomicU32>,
    /// How many further redrives fail to be sent.
    pub(crate) redrives_fail: Arc<AtomicU32>,
    time: Time,
}

/// Fails as often as `left` says.
fn fails(left: &AtomicU32) -> PortResult<()> {
    let one_less = |left: u32| left.checked_sub(1);
    match left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less) {
        Ok(_) => Err(PortError::unavailable("the queue", "the test says so")),
        Err(_) => Ok(()),
    }
}

#[async_trait]
impl Queues for Bucket {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        self.inner.enqueue_inbound(events).await
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        self.inner.schedule_turns_job(job, at).await
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        self.inner.enqueue_outbound(entries).await
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        self.inner.enqueue_dead_copy(dead_letter).await
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        self.inner.delete_inbound(groups).await
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.bodies.lock().unwrap().remove(key);
        Ok(())
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: std::time::Duration) -> PortResult<()> {
        // A request that fails takes its time, in which another worker may go on.
        if self.turns_fail.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
        fails(&self.turns_fail)?;
        self.inner.enqueue_turns_job(job, delay).await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        fails(&self.puts_fail)?;
        let kept = (self.time.now(), payload.clone());
        self.bodies.lock().unwrap().insert(key.to_owned(), kept);
        Ok(())
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        match self.find_payload(key).await? {
            Some(payload) => self.put_payload(key, &payload).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        if self.reads_fail.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
        fails(&self.reads_fail)?;
        let now = self.time.now();
        let kept = self.bodies.lock().unwrap().get(key).cloned();
        let kept = kept.filter(|(at, _)| add_duration(*at, KEPT) > now);
        Ok(kept.map(|(_, payload)| payload))
    }
}

#[async_trait]
impl Files for Bucket {
    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        self.inner.open_file(key).await
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.inner.delete_file(key).await
    }

    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        self.inner.put_file(key, mime_type, bytes).await
    }
}

#[async_trait]
impl DeadLetterQueues for Bucket {
    /// What was received is hidden from then on.
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        self.time.pass(self.receive_ms.load(Ordering::SeqCst));
        let mut dead = self.dead.lock().unwrap();
        let count = dead.len().min(10);
        let some = if queue == QueueName::Inbound { count } else { 0 };
        Ok(dead.drain(..some).collect())
    }

    async fn plan_dead_look(&self, queue: QueueName) -> PortResult<DeadQueueLook> {
        let said = *self.look.lock().unwrap();
        let said = said.filter(|_| queue == QueueName::Inbound);
        Ok(said.unwrap_or(DeadQueueLook::Beginning))
    }

    fn note_dead_look(&self, queue: QueueName, seen: usize, gone: usize) {
        if queue == QueueName::Inbound {
            self.noted.lock().unwrap().push((seen, gone));
        }
    }

    async fn remove_dead_message(&self, _: &DeadQueueMessage) -> PortResult<()> {
        Ok(())
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        fails(&self.redrives_fail)?;
        self.inner.enqueue_redrive(dead_letter, by, deduplication).await
    }
}

pub(crate) type World = Components<Embedded, Bucket, crate::world::Provider, crate::world::Model, Time>;

/// The world of `setup` with such a bucket, whose messages wait for so many days for their instance.
pub(crate) fn world(setup: &Setup, patience_days: i64) -> World {
    let world = &setup.world;
    let queues = Bucket {
        inner: world.queues.clone(),
        bodies: Arc::default(),
        dead: Arc::default(),
        look: Arc::default(),
        noted: Arc::default(),
        receive_ms: Arc::default(),
        turns_fail: Arc::default(),
        reads_fail: Arc::default(),
        puts_fail: Arc::default(),
        redrives_fail: Arc::default(),
        time: world.system.clone(),
    };
    let settings = Settings {
        parked_max: SignedDuration::from_hours(patience_days * 24),
        ..world.settings().clone()
    };
    Components::new(
        world.store.clone(),
        queues,
        world.providers.clone(),
        crate::world::Model::default(),
        world.system.clone(),
        &FEATURES,
        settings,
    )
}

/// A message with an upload, to an instance that has just closed.
async fn waiting(setup: &Setup, world: &World) -> recado_sends::AcceptedMessage {
    let instance = setup.fixture.instance();
    setup.world.providers.is(ConnectionAnswer::Closed);
    let closed = seen(
        recado_domain::instance::ConnectionStatus::Closed,
        setup.now(),
        Some(setup.now()),
    );
    change_instance(
        &world.store,
        instance,
        recado_domain::instance::InstanceChange::Connection(closed),
    )
    .await;
    let source = succeed(upload::store_upload(
        world,
        &Caller::installation(),
        instance,
        "image/png".to_owned(),
        None,
        b"\x89PNG",
    ))
    .await
    .unwrap();
    let content = Content::Media(Media {
        source: Some(source),
        ..Media::from_kind(MediaKind::Image)
    });
    let send = recado_sends::DeliverRequest {
        to: "5511900000077".to_owned(),
        content,
        options: SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    };
    let accepted = recado_sends::accept_message(world, &Caller::installation(), instance, send)
        .await
        .unwrap();
    job(world, &accepted).await;
    accepted
}

async fn job(world: &World, accepted: &recado_sends::AcceptedMessage) {
    let job = SendJob::new(
        accepted.conversation.clone().unwrap(),
        recado_domain::ids::Ordinal(u64::MAX),
        correlation(),
    );
    let body = serde_json::to_string(&OutboundJob::Send(job)).unwrap();
    for _ in 0..20 {
        match handle_outbound_message(world, &Idle, &body, 1, None).await {
            recado_pipeline::Verdict::Done => return,
            recado_pipeline::Verdict::Retry { after } => world.system.sleep(after.unsigned_abs()).await,
        }
    }
}

/// So many days of `reconcile`, at each half hour.
async fn days(setup: &Setup, world: &World, days: u32) {
    for _ in 0..days * 48 {
        setup.pass(1_800 - setup.now().as_second() % 1_800);
        reconcile(world).await.unwrap();
    }
}

async fn open_again(setup: &Setup, world: &World) {
    setup.world.providers.is(ConnectionAnswer::Open);
    setup.pass(3_600);
    reconcile(world).await.unwrap();
}

fn given(setup: &Setup) -> Option<String> {
    let contents = setup.world.providers.contents();
    contents.last()?.media_file()?.source.clone()
}

#[tokio::test]
async fn an_upload_lives_while_its_message_waits_for_as_long_as_messages_may() {
    let setup = Setup::set(Fixture::new()).await;
    let world = world(&setup, 30);
    let accepted = waiting(&setup, &world).await;
    days(&setup, &world, 29).await;
    assert_eq!(given(&setup), None);
    open_again(&setup, &world).await;
    job(&world, &accepted).await;
    assert_eq!(given(&setup).as_deref(), Some("data:image/png;base64,iVBORw=="));
}

#[tokio::test]
async fn an_upload_lives_while_a_dead_letter_names_its_message() {
    let setup = Setup::set(Fixture::new()).await;
    let world = world(&setup, 3);
    let accepted = waiting(&setup, &world).await;
    days(&setup, &world, 40).await;
    let dead_letter = succeed(find_dead_letter(&world.store, accepted.id.as_str()))
        .await
        .unwrap();
    assert_eq!(dead_letter.reason, Reason::InstanceDisconnected);
    open_again(&setup, &world).await;
    assert!(
        succeed(recado_dead_letters::redrive_dead_letter(
            &world,
            &Caller::installation(),
            &dead_letter.id
        ))
        .await
    );
    job(&world, &accepted).await;
    assert_eq!(given(&setup).as_deref(), Some("data:image/png;base64,iVBORw=="));
}

#[tokio::test]
async fn a_large_body_lives_while_a_dead_letter_names_its_event() {
    let setup = Setup::set(Fixture::new()).await;
    let world = world(&setup, 3);
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let job = InboundJob {
        event: derive_event_id(provider, &external, EventKind::Message, "large"),
        received_at: setup.now(),
        payload: EventPayload::Stored("large".to_owned()),
        ..setup.fixture.job()
    };
    let body = json!({"address": setup.fixture.address.as_str(), "id": "large", "text": "x".repeat(200_000),
        "from_me": false});
    world.queues.put_payload("large", &body).await.unwrap();
    assert_eq!(
        world.store.record_event(&job).await.unwrap(),
        RecordEventOutcome::New
    );
    let (dead_letter, now) = (setup.fixture.dead_letter_of(&job, setup.now()), setup.now());
    let settled = world.store.change_event(
        &job.event,
        EventChange::GiveUp {
            dead_letter: &dead_letter,
            expires: now,
        },
    );
    assert!(succeed(settled).await);
    days(&setup, &world, 20).await;
    assert!(
        succeed(recado_dead_letters::redrive_dead_letter(
            &world,
            &Caller::installation(),
            &dead_letter.id
        ))
        .await
    );
    let body = serde_json::to_string(&job).unwrap();
    assert_eq!(
        process::process(&world, &body, 1).await,
        recado_pipeline::Verdict::Done
    );
    let latest = succeed(world.store.find_latest_conversation(&setup.fixture.thread()))
        .await
        .unwrap();
    assert_eq!(latest.last.0, 1, "its message is stored");
}

#[tokio::test]
async fn a_message_that_no_record_can_hold_is_given_up_at_once_with_the_reason() {
    let setup = Setup::set(Fixture::new()).await;
    let world = world(&setup, 3);
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let job = InboundJob {
        event: derive_event_id(provider, &external, EventKind::Message, "huge"),
        received_at: setup.now(),
        payload: EventPayload::Stored("huge".to_owned()),
        ..setup.fixture.job()
    };
    let payload = json!({"address": setup.fixture.address.as_str(), "id": "huge", "text": "x".repeat(500_000),
        "from_me": false});
    world.queues.put_payload("huge", &payload).await.unwrap();
    assert_eq!(
        world.store.record_event(&job).await.unwrap(),
        RecordEventOutcome::New
    );
    let body = serde_json::to_string(&job).unwrap();
    assert_eq!(
        process::process(&world, &body, 1).await,
        recado_pipeline::Verdict::Done
    );
    let page = PageRequest::first(10);
    let dead_letters = list_dead_letters(&world.store, &DeadLetterFilter::default(), &page).await;
    let dead_letter = dead_letters.unwrap().items.remove(0);
    assert_eq!(dead_letter.reason, Reason::Poison);
    let why = dead_letter.last_error.unwrap();
    assert!(why.contains("a record holds 360000 at most"), "{why}");
}

/// So many copies of dead letters, and behind them a message that the queue gave up.
fn copies_and_one_given_up(setup: &Setup, copies: u32) -> Vec<DeadQueueMessage> {
    let copy = |number: u32| DeadQueueMessage {
        queue: QueueName::Inbound,
        body: "{}".to_owned(),
        sent_at: setup.now(),
        copy_of: Some(RedrivenLetter {
            dead_letter: format!("letter-{number}"),
            failed_at: setup.now(),
        }),
        receipt: number.to_string(),
    };
    let given_up = DeadQueueMessage {
        body: "no JSON".to_owned(),
        copy_of: None,
        ..copy(0)
    };
    (1..=copies).map(copy).chain([given_up]).collect()
}

#[tokio::test]
async fn what_a_queue_gave_up_is_entered_although_it_lies_behind_hundreds_of_copies() {
    let setup = Setup::set(Fixture::new()).await;
    // A minute before the one in which the whole queue is looked through.
    setup.pass((540 - setup.now().as_second()).rem_euclid(600));
    let world = world(&setup, 3);
    let dead = copies_and_one_given_up(&setup, 600);
    world.queues.dead.lock().unwrap().extend(dead);
    reconcile(&world).await.unwrap();
    let left = world.queues.dead.lock().unwrap().len();
    assert_eq!(left, 591, "copies that stay are read a few at a time");
    setup.pass(60);
    reconcile(&world).await.unwrap();
    let page = PageRequest::first(10);
    let dead_letters = list_dead_letters(&world.store, &DeadLetterFilter::default(), &page).await;
    assert_eq!(dead_letters.unwrap().items.len(), 1);
}

#[tokio::test]
async fn a_queue_says_how_much_of_it_is_looked_through() {
    let setup = Setup::set(Fixture::new()).await;
    // The minute in which the whole of another queue is looked through.
    setup.pass((-setup.now().as_second()).rem_euclid(600));
    let world = world(&setup, 3);
    let dead = copies_and_one_given_up(&setup, 25);
    world.queues.dead.lock().unwrap().extend(dead);
    let left = || world.queues.dead.lock().unwrap().len();
    *world.queues.look.lock().unwrap() = Some(DeadQueueLook::Skip);
    reconcile(&world).await.unwrap();
    assert_eq!((left(), world.queues.noted.lock().unwrap().len()), (26, 0));
    setup.pass(60);
    *world.queues.look.lock().unwrap() = Some(DeadQueueLook::Whole);
    reconcile(&world).await.unwrap();
    assert_eq!(left(), 0);
    assert_eq!(*world.queues.noted.lock().unwrap(), [(26, 1)]);
}

#[tokio::test]
async fn what_is_received_of_a_dead_letter_queue_is_entered_however_long_receiving_takes() {
    let setup = Setup::set(Fixture::new()).await;
    let world = world(&setup, 3);
    let given_up = |number: u32| DeadQueueMessage {
        queue: QueueName::Inbound,
        body: format!("no JSON {number}"),
        sent_at: setup.now(),
        copy_of: None,
        receipt: number.to_string(),
    };
    let all = 90;
    world.queues.dead.lock().unwrap().extend((0..all).map(given_up));
    world.queues.receive_ms.store(1_000, Ordering::SeqCst);
    reconcile(&world).await.unwrap();
    let page = PageRequest::first(100);
    let dead_letters = list_dead_letters(&world.store, &DeadLetterFilter::default(), &page).await;
    let entered = dead_letters.unwrap().items.len();
    let left = world.queues.dead.lock().unwrap().len();
    assert!(left > 0, "there was no time for all");
    assert_eq!(entered + left, all as usize, "none was received and left alone");
}
