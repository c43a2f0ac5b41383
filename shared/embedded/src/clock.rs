use jiff::Timestamp;
use recado_domain::millis;
use recado_pipeline::ports::System;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// What the store takes the time from where a port does not pass it: expiry and the queues' visibility.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that asks `now`.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's clock.
    pub fn from_system() -> Self {
        Self::new(|| EmbeddedSystem.now())
    }

    /// Now, cut to milliseconds.
    pub fn now(&self) -> Timestamp {
        millis::from_unix_millis((self.0)().as_millisecond())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The machine's own time and chance. [`System::sleep`] needs a tokio runtime with time.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmbeddedSystem;

impl System for EmbeddedSystem {
    fn now(&self) -> Timestamp {
        millis::from_unix_millis(Timestamp::now().as_millisecond())
    }

    fn random_u64(&self) -> u64 {
        // Without the system's source: the keys of a hash map, which the standard library draws at its start.
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
