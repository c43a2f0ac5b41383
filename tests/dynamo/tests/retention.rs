//! Retention on `DynamoDB`, in virtual time.

use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::ports::System;
use recado_testkit::retention_story::{self, RetentionClock};
use std::time::Duration;

#[tokio::test]
async fn each_tenants_records_go_by_its_own_periods() {
    let clock = RetentionClock::default();
    let time = clock.clone();
    let options = Options {
        config_ttl: Duration::ZERO,
        ..Options::default()
    };
    let dynamo = Dynamo::new(Hooks::new(move || time.now())).unwrap();
    let store = dynamo.store(clock.clone(), &options);
    Box::pin(retention_story::each_tenants_records_go_by_its_own_periods(
        store, clock,
    ))
    .await;
}
