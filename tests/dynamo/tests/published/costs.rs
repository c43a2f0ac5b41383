//! What an answered message costs in events: runs of `publisher`, and read and write units. The counts are those of
//! `infra/counts.json`, which `infra/price.py` prices.

use crate::{Store, all_changes, answer_a_message, make_link, open, publish, read, statuses, tell_status};
use recado_aws::StreamRecord;
use recado_domain::Timestamp;
use recado_domain::delivery::DeliveryStatus;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::published_event::PublishedKind;
use recado_domain::rate::Rate;
use recado_dynamo_simulation::{Dynamo, Hooks};
use recado_pipeline::ports::{
    Conversations, InboundWrite, Inbox, Instances, OutboxStore, SlotTurn, StoreInboundOutcome,
};
use recado_testkit::builders::{BASE, Fixture, claimed, far_ahead, nonce, out};
use serde_json::Value;
use std::collections::BTreeMap;

/// Time for which changes are gathered before a run publishes them, in milliseconds: the default of `PublishWindowSeconds`.
const WINDOW_MS: i64 = 5_000;

const COUNTS: &str = include_str!("../../../../infra/counts.json");

/// Runs of `publisher`, and what they consume. Units are whole numbers and halves.
#[derive(Debug, PartialEq)]
struct Consumed {
    runs: usize,
    write_units: f64,
    read_units: f64,
}

impl Consumed {
    /// Reads the counts of a story under their name.
    fn read_priced(name: &str) -> Self {
        let counts: Value = serde_json::from_str(COUNTS).unwrap();
        let counted = &counts["events"][name];
        let runs = counted["runs"].as_u64();
        let units = |kind: &str| counted[kind].as_f64().unwrap();
        Self {
            runs: usize::try_from(runs.unwrap()).unwrap(),
            write_units: units("write_units"),
            read_units: units("read_units"),
        }
    }
}

/// The changes of a story that the filter lets through, each with its time in milliseconds since the message came.
struct Told {
    dynamo: Dynamo,
    place: Option<String>,
    changes: Vec<(i64, StreamRecord)>,
}

impl Told {
    /// Begins behind everything that was written so far.
    fn begin(dynamo: &Dynamo) -> Self {
        let (_, place) = dynamo.changes(None, 1_000).unwrap();
        Self {
            dynamo: dynamo.clone(),
            place,
            changes: Vec::new(),
        }
    }

    /// Notes what was written since the last note.
    fn note(&mut self, at_ms: i64) {
        let place = self.place.as_deref();
        let (changes, next) = self.dynamo.changes_for_publisher(place, 1_000, &[]).unwrap();
        self.changes
            .extend(changes.into_iter().map(|change| (at_ms, change)));
        self.place = next;
    }

    /// Publishes in runs, each with what a shard tells within the window after its first change.
    async fn publish_in_runs(&self, store: &Store, name_shard: impl Fn(&StreamRecord) -> String) -> Consumed {
        let mut shards: BTreeMap<String, Vec<&(i64, StreamRecord)>> = BTreeMap::new();
        for told in &self.changes {
            shards.entry(name_shard(&told.1)).or_default().push(told);
        }
        let mut runs: Vec<(i64, Vec<StreamRecord>)> = Vec::new();
        for shard in shards.into_values() {
            runs.extend(gather(&shard));
        }
        runs.sort_by_key(|(ends_ms, _)| *ends_ms);
        self.dynamo.count_write_units();
        self.dynamo.count_read_units();
        for (_, changes) in &runs {
            let published = Box::pin(publish(store, changes)).await;
            assert_eq!(published.come_back, None, "none waits");
        }
        Consumed {
            runs: runs.len(),
            write_units: self.dynamo.count_write_units(),
            read_units: self.dynamo.count_read_units(),
        }
    }
}

/// Gathers the changes of a shard into runs, each with the time at which its window ends.
fn gather(shard: &[&(i64, StreamRecord)]) -> Vec<(i64, Vec<StreamRecord>)> {
    let mut runs: Vec<(i64, Vec<StreamRecord>)> = Vec::new();
    for (at_ms, change) in shard.iter().copied() {
        match runs.last_mut() {
            Some((ends_ms, run)) if *at_ms <= *ends_ms => run.push(change.clone()),
            _ => runs.push((at_ms + WINDOW_MS, vec![change.clone()])),
        }
    }
    runs
}

/// A tenant and an instance with such names as the pages give: their lengths count.
fn make_named_fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let tenant = TenantId::parse("clinic").unwrap();
    fixture.bound.instance.tenant = tenant.clone();
    fixture.bound.agent.tenant = tenant.clone();
    fixture.bound.tenant.id = tenant;
    fixture.bound.instance.id = InstanceId::parse("front-desk").unwrap();
    fixture
}

/// A contact writes on in a conversation, and the agent replies. Returns the reply, which is in its first attempt, with the note of that.
async fn play_reply(store: &Store, fixture: &Fixture, told: &mut Told) -> (Message, InFlightSend) {
    let known = store.find_conversation(&fixture.conversation(1).id).await;
    let mut conversation = known.unwrap().unwrap();
    let job = fixture.job();
    let _ = store.record_event(&job).await.unwrap();
    let message = fixture.inbound(&mut conversation, &job);
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let stored = store.store_inbound(write).await.unwrap();
    assert_eq!(stored, StoreInboundOutcome::Stored);
    told.note(0);
    let upto = conversation.turn_upto;
    let _draft = conversation.acquire_lease(nonce(), upto, BASE, far_ahead());
    conversation.raise_revision();
    let _ = store.update_conversation(&conversation, &[]).await.unwrap();
    told.note(1_200);
    let slot = store.reserve_slot(
        fixture.instance(),
        Rate::EVOLUTION,
        SlotTurn::Next,
        Timestamp::now(),
    );
    let _ = slot.await.unwrap();
    let (reply, flight) = claimed(&fixture.reply(&mut conversation));
    let _ = store
        .commit_messages(&conversation, std::slice::from_ref(&reply), &[])
        .await
        .unwrap();
    told.note(5_300);
    (reply, flight)
}

/// An answered message with three statuses in a conversation that began before, at such times as in reality.
async fn play_answered_message(dynamo: &Dynamo, store: &Store, fixture: &Fixture) -> Told {
    answer_a_message(store, fixture).await;
    Box::pin(publish(store, &all_changes(dynamo))).await;
    let mut told = Told::begin(dynamo);
    let (mut sent, flight) = play_reply(store, fixture, &mut told).await;
    out(&mut sent).mark_sent(Timestamp::now(), None).unwrap();
    let link = make_link(fixture, &sent);
    let _ = store
        .settle_message(&sent, Some(&flight), Some(&link), None)
        .await
        .unwrap();
    told.note(5_900);
    for (at_ms, status) in [
        (6_100, DeliveryStatus::Sent),
        (7_000, DeliveryStatus::Delivered),
        (40_000, DeliveryStatus::Read),
    ] {
        tell_status(store, &link, status).await;
        told.note(at_ms);
    }
    told
}

/// Asserts that everything of the story is published, in its order.
async fn assert_published(store: &Store, fixture: &Fixture) {
    let logged = read(store, Some(&fixture.bound.tenant.id), 100).await;
    let told = ["pending", "sent", "delivered"];
    assert_eq!(statuses(&logged), [&told[..], &told[..], &["read"][..]].concat());
    let of_turns = logged.iter().map(|logged| logged.event.kind);
    let of_turns =
        of_turns.filter(|kind| matches!(kind, PublishedKind::TurnStarted | PublishedKind::TurnFinished));
    assert_eq!(
        of_turns.collect::<Vec<_>>(),
        [PublishedKind::TurnStarted, PublishedKind::TurnFinished]
    );
}

#[tokio::test]
async fn an_answered_message_with_three_statuses_is_published_in_the_runs_and_units_that_are_priced() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = make_named_fixture();
    let told = play_answered_message(&dynamo, &store, &fixture).await;
    let of_partition = |change: &StreamRecord| change.partition_key().to_owned();
    let consumed = told.publish_in_runs(&store, of_partition).await;
    assert_eq!(consumed, Consumed::read_priced("shard_for_each_partition"));
    assert_published(&store, &fixture).await;
}

#[tokio::test]
async fn it_takes_fewer_where_one_shard_tells_everything() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = make_named_fixture();
    let told = play_answered_message(&dynamo, &store, &fixture).await;
    let consumed = told.publish_in_runs(&store, |_| String::new()).await;
    assert_eq!(consumed, Consumed::read_priced("one_shard"));
    assert_published(&store, &fixture).await;
}

/// The status `read` is the last change of the story.
#[tokio::test]
async fn a_status_alone_is_published_in_the_run_and_units_that_are_priced() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = make_named_fixture();
    let mut told = play_answered_message(&dynamo, &store, &fixture).await;
    let read = told.changes.split_off(told.changes.len() - 1);
    told.publish_in_runs(&store, |_| String::new()).await;
    told.changes = read;
    let consumed = told.publish_in_runs(&store, |_| String::new()).await;
    assert_eq!(consumed, Consumed::read_priced("of_a_status"));
}
