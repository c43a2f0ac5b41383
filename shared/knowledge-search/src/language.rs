//! The language of a block decides how its words are stemmed.

use rust_stemmers::Algorithm;
use serde::{Deserialize, Serialize};
use stop_words::LANGUAGE;
use whichlang::Lang;

/// A language whose words are stemmed. Text of any other is stemmed as English, which changes little in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlockLanguage {
    /// English, and all that is not listed here.
    En,
    /// Spanish.
    Es,
    /// Portuguese.
    Pt,
    /// French.
    Fr,
    /// German.
    De,
    /// Italian.
    It,
}

impl BlockLanguage {
    /// All of them, with the words by which records name them.
    const NAMES: [(Self, &'static str); 6] = [
        (Self::En, "en"),
        (Self::Es, "es"),
        (Self::Pt, "pt"),
        (Self::Fr, "fr"),
        (Self::De, "de"),
        (Self::It, "it"),
    ];

    /// Returns the word by which records name the language.
    pub fn as_str(self) -> &'static str {
        let named = Self::NAMES.iter().find(|(language, _)| *language == self);
        named.map_or("en", |(_, name)| name)
    }

    /// Finds the language that a record names; English if it is not known.
    pub fn from_name(name: &str) -> Self {
        let named = Self::NAMES.iter().find(|(_, known)| *known == name);
        named.map_or(Self::En, |(language, _)| *language)
    }

    pub(crate) fn stemming(self) -> Algorithm {
        match self {
            Self::En => Algorithm::English,
            Self::Es => Algorithm::Spanish,
            Self::Pt => Algorithm::Portuguese,
            Self::Fr => Algorithm::French,
            Self::De => Algorithm::German,
            Self::It => Algorithm::Italian,
        }
    }

    pub(crate) fn stop_words(self) -> LANGUAGE {
        match self {
            Self::En => LANGUAGE::English,
            Self::Es => LANGUAGE::Spanish,
            Self::Pt => LANGUAGE::Portuguese,
            Self::Fr => LANGUAGE::French,
            Self::De => LANGUAGE::German,
            Self::It => LANGUAGE::Italian,
        }
    }
}

/// Detects the language of a text of a sentence or more. Shorter texts are often taken for another one.
pub fn detect_language(text: &str) -> BlockLanguage {
    match whichlang::detect_language(text) {
        Lang::Por => BlockLanguage::Pt,
        Lang::Spa => BlockLanguage::Es,
        Lang::Fra => BlockLanguage::Fr,
        Lang::Deu => BlockLanguage::De,
        Lang::Ita => BlockLanguage::It,
        _ => BlockLanguage::En,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_three_languages_are_told_apart() {
        for (text, language) in [
            (
                "O exame de sangue exige jejum de oito horas e um documento com foto.",
                BlockLanguage::Pt,
            ),
            (
                "El envío a Mérida tarda tres días y cuesta ciento veinte pesos.",
                BlockLanguage::Es,
            ),
            (
                "The summer camp begins on the first Monday of July.",
                BlockLanguage::En,
            ),
        ] {
            assert_eq!(detect_language(text), language, "{text}");
        }
    }
}
