//! Splits texts of one language into words and stems: in lower case, without accents, punctuation and stop words.

use crate::language::BlockLanguage;
use deunicode::deunicode_with_tofu_cow;
use rust_stemmers::Stemmer;
use std::collections::HashSet;
use unicode_segmentation::UnicodeSegmentation;

/// Takes the place of a character that has no spelling in ASCII.
const UNKNOWN_CHARACTER: &str = "[?]";

/// Splits texts of one language into words, and finds their stems.
pub(crate) struct Analyzer {
    stemmer: Stemmer,
    stop_words: HashSet<String>,
}

impl Analyzer {
    pub(crate) fn of_language(language: BlockLanguage) -> Self {
        let stop_words = stop_words::get(language.stop_words()).iter();
        Self {
            stemmer: Stemmer::create(language.stemming()),
            stop_words: stop_words
                .map(|word| deunicode_with_tofu_cow(word, UNKNOWN_CHARACTER).into_owned())
                .collect(),
        }
    }

    /// Splits a text into its words, in their order.
    pub(crate) fn split_words(&self, text: &str) -> Vec<String> {
        let text = deunicode_with_tofu_cow(text, UNKNOWN_CHARACTER).to_lowercase();
        let words = text.unicode_words();
        words
            .filter(|word| !self.stop_words.contains(*word))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the stem of a word that `split_words` returned.
    pub(crate) fn find_stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }

    /// Returns the stems of the words of a text, in their order.
    pub(crate) fn list_stems(&self, text: &str) -> Vec<String> {
        let words = self.split_words(text);
        words.iter().map(|word| self.find_stem(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_lower_case_without_accents_punctuation_and_stop_words() {
        let analyzer = Analyzer::of_language(BlockLanguage::Pt);
        let words = analyzer.split_words("O estacionamento é GRÁTIS, não? São 2,50 € e a saída.");
        assert_eq!(words, ["estacionamento", "gratis", "2,50", "eur", "saida"]);
        assert_eq!(analyzer.list_stems("vacinas e vacinação"), ["vacin", "vacinaca"]);
        assert_eq!(analyzer.split_words(""), [""; 0]);
    }

    #[test]
    fn each_language_has_its_stop_words_and_stems() {
        for (language, text, stems) in [
            (
                BlockLanguage::En,
                "the running connections",
                &["run", "connect"][..],
            ),
            (
                BlockLanguage::Es,
                "los horarios de apertura",
                &["horari", "apertur"],
            ),
            (BlockLanguage::De, "die Öffnungszeiten", &["offnungszeit"]),
            (
                BlockLanguage::Fr,
                "les horaires d'ouverture",
                &["horair", "d'ouvertur"],
            ),
            (BlockLanguage::It, "gli orari di apertura", &["orar", "apertur"]),
        ] {
            assert_eq!(Analyzer::of_language(language).list_stems(text), stems, "{text}");
        }
    }
}
