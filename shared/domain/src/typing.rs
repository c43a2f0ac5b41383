//! Signs of a contact's typing, and how long a reply waits for what is being typed.

use crate::contact::ContactAddress;
use crate::ids::{ExternalId, TenantId};
use crate::millis::{self, add_duration};
use crate::provider::Provider;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which a sign of typing is kept. No wait for it is longer.
pub const TYPING_SIGN_KEPT: SignedDuration = SignedDuration::from_mins(1);

/// A state of the contact in the chat, as the provider shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TypingState {
    /// The contact types, or records a voice message.
    Typing,
    /// The contact stopped.
    Paused,
}

/// A sign of typing as a webhook reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypingUpdate {
    /// The provider that sent the webhook.
    pub provider: Provider,
    /// The provider's name of the instance.
    pub external: ExternalId,
    /// The contact, by the name that the provider uses in this chat.
    pub address: ContactAddress,
    /// State of the contact.
    pub state: TypingState,
}

/// The newest sign of a contact's typing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypingSign {
    /// The tenant of the instance.
    pub tenant: TenantId,
    /// State of the contact.
    pub state: TypingState,
    /// Time at which the sign came.
    #[serde(with = "millis")]
    pub at: Timestamp,
}

/// The bounds of the wait for a contact who types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypingWait {
    /// Silence after the contact stopped typing.
    pub short: SignedDuration,
    /// Silence after a sign of typing of which no end was seen. 0: typing is not waited for.
    pub long: SignedDuration,
}

impl TypingWait {
    /// Returns `true` if typing is waited for at all.
    pub fn is_on(&self) -> bool {
        self.long.is_positive()
    }

    /// Returns the time until which the reply waits at `now`, if it does. `last` is the time at which the contact's newest
    /// message was stored: a sign from before it tells nothing, since that message is what was typed. `latest` is the time
    /// from which nothing puts the reply off any more.
    pub fn wait_until(
        &self,
        sign: &TypingSign,
        last: Timestamp,
        latest: Timestamp,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let silence = match sign.state {
            TypingState::Typing => self.long,
            TypingState::Paused => self.short.min(self.long),
        };
        let until = add_duration(sign.at, silence.min(TYPING_SIGN_KEPT)).min(latest);
        (self.is_on() && sign.at > last && until > now).then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    const WAIT: TypingWait = TypingWait {
        short: SignedDuration::from_secs(2),
        long: SignedDuration::from_secs(10),
    };

    fn at(seconds: i64) -> Timestamp {
        from_unix_millis(seconds * 1_000)
    }

    fn sign(state: TypingState, seconds: i64) -> TypingSign {
        TypingSign {
            tenant: TenantId::parse("t").unwrap(),
            state,
            at: at(seconds),
        }
    }

    #[test]
    fn who_types_is_waited_for_to_the_long_bound_and_who_stopped_to_the_short_one() {
        let until = |state, now| WAIT.wait_until(&sign(state, 5), at(4), at(60), at(now));
        assert_eq!(until(TypingState::Typing, 6), Some(at(15)));
        assert_eq!(until(TypingState::Typing, 15), None);
        assert_eq!(until(TypingState::Paused, 6), Some(at(7)));
        assert_eq!(until(TypingState::Paused, 7), None);
    }

    #[test]
    fn nobody_is_waited_for_beyond_the_latest_time_nor_for_what_was_sent_already() {
        let typing = sign(TypingState::Typing, 5);
        assert_eq!(WAIT.wait_until(&typing, at(4), at(8), at(6)), Some(at(8)));
        assert_eq!(WAIT.wait_until(&typing, at(4), at(6), at(6)), None);
        assert_eq!(WAIT.wait_until(&typing, at(5), at(60), at(6)), None);
        let off = TypingWait {
            long: SignedDuration::ZERO,
            ..WAIT
        };
        assert_eq!(off.wait_until(&typing, at(4), at(60), at(5)), None);
    }
}
