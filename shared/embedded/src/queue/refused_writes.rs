//! The write that ends a worker's work, while the disk refuses writes.

use crate::Embedded;
use crate::db_error::is_refused_by_disk;
use recado_ports::ports::PortResult;
use std::time::Duration;

/// Wait after the first refusal. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// Longest wait between two tries. Each try of a worker costs lines of the log.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

impl Embedded {
    /// Makes a write that ends a worker's work, and repeats it while the disk refuses it. It gives up once the worker no longer holds its
    /// queue message. Without the repeats, the lease and the message would keep others away until their times are over, though the disk is
    /// well again.
    pub(super) async fn write_despite_refusals<T, F>(&self, write: impl Fn() -> F) -> PortResult<T>
    where
        F: Future<Output = PortResult<T>>,
    {
        let mut wait = FIRST_WAIT;
        loop {
            match write().await {
                Err(error) if is_refused_by_disk(&error) && self.holds_message() => {}
                written => return written,
            }
            tokio::time::sleep(wait).await;
            wait = LONGEST_WAIT.min(wait * 2);
        }
    }

    /// Returns whether the caller handles a queue message that nobody else can receive yet.
    fn holds_message(&self) -> bool {
        let now = self.current_time();
        self.handled_message().is_some_and(|handled| handled.is_held(now))
    }
}
