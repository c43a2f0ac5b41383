//! The indexes of snapshots that a process keeps in memory.

use crate::analysis::renew_analysis;
use crate::{BlockLanguage, Found, LexicalIndex, join_both_ways, keep_best_blocks, search_vector_rows};
use recado_domain::knowledge::{
    FoundBlock, KnowledgeSnapshot, NearVector, SnapshotError, SnapshotName, SnapshotVectors, SourceId,
    VectorKey,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The usual size of the files of all kept snapshots together, in bytes.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Number of blocks that each way contributes at least where both are joined.
const JOINED_MIN: usize = 50;

/// The index of one snapshot. It never changes.
#[derive(Debug)]
pub struct KnowledgeIndex {
    snapshot: KnowledgeSnapshot,
    titles: HashMap<SourceId, String>,
    words: LexicalIndex,
    /// The blocks whose vectors stand in a store, sorted by their keys.
    stored: Vec<(VectorKey, u32)>,
    bytes: usize,
}

impl KnowledgeIndex {
    /// Builds the index of a snapshot's file. Sources whose words were found in another way than the present one are analyzed again.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let mut snapshot = KnowledgeSnapshot::from_bytes(bytes)?;
        renew_analysis(&mut snapshot);
        let titles: HashMap<SourceId, String> = snapshot
            .sources
            .iter()
            .map(|source| (source.id.clone(), source.title.clone()))
            .collect();
        let blocks = snapshot.blocks.iter();
        let blocks = blocks.map(|block| (BlockLanguage::from_name(&block.language), block.stems.as_str()));
        let words = snapshot
            .sources
            .iter()
            .flat_map(|source| &source.words)
            .map(String::as_str);
        let words = LexicalIndex::of_analyzed(blocks, words);
        let mut stored = snapshot.list_stored_blocks();
        stored.sort_unstable();
        // The index of words needs neither any more.
        for block in &mut snapshot.blocks {
            block.stems = String::new();
        }
        for source in &mut snapshot.sources {
            source.words = Vec::new();
        }
        Ok(Self {
            snapshot,
            titles,
            words,
            stored,
            bytes: bytes.len(),
        })
    }

    /// Returns the vectors of the blocks; `None` if there are none.
    pub fn find_block_vectors(&self) -> Option<&SnapshotVectors> {
        self.snapshot.vectors.as_ref()
    }

    /// Returns the blocks that answer a question best, the best first. By words alone it finds none if no word of the question stands
    /// in a block. With the question's vector, the ranks by words and by vectors are joined.
    pub fn search(&self, question: &str, vector: Option<&[f32]>, limit: usize) -> Vec<FoundBlock> {
        self.search_with_stored(question, vector, &[], limit)
    }

    /// Does the same with the vectors of a store that are nearest to the question's. Those of no block of this snapshot count for
    /// nothing: another snapshot has them.
    pub fn search_with_stored(
        &self,
        question: &str,
        vector: Option<&[f32]>,
        stored: &[NearVector],
        limit: usize,
    ) -> Vec<FoundBlock> {
        let near = vector.and_then(|vector| self.find_near_blocks(vector, stored, limit.max(JOINED_MIN)));
        let Some(near) = near else {
            let found = self.words.search(question, limit);
            let described = found
                .iter()
                .filter_map(|by_words| self.describe_found(*by_words, &found, &[]));
            return described.collect();
        };
        let words = self.words.search(question, limit.max(JOINED_MIN));
        let joined = join_both_ways(&words, &near, limit);
        let described = joined
            .into_iter()
            .filter_map(|found| self.describe_found(found, &words, &near));
        described.collect()
    }

    /// Returns the blocks that are nearest to a vector; `None` if the snapshot has no vectors of its dimensions.
    fn find_near_blocks(&self, vector: &[f32], stored: &[NearVector], limit: usize) -> Option<Vec<Found>> {
        let vectors = self.find_block_vectors()?;
        let found = search_vector_rows(&vectors.rows, vector, limit).ok()?;
        let as_block = |found: Found| {
            let block = vectors.blocks.get(found.block)?;
            let block = usize::try_from(*block).ok()?;
            Some(Found { block, ..found })
        };
        let inside = found.into_iter().filter_map(as_block);
        let stored = stored.iter().flat_map(|near| self.list_blocks_of(near));
        Some(keep_best_blocks(inside.chain(stored).collect(), limit))
    }

    /// Returns the blocks to which a vector of a store belongs, with its cosine.
    fn list_blocks_of(&self, near: &NearVector) -> impl Iterator<Item = Found> {
        let (key, score) = (near.key, near.cosine);
        let first = self.stored.partition_point(|(known, _)| *known < key);
        let same = self
            .stored
            .iter()
            .skip(first)
            .take_while(move |(known, _)| *known == key);
        same.filter_map(move |(_, block)| {
            let block = usize::try_from(*block).ok()?;
            Some(Found { block, score })
        })
    }

    fn describe_found(&self, found: Found, words: &[Found], near: &[Found]) -> Option<FoundBlock> {
        let block = self.snapshot.blocks.get(found.block)?;
        let score_of = |list: &[Found]| {
            let same = list.iter().find(|other| other.block == found.block);
            same.map(|other| other.score)
        };
        Some(FoundBlock {
            source: block.source.clone(),
            title: self.titles.get(&block.source).cloned().unwrap_or_default(),
            place: block.place.clone(),
            text: block.text.clone(),
            score: found.score,
            lexical: score_of(words),
            cosine: score_of(near),
        })
    }
}

/// A snapshot's name with its index.
type KeptIndex = (SnapshotName, Arc<KnowledgeIndex>);

/// The indexes of the snapshots that were used last. Clones share them.
#[derive(Debug, Clone)]
pub struct KnowledgeShelf {
    kept: Arc<Mutex<Vec<KeptIndex>>>,
    kept_bytes_max: usize,
    /// Held while an index is built.
    building: Arc<Mutex<()>>,
}

impl Default for KnowledgeShelf {
    fn default() -> Self {
        Self::with_capacity(KEPT_BYTES)
    }
}

impl KnowledgeShelf {
    /// Makes an empty shelf. `kept_bytes_max`: size of the files of all kept snapshots together; one is kept whatever its size.
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
    use crate::{SplitSettings, analyze_document, hash_ngrams};
    use recado_domain::Timestamp;
    use recado_domain::ids::AgentId;
    use recado_domain::knowledge::{KnowledgeLimits, KnowledgeSource, MadeVectors, VectorPut, VectorRoom};

    fn file_of(title: &str, blocks: &[(&str, &str)]) -> Vec<u8> {
        snapshot_with(title, blocks, VectorRoom::of_bytes(1_000_000))
            .to_bytes()
            .unwrap()
    }

    fn snapshot_with(title: &str, blocks: &[(&str, &str)], room: VectorRoom) -> KnowledgeSnapshot {
        let id = SourceId::of_title(&AgentId::parse("clara").unwrap(), title);
        let texts = blocks.iter().map(|(place, text)| format!("# {place}\n{text}"));
        let text = texts.collect::<Vec<_>>().join("\n");
        let document = analyze_document(title, &text, SplitSettings::default());
        let source = KnowledgeSource {
            id: id.clone(),
            title: title.to_owned(),
            content_hash: String::new(),
            bytes: 1,
            added_at: Timestamp::UNIX_EPOCH,
            blocks: document.blocks.len(),
            is_cut: false,
            words: document.words,
            analysis: document.analysis,
        };
        let blocks = document.blocks.into_iter();
        let blocks = blocks.map(|block| block.into_block_of(&id));
        let snapshot = KnowledgeSnapshot::default().with_changes(
            KnowledgeLimits::default(),
            &[],
            vec![(source, blocks.collect())],
        );
        let mut snapshot = snapshot.unwrap();
        let mut made = MadeVectors::begin_for_model("letters");
        for (hash, text) in snapshot.list_unembedded(None) {
            made.add_made_vector(hash, &hash_ngrams(&text, 256)).unwrap();
        }
        snapshot.add_made_vectors(&made, room).unwrap();
        snapshot
    }

    fn name(bits: u128) -> SnapshotName {
        SnapshotName::from_random_bits(bits)
    }

    #[test]
    fn a_block_is_found_with_the_title_of_its_source_and_by_its_headings_too() {
        let blocks = [
            ("Prices › Vaccines", "They cost 90 euros."),
            ("Parking", "There is none."),
        ];
        let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &blocks)).unwrap();
        let found = index.search("What does a vaccine cost?", None, 5);
        assert_eq!(
            (found[0].title.as_str(), found[0].text.as_str()),
            ("clinic.md", "They cost 90 euros.")
        );
        assert_eq!(found[0].place, "Prices › Vaccines");
        assert_eq!(
            index.search("vacines", None, 5)[0].text,
            found[0].text,
            "a misspelled word"
        );
        assert!(found[0].score > 0.0);
        assert!(index.search("zzz", None, 5).is_empty());
    }

    #[test]
    fn a_question_whose_words_stand_nowhere_is_answered_by_vectors_and_each_way_shows_its_score() {
        let blocks = [
            ("Prices", "Vaccination costs 90 euros."),
            ("Parking", "There is none."),
        ];
        let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &blocks)).unwrap();
        assert!(index.search("revaccinations", None, 5).is_empty());
        let vector = hash_ngrams("revaccinations", 256);
        let found = index.search("revaccinations", Some(&vector), 5);
        assert_eq!(found[0].text, "Vaccination costs 90 euros.");
        assert!(
            found[0].cosine.unwrap() > 0.2 && found[0].lexical.is_none(),
            "{found:?}"
        );
        let found = index.search("vaccination", Some(&hash_ngrams("vaccination", 256)), 5);
        assert!(
            found[0].cosine.is_some() && found[0].lexical.is_some(),
            "{found:?}"
        );
        let words = index.search("vaccination", Some(&[1.0]), 5);
        assert_eq!(
            words,
            index.search("vaccination", None, 5),
            "a vector of other dimensions"
        );
        assert_eq!((words[0].lexical, words[0].cosine), (Some(words[0].score), None));
    }

    #[test]
    fn vectors_of_a_store_find_the_blocks_that_they_belong_to_and_those_of_no_block_count_for_nothing() {
        let blocks = [
            ("Prices", "Vaccination costs 90 euros."),
            ("Parking", "There is none."),
        ];
        let room = |change| VectorRoom {
            bytes: 0,
            overflow: Some(VectorPut::from_random_bits(change)),
        };
        let snapshot = snapshot_with("clinic.md", &blocks, room(1));
        let index = KnowledgeIndex::from_bytes(&snapshot.to_bytes().unwrap()).unwrap();
        let near = |snapshot: &KnowledgeSnapshot| {
            let stored = snapshot.list_stored_blocks().into_iter();
            let place = stored.filter(|(_, block)| *block == 0);
            let near = place.map(|(key, _)| NearVector { key, cosine: 0.9 });
            near.collect::<Vec<_>>()
        };
        let vector = hash_ngrams("zzz", 256);
        let found = index.search_with_stored("zzz", Some(&vector), &near(&snapshot), 5);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].place.as_str(), found[0].cosine), ("Prices", Some(0.9)));
        let other = near(&snapshot_with("clinic.md", &blocks, room(2)));
        assert_eq!(index.search_with_stored("zzz", Some(&vector), &other, 5), []);
    }

    #[test]
    fn a_stored_snapshot_whose_words_were_found_in_another_way_is_searched_by_words_of_the_present_one() {
        let blocks = [("", "A recepção abre às nove\nObturação custa cento e dez")];
        let mut snapshot = snapshot_with("precos.txt", &blocks, VectorRoom::of_bytes(1_000_000));
        // As an earlier version wrote it: the words of two lines were one, and the source names no analysis.
        snapshot.blocks[0].stems = snapshot.blocks[0].stems.replace("nov obtur", "noveobtur");
        assert!(
            snapshot.blocks[0].stems.contains("noveobtur"),
            "{:?}",
            snapshot.blocks
        );
        let words = std::mem::take(&mut snapshot.sources[0].words).into_iter();
        snapshot.sources[0].words = words.filter(|word| word != "obturacao").collect();
        snapshot.sources[0].analysis = 0;
        let stored = snapshot.to_bytes().unwrap();
        assert!(!String::from_utf8_lossy(&stored).contains("analysis"));
        let index = KnowledgeIndex::from_bytes(&stored).unwrap();
        for question in ["obturação", "Quanto custa a obturaçao?"] {
            assert_eq!(index.search(question, None, 5).len(), 1, "{question}");
        }
        let read = KnowledgeSnapshot::from_bytes(&stored).unwrap();
        let mut renewed = read.clone();
        renew_analysis(&mut renewed);
        assert_ne!(renewed.blocks[0].stems, read.blocks[0].stems);
        let again = renewed.clone();
        renew_analysis(&mut renewed);
        assert_eq!(renewed, again, "what is of the present way stays");
    }

    #[test]
    fn a_damaged_file_is_no_index() {
        assert!(KnowledgeIndex::from_bytes(b"no snapshot").is_err());
    }

    #[test]
    fn a_snapshot_that_is_kept_is_not_built_again_and_a_damaged_one_is_not_kept() {
        let shelf = KnowledgeShelf::default();
        shelf
            .build_kept_index(&name(1), &file_of("a", &[("", "text")]))
            .unwrap();
        assert!(shelf.build_kept_index(&name(1), b"not read").is_ok());
        assert!(shelf.build_kept_index(&name(2), b"no snapshot").is_err());
        assert!(shelf.find_index(&name(1)).is_some() && shelf.find_index(&name(2)).is_none());
    }

    #[test]
    fn what_was_used_longest_ago_is_dropped() {
        let shelf = KnowledgeShelf::with_capacity(3_000);
        let index = |bytes| {
            let mut index = KnowledgeIndex::from_bytes(&file_of("a", &[("", "text")])).unwrap();
            index.bytes = bytes;
            Arc::new(index)
        };
        for number in 1..=3 {
            shelf.keep_index(name(number), index(1_000));
        }
        assert!(shelf.find_index(&name(1)).is_some());
        shelf.keep_index(name(4), index(1_000));
        assert!(shelf.find_index(&name(2)).is_none());
        assert!(shelf.find_index(&name(1)).is_some());
        shelf.keep_index(name(5), index(6_000));
        assert!(shelf.find_index(&name(5)).is_some());
        assert!(shelf.find_index(&name(1)).is_none());
    }
}
