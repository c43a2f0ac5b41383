//! How long to wait before the next attempt.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest wait of any policy.
pub const WAIT_MAX: Duration = Duration::from_secs(600);

/// A waiting policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Backoff {
    /// The waits themselves, in seconds; the last one repeats.
    Sequence {
        /// At least one.
        seconds: Vec<f64>,
    },
    /// `base · 2^(attempt-1)`, at most `cap`, scattered by ±`jitter` (0 to 1).
    Exponential {
        /// Seconds after the first attempt.
        base: f64,
        /// The most, in seconds.
        cap: f64,
        /// By which part of itself a wait may be shorter or longer.
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

impl Backoff {
    /// The wait after attempt number `attempt` (from 1). `random` is any number: it places the wait inside the jitter.
    pub fn wait(&self, attempt: u32, random: u64) -> Duration {
        let seconds = match self {
            Self::Sequence { seconds } => {
                let at = (attempt.max(1) as usize - 1).min(seconds.len().saturating_sub(1));
                seconds.get(at).copied().unwrap_or(1.0)
            }
            Self::Exponential { base, cap, jitter } => {
                let doublings = i32::try_from(attempt.max(1) - 1).unwrap_or(i32::MAX).min(63);
                let plain = (base * 2f64.powi(doublings)).min(*cap);
                let jitter = jitter.clamp(0.0, 1.0);
                plain * (1.0 - jitter + 2.0 * jitter * unit(random))
            }
        };
        let seconds = if seconds.is_finite() {
            seconds.max(0.0)
        } else {
            WAIT_MAX.as_secs_f64()
        };
        Duration::from_secs_f64(seconds.min(WAIT_MAX.as_secs_f64()))
    }
}

/// Maps any number to 0..1.
#[expect(clippy::cast_precision_loss, reason = "53 bits are kept on purpose")]
fn unit(random: u64) -> f64 {
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
        let waits: Vec<u64> = (1..=6).map(|attempt| policy.wait(attempt, 7).as_secs()).collect();
        assert_eq!(waits, [1, 5, 20, 60, 60, 60]);
        assert_eq!(
            Backoff::Sequence { seconds: vec![] }.wait(3, 0),
            Duration::from_secs(1)
        );
    }

    proptest! {
        #[test]
        fn an_exponential_wait_stays_within_its_jitter_and_cap(attempt in 0u32..2000, random: u64) {
            let wait = Backoff::default().wait(attempt, random).as_secs_f64();
            let plain = (2.0 * 2f64.powi(i32::try_from(attempt.clamp(1, 60)).unwrap() - 1)).min(60.0);
            prop_assert!(wait >= plain * 0.5 - 1e-9 && wait <= plain * 1.5 + 1e-9);
        }

        #[test]
        fn no_setting_makes_a_wait_longer_than_the_limit(base: f64, cap: f64, jitter: f64, attempt: u32, random: u64) {
            let wait = Backoff::Exponential { base, cap, jitter }.wait(attempt, random);
            prop_assert!(wait <= WAIT_MAX);
        }
    }
}
