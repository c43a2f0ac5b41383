//! Messages that need those before them to be understood: "And the first one?" after a question about courses.

mod words;

use crate::folding::{fold_text, split_words};
use std::collections::BTreeSet;

/// A message of so many words is too short to name its subject.
const SHORT_WORDS: usize = 3;

/// With so many words of its own, a message that goes on from another names its subject.
const CONTENT_AFTER_CONNECTIVE: usize = 6;

/// With so many words of its own, a pronoun of a message stands for something within it.
const CONTENT_BESIDE_POINTING: usize = 4;

/// Number of earlier messages that are joined at most.
const JOINED_MESSAGES: usize = 3;

/// Largest number of characters that are taken of an earlier message.
const JOINED_CHARS: usize = 300;

/// Returns `true` if a message probably needs those before it to be understood: it begins with "and", says "it" or "the first", or
/// names no subject.
pub fn needs_earlier_messages(text: &str) -> bool {
    let folded = fold_text(text);
    let said: Vec<&str> = split_words(&folded).collect();
    if said.is_empty() {
        return false;
    }
    let names_something = |word: &&&str| {
        word.chars().count() > 1 && !words::FUNCTION_WORDS.contains(*word) && !words::POINTING.contains(*word)
    };
    let content = said.iter().filter(names_something).count();
    let goes_on = said
        .first()
        .is_some_and(|first| words::CONNECTIVES.contains(first))
        || words::CONNECTIVE_PAIRS.iter().any(|pair| said.starts_with(pair));
    let points = said.iter().any(|word| words::POINTING.contains(word));
    content == 0
        || said.len() <= SHORT_WORDS
        || (goes_on && content <= CONTENT_AFTER_CONNECTIVE)
        || (points && content <= CONTENT_BESIDE_POINTING)
}

/// Returns the message with the contact's messages before it, back to one that stands alone: a search finds with them what it is
/// about. `earlier` has the contact's messages, oldest first.
pub fn join_earlier_messages<'a>(text: &str, earlier: impl DoubleEndedIterator<Item = &'a str>) -> String {
    let mut joined = text.trim().to_owned();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let said = earlier.rev().map(str::trim).filter(|said| !said.is_empty());
    for message in said.take(JOINED_MESSAGES) {
        if names.insert(message) {
            let end = message
                .char_indices()
                .nth(JOINED_CHARS)
                .map_or(message.len(), |(place, _)| place);
            joined.push(' ');
            joined.push_str(&message[..end]);
        }
        if !needs_earlier_messages(message) {
            break;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_points_back_goes_on_or_names_nothing_needs_what_was_said_before() {
        for text in [
            "E o primeiro?",
            "E quanto custa?",
            "E se eu chegar atrasada?",
            "Quantas doses são?",
            "Dói?",
            "A primeira também pode?",
            "Qual o preço dela?",
            "¿Y a Tijuana?",
            "¿Hasta cuándo puedo?",
            "¿También en Puebla?",
            "¿Cuál es el segundo?",
            "And C1?",
            "What about swimming lessons?",
            "How do I pay it?",
            "When can I start?",
            "how much are they",
        ] {
            assert!(needs_earlier_messages(text), "{text}");
        }
    }

    #[test]
    fn what_names_its_subject_stands_alone() {
        for text in [
            "Quanto custa a consulta com o dermatologista?",
            "Vocês atendem pelo convênio Unimed Nacional?",
            "Qual o preço da densitometria óssea?",
            "¿Cuánto tarda el envío a la Ciudad de México?",
            "¿Arman muebles a domicilio en Guadalajara?",
            "How much does the B2 exam cost?",
            "When is the deadline to apply for a start in January?",
            "",
            "?!",
        ] {
            assert!(!needs_earlier_messages(text), "{text}");
        }
    }

    #[test]
    fn earlier_messages_are_joined_back_to_one_that_stands_alone() {
        let earlier = [
            "Vocês abrem aos domingos de manhã?",
            "Vocês têm a vacina contra a gripe?",
            "E para bebês?",
        ];
        assert_eq!(
            join_earlier_messages("Quanto custa? ", earlier.into_iter()),
            "Quanto custa? E para bebês? Vocês têm a vacina contra a gripe?"
        );
        assert_eq!(join_earlier_messages("Dói?", std::iter::empty()), "Dói?");
        let long = "á".repeat(1_000);
        let joined = join_earlier_messages("Dói?", [long.as_str()].into_iter());
        assert_eq!(joined.chars().count(), 5 + JOINED_CHARS);
        assert_eq!(
            join_earlier_messages("E?", ["E?", " ", "oi", "oi"].into_iter()),
            "E? oi E?"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_judged_and_joined(text in ".{0,100}", earlier in proptest::collection::vec(".{0,400}", 0..5)) {
            needs_earlier_messages(&text);
            let joined = join_earlier_messages(&text, earlier.iter().map(String::as_str));
            prop_assert!(joined.starts_with(text.trim()));
        }
    }
}
