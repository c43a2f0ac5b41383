//! Limits how often a wrong token is tried at the sign-in.

use recado_domain::access::GuessLimit;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The wrong tokens of the last time, of all browsers together: a stranger has any number of addresses. Who is signed in, or shows
/// a token that opens the console, is not concerned.
#[derive(Debug)]
pub(crate) struct SignInLimit {
    /// Times are counted from then on.
    begun: Instant,
    limit: Mutex<GuessLimit>,
}

impl Default for SignInLimit {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            limit: Mutex::default(),
        }
    }
}

impl SignInLimit {
    /// Notes a wrong token. If too many were tried, returns the time after which one may be tried again, and notes none.
    pub(crate) fn note_wrong_token(&self, now: Instant) -> Option<Duration> {
        let now = now.saturating_duration_since(self.begun);
        let mut limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        limit.note_wrong_token(now)
    }
}
