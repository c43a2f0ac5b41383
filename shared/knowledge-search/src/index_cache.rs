//! The indexes of snapshots that a process keeps in memory.

use crate::KnowledgeIndex;
use recado_domain::knowledge::{SnapshotError, SnapshotName};
use std::sync::{Arc, Mutex, PoisonError};

/// The usual size of the files of all kept snapshots together, in bytes.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// A snapshot's name with its index.
type KeptIndex = (SnapshotName, Arc<KnowledgeIndex>);

/// The indexes of the snapshots that were used last. Clones share them.
#[derive(Debug, Clone)]
pub struct KnowledgeIndexCache {
    kept: Arc<Mutex<Vec<KeptIndex>>>,
    kept_bytes_max: usize,
    /// Held while an index is built.
    building: Arc<Mutex<()>>,
}

impl Default for KnowledgeIndexCache {
    fn default() -> Self {
        Self::with_capacity(KEPT_BYTES)
    }
}

impl KnowledgeIndexCache {
    /// Makes an empty cache. `kept_bytes_max`: size of the files of all kept snapshots together; one is kept whatever its size.
    pub fn with_capacity(kept_bytes_max: usize) -> Self {
        Self {
            kept: Arc::default(),
            kept_bytes_max,
            building: Arc::default(),
        }
    }

    /// Returns the index of a snapshot if it is kept.
    pub fn find_index(&self, name: &SnapshotName) -> Option<Arc<KnowledgeIndex>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| known == name)?;
        let used = kept.remove(at);
        let index = Arc::clone(&used.1);
        kept.push(used);
        Some(index)
    }

    /// Builds the index of a snapshot's file and keeps it. One is built at a time: who asks for the same one meanwhile waits, and finds it.
    /// Takes the processor for seconds if the file is large.
    pub fn build_kept_index(&self, name: &SnapshotName, bytes: &[u8]) -> Result<(), SnapshotError> {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if self.find_index(name).is_none() {
            self.keep_index(name.clone(), Arc::new(KnowledgeIndex::from_bytes(bytes)?));
        }
        Ok(())
    }

    /// Keeps the index of a snapshot, and drops those that were used longest ago if all are too large together.
    fn keep_index(&self, name: SnapshotName, index: Arc<KnowledgeIndex>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != name);
        kept.push((name, index));
        while kept.len() > 1 && kept.iter().map(|(_, index)| index.bytes).sum::<usize>() > self.kept_bytes_max
        {
            kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::file_of;

    fn name(bits: u128) -> SnapshotName {
        SnapshotName::from_random_bits(bits)
    }

    #[test]
    fn a_snapshot_that_is_kept_is_not_built_again_and_a_damaged_one_is_not_kept() {
        let index_cache = KnowledgeIndexCache::default();
        index_cache
            .build_kept_index(&name(1), &file_of("a", &[("", "text")]))
            .unwrap();
        assert!(index_cache.build_kept_index(&name(1), b"not read").is_ok());
        assert!(index_cache.build_kept_index(&name(2), b"no snapshot").is_err());
        assert!(index_cache.find_index(&name(1)).is_some() && index_cache.find_index(&name(2)).is_none());
    }

    #[test]
    fn what_was_used_longest_ago_is_dropped() {
        let index_cache = KnowledgeIndexCache::with_capacity(3_000);
        let index = |bytes| {
            let mut index = KnowledgeIndex::from_bytes(&file_of("a", &[("", "text")])).unwrap();
            index.bytes = bytes;
            Arc::new(index)
        };
        for number in 1..=3 {
            index_cache.keep_index(name(number), index(1_000));
        }
        assert!(index_cache.find_index(&name(1)).is_some());
        index_cache.keep_index(name(4), index(1_000));
        assert!(index_cache.find_index(&name(2)).is_none());
        assert!(index_cache.find_index(&name(1)).is_some());
        index_cache.keep_index(name(5), index(6_000));
        assert!(index_cache.find_index(&name(5)).is_some());
        assert!(index_cache.find_index(&name(1)).is_none());
    }
}
