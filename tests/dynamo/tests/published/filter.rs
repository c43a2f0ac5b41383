//! The filter of `publisher` in `template.yaml` lets through what tells something, and no slot of a send.

use crate::{Store, all_changes, answer_a_message, make_link, open, publish, send_reply, tell_status};
use recado_aws::StreamRecord;
use recado_domain::Timestamp;
use recado_domain::delivery::DeliveryStatus;
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_domain::rate::Rate;
use recado_dynamo_simulation::{Dynamo, Hooks};
use recado_pipeline::ports::{Instances, OutboxStore, Reservation, SlotTurn};
use recado_testkit::builders::{Fixture, at, change_instance, seen};
use std::collections::BTreeSet;

/// Reads what passes the filter, always behind what it read before.
struct PassedChanges {
    dynamo: Dynamo,
    place: Option<String>,
}

impl PassedChanges {
    fn begin(dynamo: &Dynamo) -> Self {
        Self {
            dynamo: dynamo.clone(),
            place: None,
        }
    }

    /// Lists the kinds of the partitions of what passes, sorted.
    fn list_kinds(&mut self) -> Vec<String> {
        let place = self.place.as_deref();
        let (changes, next) = self.dynamo.changes_for_publisher(place, 1_000, &[]).unwrap();
        self.place = next;
        let kind = |change: &StreamRecord| {
            let (kind, _) = change.partition_key().split_once('#').unwrap();
            kind.to_owned()
        };
        let mut kinds: Vec<String> = changes.iter().map(kind).collect();
        kinds.sort_unstable();
        kinds
    }
}

async fn connect(store: &Store, fixture: &Fixture, connection: ConnectionStatus, at_ms: i64) {
    let change = InstanceChange::Connection(seen(connection, at(at_ms), None));
    change_instance(store, fixture.instance(), change).await;
}

async fn reserve(store: &Store, fixture: &Fixture, turn: SlotTurn) -> Reservation {
    let now = Timestamp::now();
    let slot = store.reserve_slot(fixture.instance(), Rate::EVOLUTION, turn, now);
    slot.await.unwrap()
}

#[tokio::test]
async fn another_connection_passes_the_filter_and_a_slot_does_not() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let (fixture, mut passed) = (Fixture::new(), PassedChanges::begin(&dynamo));
    connect(&store, &fixture, ConnectionStatus::Closed, 1).await;
    assert_eq!(passed.list_kinds(), ["I"]);
    let missing = InstanceChange::ModelKeyMissing(true);
    change_instance(&store, fixture.instance(), missing).await;
    assert_eq!(passed.list_kinds(), [""; 0], "the connection is the same");
    connect(&store, &fixture, ConnectionStatus::Open, 2).await;
    assert_eq!(passed.list_kinds(), ["I"]);
    let known = all_changes(&dynamo).len();
    // The first finds the instance idle, the second busy, and the last ones let others go before them.
    for turn in [
        SlotTurn::Next,
        SlotTurn::Next,
        SlotTurn::Yielding,
        SlotTurn::YieldingAgain,
    ] {
        let reserved = reserve(&store, &fixture, turn).await;
        assert!(!matches!(reserved, Reservation::NotOpen), "{turn:?}");
    }
    assert!(all_changes(&dynamo).len() >= known + 3, "slots are written");
    assert_eq!(passed.list_kinds(), [""; 0]);
    connect(&store, &fixture, ConnectionStatus::Closed, 3).await;
    assert_eq!(passed.list_kinds(), ["I"], "also behind a slot");
}

#[tokio::test]
async fn a_status_past_sent_passes_the_filter_once_its_message_is_known() {
    use DeliveryStatus::{Delivered, Read, Sent};
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let mut passed = PassedChanges::begin(&dynamo);
    for early in [None, Some(Sent), Some(Delivered)] {
        let fixture = Fixture::new();
        let (sent, flight) = send_reply(&store, &fixture).await;
        assert_eq!(passed.list_kinds(), ["C"; 4], "the claim tells nothing");
        let link = make_link(&fixture, &sent);
        if let Some(status) = early {
            tell_status(&store, &link, status).await;
        }
        assert_eq!(passed.list_kinds(), [""; 0], "nobody knows whose {early:?} is");
        let _ = store
            .settle_message(&sent, Some(&flight), Some(&link), None)
            .await
            .unwrap();
        let is_told = early == Some(Delivered);
        let kinds: &[&str] = if is_told { &["C", "D"] } else { &["C"] };
        assert_eq!(passed.list_kinds(), kinds, "{early:?}");
        if !is_told {
            tell_status(&store, &link, Sent).await;
            assert_eq!(passed.list_kinds(), [""; 0], "the message tells it");
            tell_status(&store, &link, Delivered).await;
            assert_eq!(passed.list_kinds(), ["D"]);
        }
        tell_status(&store, &link, Read).await;
        assert_eq!(passed.list_kinds(), ["D"]);
    }
}

#[tokio::test]
async fn what_the_filter_holds_back_tells_nothing() {
    let (dynamo, store) = open(Hooks::new(Timestamp::now));
    let fixture = Fixture::new();
    connect(&store, &fixture, ConnectionStatus::Closed, 1).await;
    connect(&store, &fixture, ConnectionStatus::Open, 2).await;
    reserve(&store, &fixture, SlotTurn::Next).await;
    answer_a_message(&store, &fixture).await;
    let (passed, _) = dynamo.changes_for_publisher(None, 1_000, &[]).unwrap();
    let passed: BTreeSet<&str> = passed.iter().map(|change| change.id.as_str()).collect();
    let mut held_back = all_changes(&dynamo);
    held_back.retain(|change| !passed.contains(change.id.as_str()));
    assert!(!held_back.is_empty());
    let published = publish(&store, &held_back).await;
    assert_eq!((published.events, published.come_back), (0, None));
}
