//! Generates random ids: of attempts, of queue messages, and of requests without a correlation id.

use crate::ports::System;
use recado_domain::effects::EffectId;
use recado_domain::ids::{CorrelationId, Nonce};

/// Returns 128 random bits.
pub fn generate_random_bits(system: &dyn System) -> u128 {
    let (high, low) = (system.random_u64(), system.random_u64());
    (u128::from(high) << 64) | u128::from(low)
}

/// Generates a random nonce for an attempt, a lease or a version.
#[expect(clippy::expect_used, reason = "32 hexadecimal digits are a valid nonce")]
pub fn generate_nonce(system: &dyn System) -> Nonce {
    Nonce::parse(&format!("{:032x}", generate_random_bits(system))).expect("32 hexadecimal digits")
}

/// Generates the random id of an effect.
pub fn generate_effect_id(system: &dyn System) -> EffectId {
    EffectId::from_random_bits(system.random_u64(), system.random_u64())
}

/// Generates a correlation id: 12 hexadecimal digits of the time in milliseconds, then 20 random ones. Ids that arise one after
/// the other thus lie side by side in an index.
#[expect(
    clippy::expect_used,
    reason = "32 hexadecimal digits are a valid correlation id"
)]
pub fn generate_correlation_id(system: &dyn System) -> CorrelationId {
    let millis = system.now().as_millisecond().unsigned_abs() & 0xffff_ffff_ffff;
    let (high, low) = (system.random_u64() & 0xffff, system.random_u64());
    CorrelationId::parse(&format!("{millis:012x}{high:04x}{low:016x}")).expect("32 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;

    struct Fixed(jiff::Timestamp);

    #[async_trait]
    impl System for Fixed {
        fn now(&self) -> jiff::Timestamp {
            self.0
        }

        fn random_u64(&self) -> u64 {
            u64::MAX
        }

        async fn sleep(&self, _: std::time::Duration) {}
    }

    #[test]
    fn names_of_any_bits_are_valid() {
        for at in [
            jiff::Timestamp::MIN,
            jiff::Timestamp::UNIX_EPOCH,
            jiff::Timestamp::MAX,
        ] {
            assert_eq!(generate_nonce(&Fixed(at)).as_str().len(), 32);
            assert_eq!(generate_correlation_id(&Fixed(at)).as_str().len(), 32);
        }
    }

    #[test]
    fn correlation_ids_are_in_the_order_of_their_times() {
        let id = |millis| {
            let at = jiff::Timestamp::from_millisecond(millis).unwrap();
            generate_correlation_id(&Fixed(at)).as_str().to_owned()
        };
        let ids = [1_763_800_000_000, 1_763_800_000_001, 1_763_900_000_000].map(id);
        assert!(ids.is_sorted(), "{ids:?}");
    }
}
