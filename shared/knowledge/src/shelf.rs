//! The indexes of snapshots that a process keeps in memory.

use crate::{
    BlockLanguage, Found, LexicalIndex, SplitSettings, TextAnalyzer, detect_language, split_document,
};
use recado_domain::knowledge::{
    FoundBlock, KnowledgeSnapshot, SnapshotError, SnapshotName, SourceId, SplitBlock, SplitDocument,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of the texts of all kept snapshots together, in bytes. One snapshot is kept whatever its size.
const KEPT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Splits a text into blocks, each with what the index keeps of it. The title counts among the words of each block, as its
/// headings do.
pub fn analyze_document(title: &str, text: &str, settings: SplitSettings) -> SplitDocument {
    let (mut blocks, mut words) = (Vec::new(), BTreeSet::new());
    let mut analyzer = TextAnalyzer::default();
    for block in split_document(text, settings) {
        let indexed = format!("{title}. {}. {}", block.place, block.text);
        let mut kept = analyzer.analyze_text(&indexed, detect_language(&indexed));
        words.append(&mut kept.words);
        blocks.push(SplitBlock {
            place: block.place,
            text: block.text,
            language: kept.language.as_str().to_owned(),
            stems: kept.stems,
        });
    }
    SplitDocument {
        blocks,
        words: words.into_iter().collect(),
        is_cut: false,
    }
}

/// The index of one snapshot. It never changes.
#[derive(Debug)]
pub struct KnowledgeIndex {
    snapshot: KnowledgeSnapshot,
    titles: HashMap<SourceId, String>,
    words: LexicalIndex,
    bytes: usize,
}

impl KnowledgeIndex {
    /// Builds the index of a snapshot's file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let snapshot = KnowledgeSnapshot::from_bytes(bytes)?;
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
        Ok(Self {
            snapshot,
            titles,
            words,
            bytes: bytes.len(),
        })
    }

    /// Returns the blocks that answer a question best, the best first; none if no word of it stands in a block.
    pub fn search(&self, question: &str, limit: usize) -> Vec<FoundBlock> {
        let found = self.words.search(question, limit);
        found
            .into_iter()
            .filter_map(|found| self.describe_found(found))
            .collect()
    }

    fn describe_found(&self, found: Found) -> Option<FoundBlock> {
        let block = self.snapshot.blocks.get(found.block)?;
        Some(FoundBlock {
            source: block.source.clone(),
            title: self.titles.get(&block.source).cloned().unwrap_or_default(),
            place: block.place.clone(),
            text: block.text.clone(),
            score: found.score,
        })
    }
}

/// A snapshot's name with its index.
type KeptIndex = (SnapshotName, Arc<KnowledgeIndex>);

/// The indexes of the snapshots that were used last. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct KnowledgeShelf(Arc<Mutex<Vec<KeptIndex>>>);

impl KnowledgeShelf {
    /// Returns the index of a snapshot if it is kept.
    pub fn find_index(&self, name: &SnapshotName) -> Option<Arc<KnowledgeIndex>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| known == name)?;
        let used = kept.remove(at);
        let index = Arc::clone(&used.1);
        kept.push(used);
        Some(index)
    }

    /// Keeps the index of a snapshot, and drops those that were used longest ago if all are too large together.
    pub fn keep_index(&self, name: SnapshotName, index: Arc<KnowledgeIndex>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != name);
        kept.push((name, index));
        while kept.len() > 1 && kept.iter().map(|(_, index)| index.bytes).sum::<usize>() > KEPT_BYTES_MAX {
            kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::Timestamp;
    use recado_domain::ids::AgentId;
    use recado_domain::knowledge::{KnowledgeBlock, KnowledgeSource};

    fn file_of(title: &str, blocks: &[(&str, &str)]) -> Vec<u8> {
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
        };
        let blocks = document.blocks.into_iter().map(|block| KnowledgeBlock {
            source: id.clone(),
            place: block.place,
            text: block.text,
            language: block.language,
            stems: block.stems,
        });
        let snapshot = KnowledgeSnapshot::default().with_changes(&[], vec![(source, blocks.collect())]);
        snapshot.unwrap().to_bytes().unwrap()
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
        let found = index.search("What does a vaccine cost?", 5);
        assert_eq!(
            (found[0].title.as_str(), found[0].text.as_str()),
            ("clinic.md", "They cost 90 euros.")
        );
        assert_eq!(found[0].place, "Prices › Vaccines");
        assert_eq!(
            index.search("vacines", 5)[0].text,
            found[0].text,
            "a misspelled word"
        );
        assert!(found[0].score > 0.0);
        assert!(index.search("zzz", 5).is_empty());
    }

    #[test]
    fn a_damaged_file_is_no_index() {
        assert!(KnowledgeIndex::from_bytes(b"no snapshot").is_err());
    }

    #[test]
    fn what_was_used_longest_ago_is_dropped() {
        let shelf = KnowledgeShelf::default();
        let index = |bytes| {
            let mut index = KnowledgeIndex::from_bytes(&file_of("a", &[("", "text")])).unwrap();
            index.bytes = bytes;
            Arc::new(index)
        };
        for number in 1..=3 {
            shelf.keep_index(name(number), index(KEPT_BYTES_MAX / 3));
        }
        assert!(shelf.find_index(&name(1)).is_some());
        shelf.keep_index(name(4), index(KEPT_BYTES_MAX / 3));
        assert!(shelf.find_index(&name(2)).is_none());
        assert!(shelf.find_index(&name(1)).is_some());
        shelf.keep_index(name(5), index(KEPT_BYTES_MAX * 2));
        assert!(shelf.find_index(&name(5)).is_some());
        assert!(shelf.find_index(&name(1)).is_none());
    }
}
