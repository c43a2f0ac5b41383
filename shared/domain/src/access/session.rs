//! Sessions of the console: what a browser holds in place of the token that a person signed in with.

use super::TokenHash;
use crate::millis;
use crate::secret::Secret;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// The path at which the console begins and ends sessions, within the process alone.
pub const SESSION_PATH: &str = "/console-session";

/// A session of the console as it is stored: without its text, which only the browser holds. It is no token, and opens no API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleSession {
    /// Keyed hash of the session's text.
    pub hash: TokenHash,
    /// Keyed hash of the token that the person signed in with. A token that is revoked or expires ends the session.
    pub token: TokenHash,
    /// Name of the person; `None` where the sign-in tells none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Time of the sign-in.
    #[serde(with = "millis")]
    pub begun_at: Timestamp,
    /// Time from which the session is refused.
    #[serde(with = "millis")]
    pub expires_at: Timestamp,
}

impl ConsoleSession {
    /// Time for which a session stays while nobody uses it: a working day.
    pub const IDLE: SignedDuration = SignedDuration::from_hours(12);

    /// Time after which a session ends, also if it is used.
    pub const LONGEST: SignedDuration = SignedDuration::from_hours(7 * 24);

    /// Time by which an expiry must be late before it is written again.
    const RENEWED_BY: SignedDuration = SignedDuration::from_mins(10);

    /// Begins a session on the token with the hash `token`.
    pub fn begin(hash: TokenHash, token: TokenHash, person: Option<String>, now: Timestamp) -> Self {
        Self {
            hash,
            token,
            person,
            begun_at: now,
            expires_at: millis::add_duration(now, Self::IDLE),
        }
    }

    /// Returns `true` if the session is accepted at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }

    /// Returns the expiry that a use at `now` gives the session. `None`: it is hardly later than the present one.
    pub fn renew_at(&self, now: Timestamp) -> Option<Timestamp> {
        let last = millis::add_duration(self.begun_at, Self::LONGEST);
        let expires = millis::add_duration(now, Self::IDLE).min(last);
        (expires >= millis::add_duration(self.expires_at, Self::RENEWED_BY)).then_some(expires)
    }
}

/// A request of the console shows this in place of a token. It is an extension of a request within the process: no header can carry
/// it, so nobody outside can show a session to the API.
#[derive(Debug, Clone)]
pub enum ConsoleRequest {
    /// A person signs in with the request's token.
    SignIn,
    /// A person is signed in. The text of the session.
    Session(Secret),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> TokenHash {
        TokenHash(text.to_owned())
    }

    #[test]
    fn a_session_is_renewed_while_it_is_used_and_ends_after_a_week_all_the_same() {
        let begun = Timestamp::UNIX_EPOCH;
        let mut session = ConsoleSession::begin(hash("s"), hash("t"), None, begun);
        let after = |hours| millis::add_duration(begun, SignedDuration::from_hours(hours));
        assert!(session.is_valid_at(after(11)) && !session.is_valid_at(after(12)));
        assert_eq!(
            session.renew_at(millis::add_duration(begun, SignedDuration::from_mins(5))),
            None
        );
        assert_eq!(session.renew_at(after(11)), Some(after(23)));
        session.expires_at = after(167);
        assert_eq!(session.renew_at(after(160)), Some(after(168)), "the last hour");
        session.expires_at = after(168);
        assert_eq!(session.renew_at(after(167)), None);
    }
}
