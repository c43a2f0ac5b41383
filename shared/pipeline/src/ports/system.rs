use jiff::Timestamp;
use std::future::Future;
use std::time::Duration;

/// Time and chance. The use cases have no other clock and no other dice, so that a simulation can hold both.
pub trait System: Send + Sync {
    /// Now, cut to milliseconds.
    fn now(&self) -> Timestamp;

    /// Any number.
    fn random_u64(&self) -> u64;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}
