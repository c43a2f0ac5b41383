//! Finds the words of an index that a misspelled word may stand for.

use std::collections::{BTreeMap, BTreeSet};
use strsim::osa_distance;

/// Words with fewer letters are not corrected: too many others are one letter away.
const SHORTEST: usize = 4;
/// Words with so many letters may have two letters wrong.
const LONG: usize = 8;
/// At most so many words stand for a misspelled one.
const CANDIDATES: usize = 3;

/// The words of an index, by their number of letters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vocabulary {
    by_length: BTreeMap<usize, BTreeSet<String>>,
}

impl Vocabulary {
    pub(crate) fn add_word(&mut self, word: &str) {
        let same_length = self.by_length.entry(word.chars().count()).or_default();
        if !same_length.contains(word) {
            same_length.insert(word.to_owned());
        }
    }

    /// Returns the words that are nearest to `word`: one letter away, two if it is long.
    pub(crate) fn find_similar_words(&self, word: &str) -> Vec<&str> {
        let length = word.chars().count();
        if length < SHORTEST || word.bytes().any(|byte| byte.is_ascii_digit()) {
            return Vec::new();
        }
        let allowed = if length >= LONG { 2 } else { 1 };
        let mut nearest: Vec<(usize, &str)> = self
            .by_length
            .range(length - allowed..=length + allowed)
            .flat_map(|(_, words)| words)
            .filter_map(|known| {
                let distance = osa_distance(word, known);
                (distance <= allowed).then_some((distance, known.as_str()))
            })
            .collect();
        nearest.sort_unstable();
        let best = nearest.first().map_or(0, |(distance, _)| *distance);
        nearest
            .into_iter()
            .take_while(|(distance, _)| *distance == best)
            .take(CANDIDATES)
            .map(|(_, known)| known)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let mut vocabulary = Vocabulary::default();
        for word in ["vacina", "consulta", "convenio", "preco", "raio"] {
            vocabulary.add_word(word);
        }
        vocabulary
    }

    #[test]
    fn a_swapped_or_missing_letter_finds_the_word() {
        let vocabulary = vocabulary();
        assert_eq!(vocabulary.find_similar_words("vaicna"), ["vacina"]);
        assert_eq!(vocabulary.find_similar_words("conslta"), ["consulta"]);
        assert_eq!(vocabulary.find_similar_words("comvenioo"), ["convenio"]);
        assert_eq!(vocabulary.find_similar_words("consulta"), ["consulta"]);
    }

    #[test]
    fn short_words_numbers_and_other_words_find_nothing() {
        let vocabulary = vocabulary();
        for word in ["rao", "2025", "geladeira", ""] {
            assert!(vocabulary.find_similar_words(word).is_empty(), "{word}");
        }
    }
}
