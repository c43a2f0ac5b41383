use crate::ids::IdError;
use crate::text_conversions::text_conversions;
use serde::{Deserialize, Serialize};

/// The digits of base32hex, which calendars take for the ids of events.
const DIGITS: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";

/// Number of digits of an id: 130 bits.
const LENGTH: usize = 26;

/// The id of an effect. The other side gets it as the id of the event or as the key of the request.
///
/// It is random and not made of the entry's number: numbers come again after a restore of the store, ids must not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EffectId(String);

impl EffectId {
    /// Makes an id of random bits: 26 digits of base32hex.
    pub fn from_random_bits(high: u64, low: u64) -> Self {
        let bits = (u128::from(high) << 64) | u128::from(low);
        let digit = |place: usize| {
            let five = (bits >> (5 * place)) & 31;
            char::from(DIGITS[usize::try_from(five).unwrap_or_default()])
        };
        Self((0..LENGTH).rev().map(digit).collect())
    }

    /// Parses 26 digits of base32hex.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let fine = text.len() == LENGTH && text.bytes().all(|digit| DIGITS.contains(&digit));
        if fine {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Malformed { kind: "effect id" })
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(EffectId(String), IdError);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn an_id_of_any_bits_is_one_that_a_calendar_takes(high: u64, low: u64) {
            let id = EffectId::from_random_bits(high, low);
            prop_assert_eq!(EffectId::parse(id.as_str()).unwrap(), id);
        }
    }

    #[test]
    fn each_bit_counts() {
        let ids: BTreeSet<EffectId> = (0..64)
            .flat_map(|bit| {
                [
                    EffectId::from_random_bits(1 << bit, 0),
                    EffectId::from_random_bits(0, 1 << bit),
                ]
            })
            .collect();
        assert_eq!(ids.len(), 128);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        let long = "0".repeat(27);
        for bad in [
            "",
            "abc",
            "w0000000000000000000000000",
            "A0000000000000000000000000",
            &long,
        ] {
            assert!(EffectId::parse(bad).is_err(), "{bad}");
        }
    }
}
