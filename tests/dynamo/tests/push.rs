//! Push connections on `DynamoDB`: tickets that work once, connections by tenant, and a note that tells who listens.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_aws::{DynamoStore, PushConnection};
use recado_domain::ids::TenantId;
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::ports::{Conversations, RecordRemoval, System};
use recado_testkit::builders::Fixture;
use recado_testkit::retention_story::RetentionClock;
use std::collections::BTreeSet;
use std::time::Duration;

type Store = DynamoStore<RetentionClock>;

fn open_world() -> (Dynamo, Store, RetentionClock) {
    let clock = RetentionClock::default();
    let time = clock.clone();
    let dynamo = Dynamo::new(Hooks::new(move || time.now())).unwrap();
    dynamo.start_stream().unwrap();
    let store = dynamo.store(clock.clone(), &Options::default());
    (dynamo, store, clock)
}

/// Opens a connection with a ticket of its own.
async fn connect(store: &Store, tenant: Option<&TenantId>, id: &str) {
    let ticket = store.create_push_ticket(tenant).await.unwrap();
    let text = ticket.text.expose_secret();
    assert!(store.open_push_connection(text, id).await.unwrap());
}

async fn ids(store: &Store, tenant: Option<&TenantId>) -> Vec<String> {
    let found = store.list_push_connections(tenant).await.unwrap();
    found.into_iter().map(|connection| connection.id).collect()
}

#[tokio::test]
async fn a_ticket_opens_one_connection_of_its_tenant_within_half_a_minute() {
    let (dynamo, store, clock) = open_world();
    let (tenant, other) = (TenantId::parse("a").unwrap(), TenantId::parse("b").unwrap());
    let ticket = store.create_push_ticket(Some(&tenant)).await.unwrap();
    let text = ticket.text.expose_secret();
    let stored = format!("{:?}", dynamo.records().unwrap());
    assert!(!stored.contains(text), "the table holds no text of a ticket");
    let unknown = "0".repeat(text.len());
    for (wrong, id) in [("", "x"), ("0", "x"), (unknown.as_str(), "x"), (text, "")] {
        assert!(!store.open_push_connection(wrong, id).await.unwrap());
    }
    assert!(store.open_push_connection(text, "one=").await.unwrap());
    assert!(!store.open_push_connection(text, "two").await.unwrap());
    assert_eq!(ids(&store, Some(&tenant)).await, ["one="]);
    for elsewhere in [Some(&other), None] {
        assert_eq!(ids(&store, elsewhere).await, [""; 0]);
    }
    let late = store.create_push_ticket(None).await.unwrap();
    clock.sleep(Duration::from_secs(32)).await;
    let late = late.text.expose_secret();
    assert!(!store.open_push_connection(late, "three").await.unwrap());
    clock.sleep(ticket.connection_time.unsigned_abs()).await;
    assert_eq!(ids(&store, Some(&tenant)).await, [""; 0]);
}

#[tokio::test]
async fn connections_that_are_closed_or_gone_are_forgotten_but_for_those_that_are_opening() {
    let (_dynamo, store, clock) = open_world();
    for id in ["closed", "gone"] {
        connect(&store, None, id).await;
    }
    store.close_push_connection("closed").await.unwrap();
    store.close_push_connection("closed").await.unwrap();
    let known = store.list_push_connections(None).await.unwrap();
    let gone: &[PushConnection] = &known;
    store.drop_gone_connections(gone).await.unwrap();
    assert_eq!(ids(&store, None).await, ["gone"], "its handshake may not be over");
    clock.sleep(Duration::from_secs(62)).await;
    store.drop_gone_connections(gone).await.unwrap();
    assert_eq!(ids(&store, None).await, [""; 0]);
}

#[tokio::test]
async fn publishing_says_who_listens_at_the_price_that_it_has_where_nobody_does() {
    let (dynamo, store, clock) = open_world();
    let fixtures = [(); 5].map(|()| Fixture::new());
    let tenant = &fixtures[2].bound.tenant.id;
    let (mut costs, mut told) = (Vec::new(), Vec::new());
    for (number, fixture) in fixtures.iter().enumerate() {
        if number == 2 {
            connect(&store, Some(tenant), "page").await;
            connect(&store, None, "everything").await;
        }
        if number == 4 {
            clock.sleep(Duration::from_hours(4)).await;
        }
        let known = dynamo.changes(None, 1_000).unwrap().0.len();
        let mut conversation = fixture.conversation(1);
        let message = fixture.inbound(&mut conversation, &fixture.job());
        let _ = store
            .commit_messages(&conversation, std::slice::from_ref(&message), &[])
            .await
            .unwrap();
        let changes = dynamo.changes(None, 1_000).unwrap().0.split_off(known);
        let before = dynamo.requests();
        let published = store.publish_changes(&changes, DEFAULT_EVENT_RETENTION).await;
        costs.push(dynamo.requests() - before);
        told.push(published.unwrap().listening);
    }
    let both = BTreeSet::from([None, Some(tenant.clone())]);
    assert_eq!(
        told,
        [
            BTreeSet::new(),
            BTreeSet::new(),
            both,
            BTreeSet::from([None]),
            BTreeSet::new()
        ],
        "and nobody listens once the connections are over"
    );
    // The first one finds no head of the log, whose newest records are read as settled later.
    assert_eq!(costs[1..], [costs[1]; 4], "{costs:?}");
    while store.delete_tenant_records(tenant, &[], 1).await.unwrap() > 0 {}
    let left = format!("{:?}", dynamo.records().unwrap());
    assert!(!left.contains("ZC#page") && left.contains("ZC#everything"));
}
