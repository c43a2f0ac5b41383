//! Finds blocks by their words, with BM25: stems, without accents and stop words, and misspelled words corrected.

use crate::language::BlockLanguage;
use crate::spelling::Vocabulary;
use crate::{Found, keep_best_blocks};
use bm25::{DefaultTokenizer, Embedder, EmbedderBuilder, Scorer, Tokenizer};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Stems separated by spaces: what the index keeps of a block.
#[derive(Debug, Clone, Copy, Default)]
struct StoredStems;

impl Tokenizer for StoredStems {
    fn tokenize(&self, input_text: &str) -> Vec<String> {
        input_text.split_ascii_whitespace().map(str::to_owned).collect()
    }
}

/// The weight of a block's length: blocks are of similar length, so less than BM25's usual 0.75.
const LENGTH_WEIGHT: f32 = 0.5;

/// Splits texts of one language into words and stems: in lower case, without accents, punctuation and stop words.
#[derive(Debug)]
struct Analyzer {
    words: DefaultTokenizer,
    stems: DefaultTokenizer,
}

impl Analyzer {
    fn of_language(language: BlockLanguage) -> Self {
        let builder = || DefaultTokenizer::builder().language_mode(language.stemming());
        Self {
            words: builder().stemming(false).build(),
            stems: builder().build(),
        }
    }
}

/// The part of a block's text that the index keeps. A snapshot stores it, so that loading one analyzes no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalyzedText {
    /// The language in which the words were stemmed.
    pub language: BlockLanguage,
    /// The stems, separated by spaces.
    pub stems: String,
    /// The different words, sorted: what a misspelled word may stand for.
    pub words: BTreeSet<String>,
}

/// Finds the stems and the words of texts.
#[derive(Debug, Default)]
pub struct TextAnalyzer(BTreeMap<BlockLanguage, Analyzer>);

impl TextAnalyzer {
    /// Analyzes a text in its language.
    pub fn analyze_text(&mut self, text: &str, language: BlockLanguage) -> AnalyzedText {
        let analyzer = self
            .0
            .entry(language)
            .or_insert_with(|| Analyzer::of_language(language));
        AnalyzedText {
            language,
            stems: analyzer.stems.tokenize(text).join(" "),
            words: analyzer.words.tokenize(text).into_iter().collect(),
        }
    }
}

/// An index of blocks by their words, in memory.
pub struct LexicalIndex {
    scorer: Scorer<usize>,
    embedder: Embedder<u32, StoredStems>,
    analyzers: Vec<Analyzer>,
    stems: HashSet<String>,
    vocabulary: Vocabulary,
}

impl std::fmt::Debug for LexicalIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LexicalIndex").finish_non_exhaustive()
    }
}

impl LexicalIndex {
    /// Builds the index of texts, each with its language. A block's number is its place among them.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = (&'a str, BlockLanguage)>) -> Self {
        let mut analyzer = TextAnalyzer::default();
        let kept: Vec<AnalyzedText> = texts
            .into_iter()
            .map(|(text, language)| analyzer.analyze_text(text, language))
            .collect();
        let blocks = kept.iter().map(|text| (text.language, text.stems.as_str()));
        let words = kept.iter().flat_map(|text| &text.words).map(String::as_str);
        Self::of_analyzed(blocks, words)
    }

    /// Builds the index of the stems of blocks, each with its language, and of the words of all of them.
    pub fn of_analyzed<'a>(
        blocks: impl IntoIterator<Item = (BlockLanguage, &'a str)>,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let (languages, stems_of_blocks): (Vec<BlockLanguage>, Vec<&str>) = blocks.into_iter().unzip();
        let embedder = EmbedderBuilder::with_tokenizer_and_fit_to_corpus(StoredStems, &stems_of_blocks)
            .b(LENGTH_WEIGHT)
            .build();
        let (mut scorer, mut stems) = (Scorer::new(), HashSet::new());
        for (block, text) in stems_of_blocks.iter().enumerate() {
            scorer.upsert(&block, embedder.embed(text));
            for stem in text.split_ascii_whitespace() {
                if !stems.contains(stem) {
                    stems.insert(stem.to_owned());
                }
            }
        }
        let mut vocabulary = Vocabulary::default();
        for word in words {
            vocabulary.add_word(word);
        }
        Self {
            scorer,
            embedder,
            analyzers: common_languages(&languages)
                .into_iter()
                .map(Analyzer::of_language)
                .collect(),
            stems,
            vocabulary,
        }
    }

    /// Returns the best `limit` blocks for a question, best first; none if no word of it stands in a block.
    pub fn search(&self, question: &str, limit: usize) -> Vec<Found> {
        let query: BTreeSet<String> = self
            .analyzers
            .iter()
            .flat_map(|analyzer| analyzer.words.tokenize(question))
            .flat_map(|word| self.find_known_stems(&word))
            .collect();
        let query = query.into_iter().collect::<Vec<_>>().join(" ");
        let found = self.scorer.matches(&self.embedder.embed(&query));
        let found = found.into_iter().map(|document| Found {
            block: document.id,
            score: document.score,
        });
        keep_best_blocks(found.collect(), limit)
    }

    /// Returns the stems of a word that stand in blocks; if none does, those of the words that it may be a misspelling of.
    fn find_known_stems(&self, word: &str) -> Vec<String> {
        let known = self.stems_in_blocks(word);
        if !known.is_empty() {
            return known;
        }
        let corrected = self.vocabulary.find_similar_words(word);
        corrected
            .into_iter()
            .flat_map(|word| self.stems_in_blocks(word))
            .collect()
    }

    fn stems_in_blocks(&self, word: &str) -> Vec<String> {
        self.analyzers
            .iter()
            .flat_map(|analyzer| analyzer.stems.tokenize(word))
            .filter(|stem| self.stems.contains(stem))
            .collect()
    }
}

/// Returns the languages of at least a twentieth of the blocks. A question is stemmed in each of them.
fn common_languages(languages: &[BlockLanguage]) -> BTreeSet<BlockLanguage> {
    let mut counts: BTreeMap<BlockLanguage, usize> = BTreeMap::new();
    for language in languages {
        *counts.entry(*language).or_default() += 1;
    }
    counts.retain(|_, count| *count * 20 >= languages.len());
    counts.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index() -> LexicalIndex {
        LexicalIndex::of_texts([
            (
                "O estacionamento é gratuito por duas horas para pacientes.",
                BlockLanguage::Pt,
            ),
            (
                "A vacinação contra a gripe custa noventa reais.",
                BlockLanguage::Pt,
            ),
            (
                "Para o exame de sangue é preciso jejum de oito horas.",
                BlockLanguage::Pt,
            ),
        ])
    }

    fn first(question: &str) -> Option<usize> {
        index().search(question, 5).first().map(|found| found.block)
    }

    #[test]
    fn stems_accents_and_misspellings_find_the_block() {
        assert_eq!(first("vacinas para gripe"), Some(1));
        assert_eq!(first("VACINACAO"), Some(1));
        assert_eq!(first("tem estacionamneto?"), Some(0));
        assert_eq!(first("preciso de jejun pro exame?"), Some(2));
    }

    #[test]
    fn a_question_of_other_words_finds_nothing() {
        assert_eq!(first("bicicleta"), None);
        assert_eq!(first(""), None);
        assert_eq!(first("o que é para a de?"), None);
    }

    #[test]
    fn an_index_without_blocks_finds_nothing() {
        assert!(LexicalIndex::of_texts([]).search("vacina", 5).is_empty());
    }
}
