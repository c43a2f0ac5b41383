//! Counts refused tokens, and says so in the log now and then.

use recado_domain::Timestamp;
use std::sync::{Mutex, PoisonError};

/// Time between two log lines about refused tokens, in milliseconds: a stranger must not be able to fill the log.
const LOGGED_EVERY_MS: i64 = 10_000;

/// The number of refused tokens, and the part of it that is not logged yet.
#[derive(Debug, Default)]
pub struct RefusedTokens(Mutex<RefusalCounts>);

#[derive(Debug, Default)]
struct RefusalCounts {
    total: u64,
    unlogged: u64,
    logged_at: Option<Timestamp>,
}

impl RefusedTokens {
    /// Counts a refused token, and logs the number of those since the last line if that is long ago.
    pub fn note_refusal(&self, now: Timestamp) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.total += 1;
        counts.unlogged += 1;
        let due = |at: Timestamp| now.as_millisecond() - at.as_millisecond() >= LOGGED_EVERY_MS;
        if counts.logged_at.is_none_or(due) {
            tracing::warn!(
                refused = counts.unlogged,
                total = counts.total,
                "requests with a wrong token were refused"
            );
            counts.unlogged = 0;
            counts.logged_at = Some(now);
        }
    }
}
