//! Finds blocks by their words, with BM25: stems, without accents and stop words, and misspelled words corrected.

use crate::analyzer::Analyzer;
use crate::language::BlockLanguage;
use crate::postings::Postings;
use crate::spelling::Vocabulary;
use crate::{Found, keep_best_blocks};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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
#[derive(Default)]
pub struct TextAnalyzer(BTreeMap<BlockLanguage, Analyzer>);

impl std::fmt::Debug for TextAnalyzer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

impl TextAnalyzer {
    /// Analyzes a text in its language.
    pub fn analyze_text(&mut self, text: &str, language: BlockLanguage) -> AnalyzedText {
        let analyzer = self
            .0
            .entry(language)
            .or_insert_with(|| Analyzer::of_language(language));
        let words = analyzer.split_words(text);
        let stems: Vec<String> = words.iter().map(|word| analyzer.find_stem(word)).collect();
        AnalyzedText {
            language,
            stems: stems.join(" "),
            words: words.into_iter().collect(),
        }
    }
}

/// An index of blocks by their words, in memory.
pub struct LexicalIndex {
    postings: Postings,
    analyzers: Vec<Analyzer>,
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
        let mut vocabulary = Vocabulary::default();
        let different: HashSet<&str> = words.into_iter().collect();
        for word in different {
            vocabulary.add_word(word);
        }
        Self {
            postings: Postings::of_blocks(&stems_of_blocks),
            analyzers: common_languages(&languages)
                .into_iter()
                .map(Analyzer::of_language)
                .collect(),
            vocabulary,
        }
    }

    /// Returns the best `limit` blocks for a question, best first; none if no word of it stands in a block.
    pub fn search(&self, question: &str, limit: usize) -> Vec<Found> {
        let query: BTreeSet<String> = self
            .analyzers
            .iter()
            .flat_map(|analyzer| analyzer.split_words(question))
            .flat_map(|word| self.find_known_stems(&word))
            .collect();
        let found = self.postings.score_blocks(query.iter().map(String::as_str));
        keep_best_blocks(found, limit)
    }

    /// Returns the stems of a word that stand in blocks. If none does, returns those of the words that it may be a misspelling
    /// of.
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
            .flat_map(|analyzer| analyzer.list_stems(word))
            .filter(|stem| self.postings.has_stem(stem))
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
    fn a_question_of_common_words_is_not_taken_for_misspelled() {
        let index = LexicalIndex::of_texts([
            (
                "A taxa fixa de cancelamento é de trinta reais.",
                BlockLanguage::Pt,
            ),
            ("São duas doses, uma por mês.", BlockLanguage::Pt),
        ]);
        for question in ["Onde fica?", "Where does it take place?"] {
            assert!(index.search(question, 5).is_empty(), "{question}");
        }
        assert_eq!(index.search("fixsa", 5).len(), 1);
    }

    #[test]
    fn an_index_without_blocks_finds_nothing() {
        assert!(LexicalIndex::of_texts([]).search("vacina", 5).is_empty());
    }
}
