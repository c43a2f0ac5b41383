//! Work that is given up after a time.

use crate::ports::System;
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

/// Runs `work` for at most `limit`, and returns its result. `None` means that the time was over: the work was dropped.
pub async fn run_within<T>(system: &dyn System, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    match select(pin!(work), pin!(system.sleep(limit))).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(_) => None,
    }
}
