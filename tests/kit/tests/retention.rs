//! Retention on `SQLite`, in virtual time.

use recado_embedded::{Clock, Embedded};
use recado_pipeline::ports::System;
use recado_testkit::retention_story::{self, RetentionClock};

#[tokio::test]
async fn each_tenants_records_go_by_its_own_periods() {
    let clock = RetentionClock::default();
    let time = clock.clone();
    let store = Embedded::in_memory(Clock::new(move || time.now())).unwrap();
    Box::pin(retention_story::each_tenants_records_go_by_its_own_periods(
        store, clock,
    ))
    .await;
}
