//! The link with which a person signs in once without typing a token.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A code that is exchanged once for a token.
#[derive(Clone)]
pub struct OneTimeLink(Arc<Mutex<Option<LinkParts>>>);

struct LinkParts {
    code: String,
    token: String,
}

impl fmt::Debug for OneTimeLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneTimeLink")
    }
}

impl OneTimeLink {
    /// Makes a link that signs in with `token`. Returns it with its path. `None`: the system has no random numbers.
    pub fn generate(token: String) -> Option<(Self, String)> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let code = hex::encode(bytes);
        let path = format!("/console/open/{code}");
        Some((Self(Arc::new(Mutex::new(Some(LinkParts { code, token })))), path))
    }

    /// Returns the token if `code` is right and was not used yet.
    pub(crate) fn use_code(&self, code: &str) -> Option<String> {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = parts.as_ref().is_some_and(|parts| parts.code == code);
        if is_right {
            parts.take().map(|parts| parts.token)
        } else {
            None
        }
    }
}
