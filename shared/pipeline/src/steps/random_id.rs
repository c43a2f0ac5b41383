//! Generates random ids: of attempts, of queue messages, and of requests without a correlation id.

use crate::ports::System;
use recado_domain::ids::{CorrelationId, Nonce};

fn random_hex(system: &impl System) -> String {
    format!("{:016x}{:016x}", system.random_u64(), system.random_u64())
}

/// Generates a random nonce for an attempt, a lease or a version.
#[expect(clippy::expect_used, reason = "32 hexadecimal digits are a valid nonce")]
pub fn generate_nonce(system: &impl System) -> Nonce {
    Nonce::parse(&random_hex(system)).expect("32 hexadecimal digits")
}

/// Generates a random correlation id.
#[expect(
    clippy::expect_used,
    reason = "32 hexadecimal digits are a valid correlation id"
)]
pub fn generate_correlation_id(system: &impl System) -> CorrelationId {
    CorrelationId::parse(&random_hex(system)).expect("32 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl System for Fixed {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }

        fn random_u64(&self) -> u64 {
            u64::MAX
        }

        async fn sleep(&self, _: std::time::Duration) {}
    }

    #[test]
    fn names_of_any_bits_are_valid() {
        assert_eq!(generate_nonce(&Fixed).as_str().len(), 32);
        assert_eq!(generate_correlation_id(&Fixed).as_str().len(), 32);
    }
}
