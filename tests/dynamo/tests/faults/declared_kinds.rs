//! Kinds of records that a test declares, in virtual time.

use recado_aws::DynamoStore;
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::ports::System;
use recado_pipeline::table::Kind;
use recado_testkit::own_kinds::list_all_kinds;
use recado_testkit::retention_story::RetentionClock;
use recado_testkit::{declared_kind_story, expiry_story};
use std::time::Duration;

fn open(clock: &RetentionClock, kinds: &'static [Kind]) -> (Dynamo, DynamoStore<RetentionClock>) {
    let time = clock.clone();
    let options = Options {
        config_ttl: Duration::ZERO,
        ..Options::default()
    };
    let dynamo = Dynamo::new(Hooks::new(move || time.now())).unwrap();
    dynamo.start_stream().unwrap();
    let store = dynamo.store(clock.clone(), &options).with_kinds(kinds);
    (dynamo, store)
}

#[tokio::test]
async fn a_declared_kind_is_served_in_every_way() {
    let clock = RetentionClock::default();
    let [(dynamo, from), (_, to)] = [(); 2].map(|()| open(&clock, &declared_kind_story::KINDS));
    let publish = async || {
        let (changes, _) = dynamo.changes(None, 1_000).unwrap();
        let published = from.publish_changes(&changes, DEFAULT_EVENT_RETENTION).await;
        assert_eq!(published.unwrap().come_back, None);
    };
    let played = declared_kind_story::a_declared_kind_is_served_in_every_way(&from, &to, &clock, publish);
    Box::pin(played).await;
}

#[tokio::test]
async fn an_item_is_absent_from_the_second_of_its_expiry_on() {
    let clock = RetentionClock::default();
    let (dynamo, store) = open(&clock, list_all_kinds());
    let played = expiry_story::an_item_is_absent_from_the_second_of_its_expiry_on(&store, &clock);
    Box::pin(played).await;
    let before = dynamo.records().unwrap().len();
    let expired = dynamo.expire().unwrap();
    assert!(
        expired > 0,
        "what has expired is marked, so that DynamoDB deletes it"
    );
    assert_eq!(dynamo.records().unwrap().len(), before - expired);
}
