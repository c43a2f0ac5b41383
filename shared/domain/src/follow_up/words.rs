//! The words that a message contains if it needs others before it. They are Portuguese, Spanish and English, without accents
//! and in small letters.

use crate::phrases::{Phrases, list_phrases};

/// Words with which a message goes on from another.
pub(super) static CONNECTIVES: Phrases = Phrases::new(|| list_phrases(include_str!("words/connectives.txt")));

/// Pairs of words with which a message goes on from another.
pub(super) const CONNECTIVE_PAIRS: &[[&str; 2]] = &[
    ["what", "if"],
    ["what", "about"],
    ["how", "about"],
    ["que", "tal"],
];

/// Words that stand for something that was named before: pronouns, ordinals, "the other one".
pub(super) static POINTING: Phrases = Phrases::new(|| list_phrases(include_str!("words/pointing.txt")));

/// Words that name no subject: articles, prepositions, question words, and what is asked of any subject (its price, its time).
pub(super) static FUNCTION_WORDS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/function_words.txt")));
