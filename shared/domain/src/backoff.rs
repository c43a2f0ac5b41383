//! Backoff: computes how long to wait before the next attempt.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The longest wait that any policy gives: 10 minutes.
pub const WAIT_MAX: SignedDuration = SignedDuration::from_mins(10);

/// A policy that sets the wait after each attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Backoff {
    /// A fixed list of waits, one for each attempt; the last wait repeats.
    Sequence {
        /// The waits, in seconds. The list holds at least one.
        seconds: Vec<f64>,
    },
    /// Waits that double: `base · 2^(attempt-1)` seconds, at most `cap`, scattered by ±`jitter`.
    Exponential {
        /// Wait after the first attempt, in seconds.
        base: f64,
        /// Longest wait before the jitter is applied, in seconds.
        cap: f64,
        /// Fraction of the wait, 0 to 1, by which the wait may be shorter or longer.
        jitter: f64,
    },
}

impl Default for Backoff {
    fn default() -> Self {
        Self::Exponential {
            base: 2.0,
            cap: 60.0,
            jitter: 0.5,
        }
    }
}

/// The error for a text that is not a valid waiting policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be waits in seconds, such as 1,5,20,60, or exponential:base=2,cap=60,jitter=0.5, with no wait above 600 and \
     jitter from 0 to 1"
)]
pub struct BackoffError;

impl FromStr for Backoff {
    type Err = BackoffError;

    /// Reads `1,5,20,60` or `exponential:base=2,cap=60,jitter=0.5`. In the second form, a part that is left out has the
    /// default policy's value.
    fn from_str(text: &str) -> Result<Self, BackoffError> {
        match text.trim().strip_prefix("exponential") {
            Some("") => Ok(Self::default()),
            Some(rest) => parse_exponential(rest.strip_prefix(':').ok_or(BackoffError)?),
            None => {
                let seconds = text.split(',').map(|part| parse_seconds(part, 0.0));
                let seconds = seconds.collect::<Result<Vec<f64>, BackoffError>>()?;
                Ok(Self::Sequence { seconds })
            }
        }
    }
}

/// Parses a number of seconds from `least` to [`WAIT_MAX`].
fn parse_seconds(text: &str, least: f64) -> Result<f64, BackoffError> {
    match text.trim().parse::<f64>() {
        Ok(number) if number >= least && number <= WAIT_MAX.as_secs_f64() => Ok(number),
        _ => Err(BackoffError),
    }
}

fn parse_exponential(text: &str) -> Result<Backoff, BackoffError> {
    let (mut base, mut cap, mut jitter) = (2.0, 60.0, 0.5);
    for part in text.split(',') {
        let (name, value) = part.split_once('=').ok_or(BackoffError)?;
        match name.trim() {
            "base" => base = parse_seconds(value, 0.001)?,
            "cap" => cap = parse_seconds(value, 0.001)?,
            "jitter" => jitter = parse_seconds(value, 0.0)?,
            _ => return Err(BackoffError),
        }
    }
    if base > cap || jitter > 1.0 {
        return Err(BackoffError);
    }
    Ok(Backoff::Exponential { base, cap, jitter })
}

impl Backoff {
    /// Returns the wait after attempt number `attempt` (from 1), at most [`WAIT_MAX`]. `random` is any number; it
    /// selects the place within the jitter.
    pub fn delay_for_attempt(&self, attempt: u32, random: u64) -> SignedDuration {
        let seconds = match self {
            Self::Sequence { seconds } => {
                let at = (attempt.max(1) as usize - 1).min(seconds.len().saturating_sub(1));
                seconds.get(at).copied().unwrap_or(1.0)
            }
            Self::Exponential { base, cap, jitter } => {
                let doublings = i32::try_from(attempt.max(1) - 1).unwrap_or(i32::MAX).min(63);
                let plain = (base * 2f64.powi(doublings)).min(*cap);
                let jitter = jitter.clamp(0.0, 1.0);
                plain * (1.0 - jitter + 2.0 * jitter * to_unit_interval(random))
            }
        };
        let seconds = if seconds.is_finite() {
            seconds.max(0.0)
        } else {
            WAIT_MAX.as_secs_f64()
        };
        SignedDuration::from_secs_f64(seconds.min(WAIT_MAX.as_secs_f64()))
    }
}

/// Maps any number to a fraction from 0 up to, but not including, 1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are kept on purpose")]
fn to_unit_interval(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sequence_is_followed_and_its_last_wait_repeats() {
        let policy = Backoff::Sequence {
            seconds: vec![1.0, 5.0, 20.0, 60.0],
        };
        let waits: Vec<i64> = (1..=6)
            .map(|attempt| policy.delay_for_attempt(attempt, 7).as_secs())
            .collect();
        assert_eq!(waits, [1, 5, 20, 60, 60, 60]);
        assert_eq!(
            Backoff::Sequence { seconds: vec![] }.delay_for_attempt(3, 0),
            SignedDuration::from_secs(1)
        );
    }

    #[test]
    fn both_forms_of_a_policy_are_read_and_nothing_else() {
        let read = |text: &str| text.parse::<Backoff>();
        let seconds = vec![1.0, 5.0, 20.0, 60.0];
        assert_eq!(read(" 1, 5,20,60 "), Ok(Backoff::Sequence { seconds }));
        assert_eq!(read("exponential"), Ok(Backoff::default()));
        assert_eq!(
            read("exponential:base=1,cap=600,jitter=0"),
            Ok(Backoff::Exponential {
                base: 1.0,
                cap: 600.0,
                jitter: 0.0
            })
        );
        assert_eq!(
            read("exponential: cap=30"),
            Ok(Backoff::Exponential {
                base: 2.0,
                cap: 30.0,
                jitter: 0.5
            })
        );
        for wrong in [
            "",
            "1,,2",
            "-1",
            "601",
            "NaN",
            "inf",
            "one",
            "linear:base=1",
            "exponentialbase=1",
            "exponential:",
            "exponential:base=0",
            "exponential:base=61",
            "exponential:cap=601",
            "exponential:jitter=1.1",
            "exponential:factor=3",
        ] {
            assert_eq!(read(wrong), Err(BackoffError), "{wrong}");
        }
    }

    #[test]
    fn jitter_shortens_and_lengthens_a_wait_alike() {
        let wait = |random: u64| Backoff::default().delay_for_attempt(3, random).as_secs_f64();
        assert!((wait(0) - 4.0).abs() < 1e-6, "{}", wait(0));
        assert!((wait(u64::MAX / 2) - 8.0).abs() < 1e-6, "{}", wait(u64::MAX / 2));
        assert!((wait(u64::MAX) - 12.0).abs() < 1e-6, "{}", wait(u64::MAX));
    }

    proptest! {
        #[test]
        fn an_exponential_wait_stays_within_its_jitter_and_cap(attempt in 0u32..2000, random: u64) {
            let wait = Backoff::default().delay_for_attempt(attempt, random).as_secs_f64();
            let plain = (2.0 * 2f64.powi(i32::try_from(attempt.clamp(1, 60)).unwrap() - 1)).min(60.0);
            prop_assert!(wait >= plain * 0.5 - 1e-9 && wait <= plain * 1.5 + 1e-9);
        }

        #[test]
        fn no_setting_makes_a_wait_longer_than_the_limit(base: f64, cap: f64, jitter: f64, attempt: u32, random: u64) {
            let wait = Backoff::Exponential { base, cap, jitter }.delay_for_attempt(attempt, random);
            prop_assert!(wait <= WAIT_MAX);
        }
    }
}
