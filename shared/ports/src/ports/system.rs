use async_trait::async_trait;
use jiff::Timestamp;
use std::time::Duration;

/// The clock and the source of random numbers. The use cases use no others, so that a simulation can control both.
#[async_trait]
pub trait System: Send + Sync {
    /// Returns the current time, cut to milliseconds.
    fn now(&self) -> Timestamp;

    /// Returns a random number.
    fn random_u64(&self) -> u64;

    /// Waits for `duration`.
    async fn sleep(&self, duration: Duration);
}
