//! Error classes, shared by the error tables of all providers, and the send outcome of each.

use recado_domain::reason::Reason;
use recado_ports::ports::SendOutcome;
use std::time::Duration;

/// Wait after a provider's "too many requests" without a time, in seconds.
const THROTTLED_SECONDS: u64 = 60;

/// The class of a provider's error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// Temporary: retry by the sender's own schedule.
    Retry,
    /// Temporary: retry after at least this number of seconds.
    RetryAfter(u64),
    /// Too many requests: retry after the time that the provider asks for, or else after 60 seconds.
    Throttled,
    /// Too many messages to this contact: retry after 4 to the power of the attempt in seconds (attempt at most 5), at
    /// least 6 seconds.
    PairRateLimit,
    /// Temporary at the first attempt; permanent if a later attempt fails in the same way.
    RetryOnce,
    /// Permanent: a retry would fail in the same way.
    Permanent,
    /// Permanent, and nothing says that it is for this message or this recipient alone: where the instance's last sends got the same,
    /// its messages wait.
    Refused,
    /// The provider refuses every request until a person changes something there.
    RefusesEverything,
    /// Permanent, and WhatsApp takes no first message to a person from this number now: each try may prolong that.
    NewChatRefused,
    /// The service window is closed: nothing but a template can be sent until the contact writes again.
    WindowClosed,
    /// The key, token or account was refused: nothing can be sent until a person renews or repairs it.
    Credentials,
    /// The instance is not connected to WhatsApp, and nothing was sent.
    Disconnected,
    /// The provider could not be reached, and nothing was sent.
    Unreached,
    /// The request was sent and its outcome is unknown.
    Unknown {
        /// `true` if nothing behind the connection answered in time. After two time-outs in a row the instance counts as
        /// unreachable.
        timed_out: bool,
    },
}

impl ErrorClass {
    /// Returns the outcome of attempt number `attempt` (from 1). `asked` is the wait that the provider asks for, if any.
    pub(crate) fn into_send_outcome(self, why: String, asked: Option<Duration>, attempt: u32) -> SendOutcome {
        let at_least = |seconds| {
            let wait = Duration::from_secs(seconds);
            Some(asked.map_or(wait, |asked| asked.max(wait)))
        };
        let after = match self {
            Self::RetryAfter(seconds) => at_least(seconds),
            Self::Throttled => Some(asked.unwrap_or(Duration::from_secs(THROTTLED_SECONDS))),
            Self::PairRateLimit => at_least(4u64.saturating_pow(attempt.clamp(1, 5)).max(6)),
            _ => asked,
        };
        match self {
            Self::Retry | Self::RetryAfter(_) | Self::Throttled | Self::PairRateLimit => {
                SendOutcome::Retryable { why, after }
            }
            Self::RetryOnce if attempt <= 1 => SendOutcome::Retryable { why, after },
            Self::RetryOnce | Self::Permanent => SendOutcome::Permanent {
                reason: Reason::WhatsappPermanentError,
                why,
            },
            Self::Refused | Self::RefusesEverything => SendOutcome::Refused {
                why,
                everything: self == Self::RefusesEverything,
            },
            Self::NewChatRefused => SendOutcome::NewChatRefused { why },
            Self::WindowClosed => SendOutcome::Permanent {
                reason: Reason::WindowClosed,
                why,
            },
            Self::Credentials => SendOutcome::Credentials { why },
            Self::Disconnected => SendOutcome::Disconnected { why },
            Self::Unreached => SendOutcome::Unreached { why },
            Self::Unknown { timed_out } => SendOutcome::Unknown { why, timed_out },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_provider_asks_for_lengthens_a_known_wait_and_never_shortens_it() {
        let after = |class: ErrorClass, asked: Option<u64>| match class.into_send_outcome(
            String::new(),
            asked.map(Duration::from_secs),
            2,
        ) {
            SendOutcome::Retryable { after, .. } => after.map(|after| after.as_secs()),
            outcome => panic!("{outcome:?}"),
        };
        for (class, asked, expected) in [
            (ErrorClass::RetryAfter(60), None, Some(60)),
            (ErrorClass::RetryAfter(60), Some(5), Some(60)),
            (ErrorClass::RetryAfter(60), Some(90), Some(90)),
            (ErrorClass::PairRateLimit, Some(5), Some(16)),
            (ErrorClass::PairRateLimit, Some(90), Some(90)),
            (ErrorClass::Throttled, None, Some(60)),
            (ErrorClass::Throttled, Some(5), Some(5)),
            (ErrorClass::Retry, None, None),
            (ErrorClass::Retry, Some(5), Some(5)),
        ] {
            assert_eq!(after(class, asked), expected, "{class:?} {asked:?}");
        }
    }
}
