//! Numbers by which two sets of records are compared, whatever the order in which they were read.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The sum of the SHA-256 of records, modulo 2^256. The order of the records does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecordDigest([u64; 4]);

impl RecordDigest {
    /// Adds the SHA-256 of a record.
    pub fn add_hash(&mut self, hash: &[u8; 32]) {
        let mut carry = false;
        for (word, bytes) in self.0.iter_mut().zip(hash.chunks_exact(8)) {
            let more = bytes
                .iter()
                .fold(0, |sum: u64, byte| (sum << 8) | u64::from(*byte));
            let (sum, first) = word.overflowing_add(more);
            let (sum, second) = sum.overflowing_add(u64::from(carry));
            (*word, carry) = (sum, first || second);
        }
    }
}

impl fmt::Display for RecordDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|word| write!(f, "{word:016x}"))
    }
}

impl From<RecordDigest> for String {
    fn from(digest: RecordDigest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for RecordDigest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        const ERROR: &str = "it is not 64 hexadecimal digits";
        if text.len() != 64 || !text.is_ascii() {
            return Err(ERROR);
        }
        let mut words = [0; 4];
        for (number, word) in words.iter_mut().enumerate() {
            let digits = text.get(number * 16..(number + 1) * 16).ok_or(ERROR)?;
            *word = u64::from_str_radix(digits, 16).map_err(|_| ERROR)?;
        }
        Ok(Self(words))
    }
}

/// The number of the records of a kind, and the sum of their hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindTally {
    /// The number.
    pub count: u64,
    /// The sum of the hashes.
    pub digest: RecordDigest,
}

impl KindTally {
    /// Adds a record by its SHA-256.
    pub fn add_record(&mut self, hash: &[u8; 32]) {
        self.count += 1;
        self.digest.add_hash(hash);
    }
}
