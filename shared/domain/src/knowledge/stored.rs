//! Vectors that stand in a store of vectors, beside a snapshot that has no room for them.

use super::BlockHash;
use crate::ids::{AgentId, TenantId, hash_parts};
use serde::{Deserialize, Serialize};

/// Bytes of a block's hash that its key keeps: enough that no two blocks share a key.
const HASH_BYTES: usize = 16;

/// The number of the change that put vectors into a store. It is random, so no two changes put vectors under the same keys: a late
/// deletion of what one change put never takes what another did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorPut(u64);

impl VectorPut {
    /// Makes a number of random bits.
    pub fn from_random_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub(super) fn to_file_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    pub(super) fn from_file_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }
}

/// The key of a vector in a store: of a block's place and text, and of the change that put it. What a key names never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VectorKey {
    block: [u8; HASH_BYTES],
    put: VectorPut,
}

impl VectorKey {
    /// Returns the key of a block's vector.
    pub fn of_block(hash: &BlockHash, put: VectorPut) -> Self {
        let mut block = [0; HASH_BYTES];
        block.copy_from_slice(&hash[..HASH_BYTES]);
        Self { block, put }
    }

    /// Returns the key as text: 32 and 16 hexadecimal digits with a hyphen between them.
    pub fn to_key_text(self) -> String {
        format!("{:032x}-{:016x}", u128::from_be_bytes(self.block), self.put.0)
    }

    /// Parses the text of a key; `None` if it is another one.
    pub fn parse_key_text(text: &str) -> Option<Self> {
        let (block, put) = text.split_once('-')?;
        let key = Self {
            block: u128::from_str_radix(block, 16).ok()?.to_be_bytes(),
            put: VectorPut(u64::from_str_radix(put, 16).ok()?),
        };
        (key.to_key_text() == text).then_some(key)
    }
}

/// A vector of a store that is near to a question's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearVector {
    /// The key under which the store keeps it.
    pub key: VectorKey,
    /// The cosine between both.
    pub cosine: f32,
}

/// The name of an index in a store of vectors: of one agent's blocks, by one model with these dimensions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VectorIndexName(String);

impl VectorIndexName {
    /// Returns the name of an agent's index: `recado-` and 32 hexadecimal digits.
    pub fn of_agent_model(tenant: &TenantId, agent: &AgentId, model: &str, dimensions: usize) -> Self {
        let dimensions = dimensions.to_string();
        let parts = ["vectors", tenant.as_str(), agent.as_str(), model, &dimensions];
        Self(format!("recado-{}", hash_parts(&parts, 16)))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The room that there is for the vectors of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectorRoom {
    /// Bytes of vectors in the snapshot's file.
    pub bytes: usize,
    /// The change that may put the others into a store; `None` if there is no store.
    pub overflow: Option<VectorPut>,
}

impl VectorRoom {
    /// Returns the room of a snapshot without a store.
    pub fn of_bytes(bytes: usize) -> Self {
        Self {
            bytes,
            overflow: None,
        }
    }
}

/// A block of a snapshot whose vector stands in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredVector {
    /// Number of the block.
    pub block: u32,
    /// The change that put the vector.
    pub put: VectorPut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written_and_no_other_text_is_a_key() {
        let key = VectorKey::of_block(&[0x0a; 32], VectorPut::from_random_bits(7));
        let text = key.to_key_text();
        assert_eq!(text, format!("{}-0000000000000007", "0a".repeat(16)));
        assert_eq!(VectorKey::parse_key_text(&text), Some(key));
        for other in ["", "-", "0a-7", &text.to_uppercase(), &text[1..]] {
            assert_eq!(VectorKey::parse_key_text(other), None, "{other}");
        }
        let again = VectorKey::of_block(&[0x0a; 32], VectorPut::from_random_bits(8));
        assert_ne!(key, again, "another change put it");
    }

    #[test]
    fn each_agent_model_and_dimension_has_an_index_whose_name_a_store_takes() {
        let name = |tenant: &str, agent: &str, model: &str, dimensions| {
            let (tenant, agent) = (TenantId::parse(tenant).unwrap(), AgentId::parse(agent).unwrap());
            VectorIndexName::of_agent_model(&tenant, &agent, model, dimensions)
        };
        let names = [
            name("a", "clara", "Org/Model 1", 3),
            name("b", "clara", "Org/Model 1", 3),
            name("a", "ana", "Org/Model 1", 3),
            name("a", "clara", "Org/Model 2", 3),
            name("a", "clara", "Org/Model 1", 4),
        ];
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        for name in &names {
            let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            assert!(name.as_str().bytes().all(fits) && (3..=63).contains(&name.as_str().len()));
        }
    }
}
