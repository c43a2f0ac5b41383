//! Limits how often a wrong token is tried at the sign-in.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Number of wrong tokens that may be tried at once.
const BURST: u32 = 10;

/// Time after which one more may be tried.
const REFILLED_EVERY: Duration = Duration::from_secs(3);

/// The wrong tokens of the last time, of all browsers together: a stranger has any number of addresses. Who is signed in is not
/// concerned.
#[derive(Debug, Default)]
pub(crate) struct SignInLimit(Mutex<Option<Instant>>);

impl SignInLimit {
    /// Returns the time after which a token may be tried again; `None`: now.
    pub(crate) fn find_wait(&self, now: Instant) -> Option<Duration> {
        let free_at = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = free_at?.saturating_duration_since(now);
        let most = REFILLED_EVERY.saturating_mul(BURST - 1);
        (wait > most).then(|| wait.saturating_sub(most))
    }

    /// Notes a wrong token.
    pub(crate) fn note_wrong_token(&self, now: Instant) {
        let mut free_at = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let from = free_at.filter(|free_at| *free_at > now).unwrap_or(now);
        *free_at = from.checked_add(REFILLED_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_wrong_tokens_may_be_tried_and_one_more_every_three_seconds() {
        let limit = SignInLimit::default();
        let now = Instant::now();
        for _ in 0..BURST {
            assert_eq!(limit.find_wait(now), None);
            limit.note_wrong_token(now);
        }
        assert_eq!(limit.find_wait(now), Some(REFILLED_EVERY));
        let later = now + REFILLED_EVERY;
        assert_eq!(limit.find_wait(later), None);
        limit.note_wrong_token(later);
        assert_eq!(limit.find_wait(later), Some(REFILLED_EVERY));
        assert_eq!(limit.find_wait(now + Duration::from_secs(600)), None);
    }
}
