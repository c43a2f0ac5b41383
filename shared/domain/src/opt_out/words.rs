//! The words by which people stop messages, and want them again.
//!
//! Only a message that is such a word or request, and nothing else, counts: "STOP", "quero sair, por favor". A word inside a sentence
//! may mean anything ("posso parar o carro aí?"), and "cancelar" alone may mean an appointment.

use super::OptOutSource;
use super::requests::asks_to_stop;
use crate::content::{Content, SystemNote};
use crate::folding::{fold_text, split_words};
use crate::phrases::{Phrases, list_phrases};

/// A message that is about the contact's preference to get messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptOutWord {
    /// The contact wants no more unsolicited messages.
    Stop,
    /// The contact wants them again.
    Resume,
}

impl OptOutWord {
    /// Returns `true` for a stop.
    pub fn wants_no_messages(self) -> bool {
        self == Self::Stop
    }
}

/// Longest message that is compared, in characters: longer ones are no such word.
const LONGEST: usize = 80;

/// Words of courtesy and address that may stand beside, in any place, and change nothing.
const COURTESIES: [&str; 23] = [
    "por", "favor", "please", "pf", "pfv", "obrigado", "obrigada", "gracias", "thanks", "thank", "you",
    "ola", "oi", "hola", "hi", "gente", "galera", "pessoal", "amigo", "amiga", "moca", "moco", "oye",
];

/// Messages that stop, without courtesies, accents and capitals.
static STOPS: Phrases = Phrases::new(|| list_phrases(include_str!("words/stops.txt")));

/// Messages that want them again.
static RESUMES: Phrases = Phrases::new(|| list_phrases(include_str!("words/resumes.txt")));

/// Recognizes a message that stops messages or wants them again. `None`: the message is about something else.
pub fn recognize_opt_out(text: &str) -> Option<OptOutWord> {
    if text.chars().count() > LONGEST {
        return None;
    }
    let is_question = text.contains('?');
    let folded = fold_text(text);
    let words: Vec<&str> = split_words(&folded)
        .filter(|word| !COURTESIES.contains(word))
        .collect();
    if asks_to_stop(&words, is_question) {
        return Some(OptOutWord::Stop);
    }
    // "stop?" asks for something else.
    if is_question {
        return None;
    }
    let said = words.join(" ");
    if STOPS.contains(&said.as_str()) {
        return Some(OptOutWord::Stop);
    }
    RESUMES.contains(&said.as_str()).then_some(OptOutWord::Resume)
}

/// Recognizes a contact's preference in a message: such a word, a button that says it, or WhatsApp's own switch for marketing messages.
pub fn recognize_preference(content: &Content) -> Option<(OptOutWord, OptOutSource)> {
    match content {
        Content::Text { text } | Content::Choice { title: text, .. } => {
            recognize_opt_out(text).map(|word| (word, OptOutSource::Message))
        }
        Content::System {
            what: SystemNote::MarketingStopped,
            ..
        } => Some((OptOutWord::Stop, OptOutSource::WhatsAppSetting)),
        Content::System {
            what: SystemNote::MarketingResumed,
            ..
        } => Some((OptOutWord::Resume, OptOutSource::WhatsAppSetting)),
        _ => None,
    }
}
