//! The clock of an erasure's story.

use crate::builders::far_ahead;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::millis::add_millis;
use recado_ports::ports::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The clock of the story. It begins far ahead, so that no store takes a record for expired, and a wait moves it. Its random
/// numbers are those of no other clock: stories that are told side by side may share an account.
#[derive(Debug, Clone)]
pub struct ErasureClock {
    passed_ms: Arc<AtomicI64>,
    random: Arc<AtomicU64>,
}

impl Default for ErasureClock {
    fn default() -> Self {
        static CLOCKS: AtomicU64 = AtomicU64::new(0);
        let begin = CLOCKS.fetch_add(1, Ordering::SeqCst) << 32;
        Self {
            passed_ms: Arc::default(),
            random: Arc::new(AtomicU64::new(begin)),
        }
    }
}

#[async_trait]
impl System for ErasureClock {
    fn now(&self) -> Timestamp {
        add_millis(far_ahead(), self.passed_ms.load(Ordering::SeqCst))
    }

    fn random_u64(&self) -> u64 {
        self.random.fetch_add(1, Ordering::SeqCst)
    }

    async fn sleep(&self, duration: Duration) {
        let milliseconds = i64::try_from(duration.as_millis()).unwrap();
        self.passed_ms.fetch_add(milliseconds, Ordering::SeqCst);
    }
}
