//! The salts of which an endpoint's signing secrets are made.

use crate::ids::Nonce;
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The salts of an endpoint. A secret is made of a salt and the installation's master secret, so no record holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningSalts {
    /// The salt of the present secret.
    pub current: Nonce,
    /// The salt of the secret before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    previous: Option<Nonce>,
    /// Time until which posts are signed with the secret before, too.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub previous_until: Option<Timestamp>,
}

impl SigningSalts {
    /// Time for which posts are signed with the secret before, too, unless a request says otherwise.
    pub const OVERLAP: SignedDuration = SignedDuration::from_hours(24);

    /// Makes the salts of a new endpoint.
    pub fn new(salt: Nonce) -> Self {
        Self {
            current: salt,
            previous: None,
            previous_until: None,
        }
    }

    /// Makes another secret the present one. Posts are signed with the one before for `overlap` more.
    pub fn rotate_salt(&mut self, salt: Nonce, overlap: SignedDuration, now: Timestamp) {
        let before = std::mem::replace(&mut self.current, salt);
        let overlaps = overlap.is_positive();
        self.previous = overlaps.then_some(before);
        self.previous_until = overlaps.then(|| add_duration(now, overlap));
    }

    /// Returns the salts of the secrets with which a post is signed at `now`, the present one first.
    pub fn list_valid_salts(&self, now: Timestamp) -> Vec<&Nonce> {
        let counts = self.previous_until.is_some_and(|until| now < until);
        let previous = self.previous.as_ref().filter(|_| counts);
        std::iter::once(&self.current).chain(previous).collect()
    }
}
