//! Finds the words of an index that a misspelled word may stand for.

use crate::analyzer::fold_stop_words;
use crate::language::BlockLanguage;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;
use strsim::osa_distance;

/// Words with fewer letters are not corrected: too many others are one letter away.
const SHORTEST: usize = 4;
/// Words with so many letters may have two letters wrong.
const LONG: usize = 8;
/// At most so many words stand for a misspelled one.
const CANDIDATES: usize = 3;

/// Languages whose stop words are not corrected, whatever the language of the documents.
const ASKED_IN: [BlockLanguage; 3] = [BlockLanguage::Pt, BlockLanguage::Es, BlockLanguage::En];

/// Verbs and words with which people ask, beside stop words. Each is in lower case and without accents.
#[rustfmt::skip]
const QUESTION_WORDS: &[&str] = &[
    "aonde", "consigo", "custa", "custam", "custar", "existe", "existem", "faco", "fazem", "fazemos",
    "fazer", "fica", "ficam", "ficar", "gostaria", "onde", "pode", "podem", "podemos", "porque", "posso",
    "precisa", "precisam", "preciso", "quais", "qual", "quando", "quanta", "quantas", "quanto", "quantos",
    "queria", "quero", "sabe", "sabem", "saber", "tenho", "vale", "valem", "voce", "adonde", "costar",
    "cual", "cuales", "cuando", "cuanta", "cuantas", "cuanto", "cuantos", "cuesta", "cuestan", "existen",
    "hace", "hacemos", "hacen", "hacer", "hago", "necesita", "necesitan", "necesito", "puede", "pueden",
    "puedo", "queda", "quedan", "quedar", "quiero", "quisiera", "sale", "salen", "tengo", "tiene",
    "tienen", "usted", "ustedes", "valen", "cost", "costs", "could", "find", "know", "like", "located",
    "long", "make", "makes", "many", "much", "need", "needs", "take", "takes", "want", "wants", "would",
];

/// The words that are never corrected.
static COMMON_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let stop_words = ASKED_IN.into_iter().flat_map(fold_stop_words);
    let asked = QUESTION_WORDS.iter().map(|&word| word.to_owned());
    stop_words.chain(asked).collect()
});

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

    /// Returns the words that are nearest to `word`: one letter away, two if it is long. A common word has none.
    pub(crate) fn find_similar_words(&self, word: &str) -> Vec<&str> {
        let length = word.chars().count();
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        if length < SHORTEST || has_digit || COMMON_WORDS.contains(word) {
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
    fn common_verbs_and_words_of_questions_find_nothing() {
        let mut vocabulary = Vocabulary::default();
        for word in [
            "fixa", "fixam", "fazes", "custo", "quinto", "quedar", "doses", "coat", "manha",
        ] {
            vocabulary.add_word(word);
        }
        for word in [
            "fica", "ficam", "fazem", "custa", "quanto", "queda", "quedan", "does", "cost", "minha",
        ] {
            assert!(vocabulary.find_similar_words(word).is_empty(), "{word}");
        }
        assert_eq!(vocabulary.find_similar_words("quimto"), ["quinto"]);
    }

    #[test]
    fn short_words_numbers_and_other_words_find_nothing() {
        let vocabulary = vocabulary();
        for word in ["rao", "2025", "geladeira", ""] {
            assert!(vocabulary.find_similar_words(word).is_empty(), "{word}");
        }
    }
}
