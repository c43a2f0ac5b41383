//! Names made of random bits: of attempts, of kicks, of what came without a correlation id.

use crate::ports::Ambient;
use recado_domain::ids::{CorrelationId, Nonce};

fn hex(ambient: &impl Ambient) -> String {
    format!("{:016x}{:016x}", ambient.random(), ambient.random())
}

/// A fresh name for an attempt, a lease or a version.
#[expect(clippy::expect_used, reason = "32 hexadecimal digits are a valid nonce")]
pub fn nonce(ambient: &impl Ambient) -> Nonce {
    Nonce::parse(&hex(ambient)).expect("32 hexadecimal digits")
}

/// A fresh correlation id.
#[expect(
    clippy::expect_used,
    reason = "32 hexadecimal digits are a valid correlation id"
)]
pub fn correlation(ambient: &impl Ambient) -> CorrelationId {
    CorrelationId::parse(&hex(ambient)).expect("32 hexadecimal digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Ambient for Fixed {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::UNIX_EPOCH
        }

        fn random(&self) -> u64 {
            u64::MAX
        }

        async fn sleep(&self, _: std::time::Duration) {}
    }

    #[test]
    fn names_of_any_bits_are_valid() {
        assert_eq!(nonce(&Fixed).as_str().len(), 32);
        assert_eq!(correlation(&Fixed).as_str().len(), 32);
    }
}
