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
    /// Returns the time after which a token may be tried again; `None`: now.
    pub fn find_wait(&self, now: Duration) -> Option<Duration> {
        let wait = self.free_at?.saturating_sub(now);
        let most = REFILLED_EVERY.saturating_mul(BURST - 1);
        (wait > most).then(|| wait.saturating_sub(most))
    }

    /// Notes a wrong token.
    pub fn note_wrong_token(&mut self, now: Duration) {
        let from = self.free_at.filter(|free_at| *free_at > now).unwrap_or(now);
        self.free_at = from.checked_add(REFILLED_EVERY);
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
            assert_eq!(limit.find_wait(now), None);
            limit.note_wrong_token(now);
        }
        assert_eq!(limit.find_wait(now), Some(REFILLED_EVERY));
        let later = now + REFILLED_EVERY;
        assert_eq!(limit.find_wait(later), None);
        limit.note_wrong_token(later);
        assert_eq!(limit.find_wait(later), Some(REFILLED_EVERY));
        let much_later = now + Duration::from_secs(600);
        assert_eq!(limit.find_wait(much_later), None);
        assert!(!limit.is_free(later) && limit.is_free(much_later));
    }
}
