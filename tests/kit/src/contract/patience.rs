//! Asking again: indexes may be some seconds old.

use std::time::{Duration, Instant};

/// How old a list or index may be.
pub(super) const INDEX: Duration = Duration::from_secs(15);

/// How old configuration may be: [`recado_pipeline::Settings::config_ttl`] and a bit.
pub(super) const CONFIGURATION: Duration = Duration::from_secs(35);

/// Reads until `fits` is content with what is read, or `within` is over; returns what was read last.
pub(super) async fn eventually<T>(
    within: Duration,
    read: impl AsyncFn() -> T,
    fits: impl Fn(&T) -> bool,
) -> T {
    let begun = Instant::now();
    loop {
        let found = read().await;
        if fits(&found) || begun.elapsed() > within {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
