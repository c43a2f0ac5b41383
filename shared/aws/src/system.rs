//! The time and the random numbers of a running function.

use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::System;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The machine's clock, the operating system's random numbers, and tokio's timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct OsSystem;

#[async_trait]
impl System for OsSystem {
    fn now(&self) -> Timestamp {
        from_unix_millis(Timestamp::now().as_millisecond())
    }

    fn random_u64(&self) -> u64 {
        // Linux always has random numbers once it is up. The fallback's own come from the same source.
        getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(Timestamp::now().as_nanosecond()))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
