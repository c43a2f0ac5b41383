//! The log of published events on `DynamoDB`: what becomes of the changes of the stream, whichever of its shards is late, and
//! however often they come.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod costs;
mod filter;

use recado_aws::{DynamoStore, OsSystem, PublishedChanges, StreamRecord};
use recado_domain::Timestamp;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::TenantId;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::published_event::{DEFAULT_EVENT_RETENTION, EventCursor, PublishedEvent};
use recado_dynamo_simulation::{Dynamo, Fault, Hooks, Options};
use recado_pipeline::ports::{
    Conversations, DeliveryLink, LogPlace, LoggedEvent, OutboxStore, PublishedEvents, RecordRemoval,
};
use recado_testkit::builders::{Fixture, claimed, far_ahead, out};
use std::collections::BTreeSet;

type Store = DynamoStore<OsSystem>;

fn open(hooks: Hooks) -> (Dynamo, Store) {
    let dynamo = Dynamo::new(hooks).unwrap();
    dynamo.start_stream().unwrap();
    let store = dynamo.store(OsSystem, &Options::default());
    (dynamo, store)
}

fn all_changes(dynamo: &Dynamo) -> Vec<StreamRecord> {
    dynamo.changes(None, 1_000).unwrap().0
}

async fn publish(store: &Store, changes: &[StreamRecord]) -> PublishedChanges {
    store
        .publish_changes(changes, DEFAULT_EVENT_RETENTION)
        .await
        .unwrap()
}

/// Publishes as the function does whose batch comes again after a failure that may pass. Shards that publish at once refuse each
/// other's transactions, more often than one run repeats them where the machine is busy.
async fn publish_until_taken(store: &Store, changes: &[StreamRecord]) -> PublishedChanges {
    for _ in 0..1_000 {
        match store.publish_changes(changes, DEFAULT_EVENT_RETENTION).await {
            Ok(published) => return published,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
    panic!("the changes were refused a thousand times");
}

/// The link of a sent message to its delivery.
fn make_link(fixture: &Fixture, sent: &Message) -> DeliveryLink {
    let provider = fixture.bound.instance.provider;
    DeliveryLink {
        key: DeliveryKey::from_own_id(provider, &fixture.external(), &sent.message_id()),
        provider_key: None,
        provider_message_id: None,
        expires: far_ahead(),
        acknowledgement: None,
    }
}

/// The provider tells a status of a linked message.
async fn tell_status(store: &Store, link: &DeliveryLink, status: DeliveryStatus) {
    let told = StatusUpdate {
        key: link.key.clone(),
        status,
        at: Timestamp::now(),
        provider_message_id: None,
        detail: None,
    };
    store.record_status(&told, far_ahead(), None).await.unwrap();
}

/// A contact writes, and the reply is sent. Returns it as the provider accepted it, which is not stored, with the note of the attempt.
async fn send_reply(store: &Store, fixture: &Fixture) -> (Message, InFlightSend) {
    let mut conversation = fixture.conversation(1);
    let message = fixture.inbound(&mut conversation, &fixture.job());
    let _ = store
        .commit_messages(&conversation, std::slice::from_ref(&message), &[])
        .await
        .unwrap();
    let reply = fixture.reply(&mut conversation);
    let _ = store
        .commit_messages(&conversation, std::slice::from_ref(&reply), &[])
        .await
        .unwrap();
    let (mut sent, flight) = claimed(&reply);
    let _ = store.claim_message(&sent, None, &flight).await.unwrap();
    out(&mut sent).mark_sent(Timestamp::now(), None).unwrap();
    (sent, flight)
}

/// A contact writes, and the reply is sent and delivered.
async fn answer_a_message(store: &Store, fixture: &Fixture) {
    let (sent, flight) = send_reply(store, fixture).await;
    let link = make_link(fixture, &sent);
    let _ = store
        .settle_message(&sent, Some(&flight), Some(&link), None)
        .await
        .unwrap();
    tell_status(store, &link, DeliveryStatus::Delivered).await;
}

/// The events of a story of [`answer_a_message`].
const TOLD: usize = 5;

async fn read(store: &Store, tenant: Option<&TenantId>, limit: usize) -> Vec<LoggedEvent> {
    let (mut after, mut found) = (EventCursor::START, Vec::new());
    loop {
        let page = store
            .list_published_events(tenant, LogPlace::After(after), limit)
            .await
            .unwrap();
        assert!(page.next >= after && page.events.len() <= limit);
        after = page.next;
        if page.events.is_empty() {
            return found;
        }
        found.extend(page.events);
    }
}

fn ids(logged: &[LoggedEvent]) -> BTreeSet<&str> {
    logged.iter().map(|logged| logged.event.id.as_str()).collect()
}

fn statuses(logged: &[LoggedEvent]) -> Vec<&str> {
    let status = |event: &'_ PublishedEvent| event.data.status.is_some();
    let with_status = logged.iter().filter(|logged| status(&logged.event));
    with_status
        .filter_map(|logged| logged.event.data.status.as_deref())
        .collect()
}

#[tokio::test]
async fn changes_that_come_again_are_not_published_again() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = Fixture::new();
    answer_a_message(&store, &fixture).await;
    let changes = all_changes(&dynamo);
    let begin = &changes[..changes.len() / 2];
    let first = publish(&store, begin).await;
    assert_eq!(first.tenants, [fixture.bound.tenant.id.clone()].into());
    assert_eq!(publish(&store, begin).await, PublishedChanges::default());
    let rest = publish(&store, &changes).await;
    assert_eq!((first.events + rest.events, rest.come_back), (TOLD, None));
    assert_eq!(publish(&store, &changes).await.events, 0);
    for log in [Some(&fixture.bound.tenant.id), None] {
        for limit in [1, 2, 100] {
            let logged = read(&store, log, limit).await;
            assert_eq!((logged.len(), ids(&logged).len()), (TOLD, TOLD), "by {limit}");
            assert!(logged.is_sorted_by(|one, next| one.cursor < next.cursor));
        }
    }
}

/// More transactions than the head of the log remembers.
const OTHERS: usize = 20;

#[tokio::test]
async fn changes_that_come_again_behind_many_others_are_not_published_again() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let mut published = 0;
    let mut runs: Vec<Vec<StreamRecord>> = Vec::new();
    for _ in 0..OTHERS {
        answer_a_message(&store, &Fixture::new()).await;
        let changes = all_changes(&dynamo).split_off(runs.iter().map(Vec::len).sum());
        published += publish(&store, &changes).await.events;
        runs.push(changes);
    }
    for changes in &runs {
        assert_eq!(publish(&store, changes).await.events, 0);
    }
    assert_eq!(read(&store, None, 1_000).await.len(), published);
}

#[tokio::test]
async fn a_status_waits_for_its_message_of_which_a_late_shard_tells() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = Fixture::new();
    answer_a_message(&store, &fixture).await;
    let is_delivery = |change: &StreamRecord| change.partition_key().starts_with("D#");
    let (deliveries, others): (Vec<_>, Vec<_>) = all_changes(&dynamo).into_iter().partition(is_delivery);
    let early = publish(&store, &deliveries).await;
    let status = deliveries.last().unwrap();
    assert_eq!(early.events, 0);
    assert_eq!(early.come_back.as_ref(), Some(&status.sequence));
    publish(&store, &others).await;
    let late = publish(&store, &deliveries).await;
    assert_eq!((late.events, late.come_back), (1, None));
    let logged = read(&store, Some(&fixture.bound.tenant.id), 100).await;
    assert_eq!(statuses(&logged), ["pending", "sent", "delivered"]);
}

#[tokio::test]
async fn a_status_of_a_message_that_cannot_be_read_holds_up_no_change_behind_it() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let (damaged, sound) = (Fixture::new(), Fixture::new());
    answer_a_message(&store, &damaged).await;
    let records = dynamo.records().unwrap();
    let messages = records
        .iter()
        .filter(|record| record.attributes.contains_key("content"));
    let keys: Vec<_> = messages.map(|record| record.key.clone()).collect();
    assert!(!keys.is_empty());
    let known = all_changes(&dynamo).len();
    answer_a_message(&store, &sound).await;
    let is_delivery = |change: &StreamRecord| change.partition_key().starts_with("D#");
    let changes = all_changes(&dynamo);
    let (deliveries, _): (Vec<_>, Vec<_>) = changes.clone().into_iter().partition(is_delivery);
    publish(&store, &changes[known..]).await;
    for key in &keys {
        dynamo.damage(key, "content").unwrap();
    }
    let published = publish(&store, &deliveries).await;
    assert_eq!(published.come_back, None, "the shard goes on");
    let logged = read(&store, Some(&sound.bound.tenant.id), 100).await;
    assert!(statuses(&logged).contains(&"delivered"), "{logged:?}");
}

#[tokio::test]
async fn a_reader_misses_nothing_that_shards_publish_at_once_record_by_record() {
    let hooks = Hooks::new(Timestamp::now)
        .fault(|operation| Fault::Torn(operation.number))
        .between(|operation| {
            let rounds = operation.number % 7;
            Box::pin(async move {
                for _ in 0..rounds {
                    tokio::task::yield_now().await;
                }
            })
        });
    let (dynamo, store) = open(hooks);
    let fixtures = [(); 4].map(|()| Fixture::new());
    let mut shards = Vec::new();
    for fixture in &fixtures {
        let known = all_changes(&dynamo).len();
        answer_a_message(&store, fixture).await;
        shards.push(all_changes(&dynamo).split_off(known));
    }
    let publishing = futures::future::join_all(shards.iter().map(async |shard| {
        for few in shard.chunks(2) {
            assert_eq!(publish_until_taken(&store, few).await.come_back, None);
        }
    }));
    let following = async {
        let (mut after, mut seen) = (EventCursor::START, Vec::new());
        while seen.len() < TOLD * fixtures.len() {
            let page = store
                .list_published_events(None, LogPlace::After(after), 3)
                .await
                .unwrap();
            assert!(page.events.iter().all(|logged| logged.cursor > after));
            after = page.next;
            seen.extend(page.events);
            tokio::task::yield_now().await;
        }
        seen
    };
    let (_, seen) = futures::future::join(publishing, following).await;
    assert_eq!(ids(&seen).len(), TOLD * fixtures.len());
    for fixture in &fixtures {
        let own = read(&store, Some(&fixture.bound.tenant.id), 100).await;
        let of_tenant = seen
            .iter()
            .filter(|logged| logged.event.tenant.as_ref() == Some(&fixture.bound.tenant.id));
        assert!(
            of_tenant.eq(own.iter()),
            "both logs have the same under the same numbers"
        );
    }
}

#[tokio::test]
async fn the_events_of_a_removed_tenant_leave_the_log_of_the_installation_too() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let (gone, stays) = (Fixture::new(), Fixture::new());
    for fixture in [&gone, &stays] {
        answer_a_message(&store, fixture).await;
    }
    publish(&store, &all_changes(&dynamo)).await;
    while store
        .delete_tenant_records(&gone.bound.tenant.id, &[], 1)
        .await
        .unwrap()
        > 0
    {}
    assert_eq!(read(&store, Some(&gone.bound.tenant.id), 100).await, []);
    let left = read(&store, None, 100).await;
    assert_eq!(left.len(), TOLD);
    assert!(
        left.iter()
            .all(|logged| logged.event.tenant.as_ref() == Some(&stays.bound.tenant.id))
    );
}
