//! The pause that follows too many failed downloads of files.

use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The failed downloads of an instance, and the pause after too many of them. 360dialog refuses all downloads of a number for 30
/// minutes after 20 failed within 60 minutes, so after 20 failures Recado asks for nothing in that time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DownloadBlock {
    /// Times of the failures that count, oldest first; always fewer than [`Self::FAILURES`].
    #[serde(default, with = "millis::list", skip_serializing_if = "Vec::is_empty")]
    failed: Vec<Timestamp>,
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
}

impl DownloadBlock {
    /// Number of failures that block the downloads.
    pub const FAILURES: usize = 20;
    /// Period in which the failures must lie.
    const PERIOD: SignedDuration = SignedDuration::from_hours(1);
    /// Length of the block.
    const LENGTH: SignedDuration = SignedDuration::from_mins(30);

    /// Returns the end of the block; `None` if downloads are allowed now.
    pub fn blocked_until(&self, now: Timestamp) -> Option<Timestamp> {
        self.until.filter(|until| now < *until)
    }

    /// Ends a block that a clock that ran ahead began, and forgets failures of its time. Returns whether there were any.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let longest = add_duration(now, Self::LENGTH);
        let before = self.failed.len();
        self.failed.retain(|at| *at <= now);
        let is_ahead = self.until.take_if(|until| *until > longest).is_some();
        is_ahead || self.failed.len() < before
    }

    /// Records a download that failed. Returns `true` if downloads are blocked from now on.
    pub(super) fn record_failure(&mut self, now: Timestamp) -> bool {
        let since = add_duration(now, -Self::PERIOD);
        self.failed.retain(|at| *at > since);
        self.failed.push(now);
        let is_blocked = self.failed.len() >= Self::FAILURES;
        if is_blocked {
            self.failed.clear();
            self.until = Some(add_duration(now, Self::LENGTH));
        }
        is_blocked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn at(minutes: i64) -> Timestamp {
        from_unix_millis(1_760_000_000_000 + minutes * 60_000)
    }

    #[test]
    fn twenty_failures_in_an_hour_stop_downloads_for_half_an_hour() {
        let mut block = DownloadBlock::default();
        for minute in 0..19 {
            assert!(!block.record_failure(at(minute)));
            assert_eq!(block.blocked_until(at(minute)), None);
        }
        assert!(block.record_failure(at(19)));
        assert_eq!(block.blocked_until(at(19)), Some(at(49)));
        assert_eq!(block.blocked_until(at(48)), Some(at(49)));
        assert_eq!(block.blocked_until(at(49)), None);
        assert!(!block.record_failure(at(50)), "the count begins anew");
    }

    #[test]
    fn failures_older_than_an_hour_do_not_count() {
        let mut block = DownloadBlock::default();
        for failure in 0..100 {
            assert!(!block.record_failure(at(failure * 4)));
        }
    }

    #[test]
    fn a_record_keeps_the_count_and_an_empty_one_is_not_written() {
        let mut block = DownloadBlock::default();
        assert_eq!(serde_json::to_value(&block).unwrap(), serde_json::json!({}));
        block.record_failure(at(0));
        let json = serde_json::to_value(&block).unwrap();
        assert_eq!(json, serde_json::json!({"failed": [1_760_000_000_000_i64]}));
        assert_eq!(serde_json::from_value::<DownloadBlock>(json).unwrap(), block);
    }
}
