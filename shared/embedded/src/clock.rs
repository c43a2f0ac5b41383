use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::millis;
use recado_ports::ports::System;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The clock of the store where a port does not pass the time: for expiry and for the queues' visibility times.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Creates a clock that returns the time of `now`.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Creates a clock that returns the machine's time.
    pub fn from_system() -> Self {
        Self::new(|| EmbeddedSystem.now())
    }

    /// Returns the current time, cut to milliseconds.
    pub fn now(&self) -> Timestamp {
        millis::from_unix_millis((self.0)().as_millisecond())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The machine's own time and random numbers. [`System::sleep`] needs a tokio runtime with time.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmbeddedSystem;

#[async_trait]
impl System for EmbeddedSystem {
    fn now(&self) -> Timestamp {
        millis::from_unix_millis(Timestamp::now().as_millisecond())
    }

    fn random_u64(&self) -> u64 {
        // Without the system's random source: the keys of a hash map, which the standard library draws at random.
        getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_cut_to_milliseconds_and_chance_does_not_repeat() {
        assert_eq!(EmbeddedSystem.now().subsec_nanosecond() % 1_000_000, 0);
        assert_eq!(Clock::from_system().now().subsec_nanosecond() % 1_000_000, 0);
        assert_ne!(EmbeddedSystem.random_u64(), EmbeddedSystem.random_u64());
    }
}
