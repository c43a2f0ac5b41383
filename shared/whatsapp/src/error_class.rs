//! Classes of errors, shared by the providers' tables: what each means for the send it answers.

use recado_domain::reason::Reason;
use recado_pipeline::ports::SendOutcome;
use std::time::Duration;

/// How long to wait where a provider says "too many" and not how long, in seconds.
const THROTTLED_SECONDS: u64 = 60;

/// What an error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// May pass; wait by the sender's own policy.
    Retry,
    /// May pass after so many seconds at least.
    RetryAfter(u64),
    /// May pass after as long as the provider says, else after a minute.
    Throttled,
    /// May pass for this contact, after 4 to the power of the attempt in seconds, at least 6.
    PairRateLimit,
    /// May pass; if the second attempt ends so as well, it will not.
    RetryOnce,
    /// Never.
    Permanent,
    /// Not until the contact writes again.
    WindowClosed,
    /// Not until somebody renews or widens the key or token, or mends the account.
    Credentials,
    /// Not until the instance is connected again; nothing left.
    Disconnected,
    /// Not until the provider can be reached again; nothing left.
    Unreached,
    /// The request left, and what became of it is not known.
    Unknown {
        /// Whether nothing behind the connection answered in time: two such in a row close the instance.
        timed_out: bool,
    },
}

impl ErrorClass {
    /// The outcome of attempt number `attempt` (from 1). `asked`: how long the provider asks to wait.
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
