//! Alerts on `DynamoDB`: each fires and ends, and a pass that ends at any request tells nothing twice.

#![expect(clippy::unwrap_used, reason = "this is test code")]
// The store lies behind two wrappers. So the futures of a pass are nested deeper than the compiler's usual limit.
#![recursion_limit = "256"]

use recado_aws::{DynamoStore, OsSystem};
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_testkit::alert_story;
use std::future::ready;
use std::time::Duration;

fn store() -> DynamoStore<OsSystem> {
    let options = Options {
        config_ttl: Duration::ZERO,
        ..Options::default()
    };
    let dynamo = Dynamo::new(Hooks::new(jiff::Timestamp::now)).unwrap();
    dynamo.store(OsSystem, &options)
}

#[tokio::test]
async fn every_alert_fires_once_and_ends_once() {
    Box::pin(alert_story::every_alert_fires_and_ends(&store())).await;
}

#[tokio::test]
async fn an_instance_is_judged_by_itself() {
    Box::pin(alert_story::an_instance_is_judged_by_itself(&store())).await;
}

#[tokio::test]
async fn a_pass_that_ends_at_any_request_tells_nothing_twice() {
    Box::pin(alert_story::a_pass_may_end_at_any_step(|| ready(store()))).await;
}
