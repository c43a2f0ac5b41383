//! Limits how often a wrong token is tried.

use std::time::Duration;

/// Number of wrong tokens that may be tried at once.
const BURST: u32 = 10;

/// Time after which one more may be tried.
const REFILLED_EVERY: Duration = Duration::from_secs(3);

/// The wrong tokens that somebody tried in the last time. Times are counted from a start that the caller chooses, and never go back.
#[derive(Debug, Clone, Copy, Default)]
pub struct GuessLimit {
    /// The time from which on none of them counts any more.
    free_at: Option<Duration>,
}

impl GuessLimit {
    /// Notes a wrong token. If too many were tried, returns the time after which one may be tried again, and notes none.
    pub fn note_wrong_token(&mut self, now: Duration) -> Option<Duration> {
        let from = self.free_at.filter(|free_at| *free_at > now).unwrap_or(now);
        let wait = from.saturating_sub(now);
        let most = REFILLED_EVERY.saturating_mul(BURST - 1);
        if wait > most {
            return Some(wait.saturating_sub(most));
        }
        self.free_at = from.checked_add(REFILLED_EVERY);
        None
    }

    /// Returns `true` if no wrong token counts any more.
    pub fn is_free(&self, now: Duration) -> bool {
        self.free_at.is_none_or(|free_at| free_at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_wrong_tokens_may_be_tried_and_one_more_every_three_seconds() {
        let mut limit = GuessLimit::default();
        let now = Duration::from_secs(100);
        for _ in 0..BURST {
            assert_eq!(limit.note_wrong_token(now), None);
        }
        assert_eq!(limit.note_wrong_token(now), Some(REFILLED_EVERY));
        let later = now + REFILLED_EVERY;
        assert_eq!(limit.note_wrong_token(later), None);
        assert_eq!(limit.note_wrong_token(later), Some(REFILLED_EVERY));
        let much_later = now + Duration::from_secs(600);
        assert!(!limit.is_free(later) && limit.is_free(much_later));
        assert_eq!(limit.note_wrong_token(much_later), None);
    }
}
