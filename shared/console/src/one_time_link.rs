//! The link with which a person signs in once without typing a token.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A code that is exchanged once for a token.
#[derive(Clone)]
pub struct OneTimeLink(Arc<Mutex<Option<LinkParts>>>);

struct LinkParts {
    code: String,
    token: String,
    /// The end of the link. `None`: it is beyond the clock.
    until: Option<Instant>,
}

impl fmt::Debug for OneTimeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimeLink")
    }
}

impl OneTimeLink {
    /// Makes a link that signs in with `token` once within `lasts`. Returns it with its path. `None`: the system has no random
    /// numbers.
    pub fn generate(token: String, lasts: Duration) -> Option<(Self, String)> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let code = hex::encode(bytes);
        let path = format!("/console/open/{code}");
        let until = Instant::now().checked_add(lasts);
        let parts = LinkParts { code, token, until };
        Some((Self(Arc::new(Mutex::new(Some(parts)))), path))
    }

    /// Returns the token if `code` is right, was not used yet, and its time is not over.
    pub(crate) fn use_code(&self, code: &str) -> Option<String> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |parts: &LinkParts| parts.until.is_some_and(|until| Instant::now() >= until);
        if parts.as_ref().is_some_and(is_over) {
            *parts = None;
        }
        let is_right = parts.as_ref().is_some_and(|parts| parts.code == code);
        if is_right {
            parts.take().map(|parts| parts.token)
        } else {
            None
        }
    }
}
