//! Alerts on `SQLite`: each fires and ends, and a pass that ends at any step tells nothing twice.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_embedded::{Clock, Embedded};
use recado_testkit::alert_story;
use std::future::ready;

fn store() -> Embedded {
    Embedded::in_memory(Clock::from_system()).unwrap()
}

#[tokio::test]
async fn every_alert_fires_once_and_ends_once() {
    Box::pin(alert_story::every_alert_fires_and_ends(&store())).await;
}

#[tokio::test]
async fn an_instance_is_judged_by_itself() {
    alert_story::an_instance_is_judged_by_itself(&store()).await;
}

#[tokio::test]
async fn a_pass_that_ends_at_any_step_tells_nothing_twice() {
    alert_story::a_pass_may_end_at_any_step(|| ready(store())).await;
}
