//! Splits texts of one language into words and stems: in lower case, without accents, punctuation and stop words.

use crate::language::BlockLanguage;
use deunicode::deunicode_with_tofu_cow;
use rust_stemmers::Stemmer;
use std::collections::HashSet;
use unicode_segmentation::UnicodeSegmentation;

/// Takes the place of a character that has no spelling in ASCII.
const UNKNOWN_CHARACTER: &str = "[?]";

/// The number of the way in which words and stems are found. It rises with each change by which a text has other words or stems, so
/// that what was stored before is analyzed again.
pub(crate) const ANALYSIS: u32 = 1;

/// Splits texts of one language into words, and finds their stems.
pub(crate) struct Analyzer {
    stemmer: Stemmer,
    stop_words: HashSet<String>,
}

impl Analyzer {
    pub(crate) fn of_language(language: BlockLanguage) -> Self {
        Self {
            stemmer: Stemmer::create(language.stemming()),
            stop_words: fold_stop_words(language).collect(),
        }
    }

    /// Splits a text into its words, in their order.
    pub(crate) fn split_words(&self, text: &str) -> Vec<String> {
        let text = fold_white_space(text);
        let text = deunicode_with_tofu_cow(&text, UNKNOWN_CHARACTER).to_lowercase();
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

/// Lists the stop words of a language, without accents.
pub(crate) fn fold_stop_words(language: BlockLanguage) -> impl Iterator<Item = String> {
    let words = stop_words::get(language.stop_words()).iter();
    words.map(|word| deunicode_with_tofu_cow(word, UNKNOWN_CHARACTER).into_owned())
}

/// Returns the text with one space in the place of all white space and control characters that stand together. Without it, two words
/// of different lines would become one: `deunicode` drops what is no printable character. What marks no end of a word is left out.
fn fold_white_space(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        if is_invisible_joiner(c) {
            continue;
        }
        if !is_end_of_word(c) {
            folded.push(c);
        } else if !folded.ends_with(' ') {
            folded.push(' ');
        }
    }
    folded
}

/// Returns `true` for white space of any kind and for control characters. The zero-width space, at which a line may be broken, is one.
fn is_end_of_word(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{200b}'
}

/// Returns `true` for invisible characters within a word: the soft hyphen, joiners, marks of direction, and the mark at the beginning
/// of a file.
fn is_invisible_joiner(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_lines_and_columns_end() {
        let analyzer = Analyzer::of_language(BlockLanguage::Pt);
        for between in [
            "\n",
            "\r\n",
            "\n\n",
            "\t",
            "\u{a0}",
            "\u{2028}",
            "\u{2029}",
            "\u{b}",
            "\u{c}",
            "\u{85}",
            "\u{200b}",
            " \u{202f} ",
        ] {
            let words = analyzer.split_words(&format!("manhã{between}Obturação"));
            assert_eq!(words, ["manha", "obturacao"], "{between:?}");
        }
        for within in ["\u{ad}", "\u{200d}", "\u{2060}", "\u{feff}"] {
            assert_eq!(
                analyzer.split_words(&format!("obtu{within}ração")),
                ["obturacao"],
                "{within:?}"
            );
        }
    }

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
