//! Labels and notes, which people write beside a conversation for each other. Nothing of it is sent, and no model reads it.
//!
//! Both lie in the conversation's record, so that they go where it goes. Each message writes that record, so both are short.

use super::Conversation;
use crate::ids::TokenName;
use crate::millis;
use crate::text_conversions::text_conversions;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Maximum number of labels of a conversation.
const LABELS_MAX: usize = 10;

/// Longest label, in characters.
const LABEL_CHARACTERS_MAX: usize = 30;

/// Maximum number of notes of a conversation.
const NOTES_MAX: usize = 20;

/// Longest note, in characters.
const NOTE_CHARACTERS_MAX: usize = 1_000;

/// Longest that the notes of a conversation are together, in characters.
const ALL_NOTES_CHARACTERS_MAX: usize = 4_000;

/// The reasons why a label or a note is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AnnotationError {
    /// The label is no single word.
    #[error("a label is one word of 1 to {LABEL_CHARACTERS_MAX} letters, digits, `-` and `_`")]
    LabelForm,
    /// The conversation would have more labels than it may.
    #[error("a conversation has at most {LABELS_MAX} labels")]
    TooManyLabels,
    /// The note is empty or too long.
    #[error("a note has 1 to {NOTE_CHARACTERS_MAX} characters")]
    NoteLength,
    /// The conversation holds as many notes as it may.
    #[error(
        "a conversation has at most {NOTES_MAX} notes of {ALL_NOTES_CHARACTERS_MAX} characters together: delete one first"
    )]
    NotesFull,
}

impl AnnotationError {
    /// Returns `true` if the request itself is wrong, whatever the conversation holds.
    pub fn is_of_request(self) -> bool {
        matches!(self, Self::LabelForm | Self::NoteLength)
    }
}

/// A word that people gave a conversation, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationLabel(String);

impl ConversationLabel {
    /// Parses a label. Upper case becomes lower case, so that a word is one label.
    pub fn parse(text: &str) -> Result<Self, AnnotationError> {
        let text = text.trim().to_lowercase();
        let length = text.chars().count();
        let is_word = text
            .chars()
            .all(|one| one.is_alphanumeric() || "-_".contains(one));
        if !is_word || !(1..=LABEL_CHARACTERS_MAX).contains(&length) {
            return Err(AnnotationError::LabelForm);
        }
        Ok(Self(text))
    }

    /// Returns the label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(ConversationLabel(String), AnnotationError);

/// A note of a person for other people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNote {
    /// The number in the conversation, from 1. It is given once.
    pub number: u64,
    /// Name of the token with which it was written.
    pub by: TokenName,
    /// Time at which it was written.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Text of the person. It may hold personal data.
    pub text: String,
}

/// The labels and notes of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<ConversationLabel>,
    /// The notes, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<PersonNote>,
    /// The newest number given to a note.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub last_note: u64,
}

impl Conversation {
    /// Removes the labels `remove`, and adds the labels `add`. Returns `false` if nothing changed.
    pub fn change_labels(
        &mut self,
        add: &BTreeSet<ConversationLabel>,
        remove: &BTreeSet<ConversationLabel>,
    ) -> Result<bool, AnnotationError> {
        let kept = self.people.annotations.labels.difference(remove);
        let labels: BTreeSet<ConversationLabel> = kept.chain(add).cloned().collect();
        if labels == self.people.annotations.labels {
            return Ok(false);
        }
        if labels.len() > LABELS_MAX {
            return Err(AnnotationError::TooManyLabels);
        }
        self.people.annotations.labels = labels;
        Ok(true)
    }

    /// Returns the newest note, if it is this person's and says the same: a request that is repeated adds no second one.
    pub fn find_repeated_note(&self, by: &TokenName, text: &str) -> Option<&PersonNote> {
        let newest = self.people.annotations.notes.last()?;
        (newest.by == *by && newest.text == text.trim()).then_some(newest)
    }

    /// Adds a note of a person.
    pub fn add_person_note(
        &mut self,
        by: &TokenName,
        text: &str,
        at: Timestamp,
    ) -> Result<PersonNote, AnnotationError> {
        let text = text.trim();
        let length = text.chars().count();
        if !(1..=NOTE_CHARACTERS_MAX).contains(&length) {
            return Err(AnnotationError::NoteLength);
        }
        let notes = &mut self.people.annotations.notes;
        let used: usize = notes.iter().map(|note| note.text.chars().count()).sum();
        if notes.len() >= NOTES_MAX || used + length > ALL_NOTES_CHARACTERS_MAX {
            return Err(AnnotationError::NotesFull);
        }
        self.people.annotations.last_note += 1;
        let note = PersonNote {
            number: self.people.annotations.last_note,
            by: by.clone(),
            at,
            text: text.to_owned(),
        };
        notes.push(note.clone());
        Ok(note)
    }

    /// Removes a note. Returns `false` if there is none of this number.
    pub fn remove_person_note(&mut self, number: u64) -> bool {
        let before = self.people.annotations.notes.len();
        self.people.annotations.notes.retain(|note| note.number != number);
        self.people.annotations.notes.len() < before
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    fn labels(words: &[&str]) -> BTreeSet<ConversationLabel> {
        words
            .iter()
            .map(|word| ConversationLabel::parse(word).unwrap())
            .collect()
    }

    fn ana() -> TokenName {
        TokenName::parse("ana").unwrap()
    }

    #[test]
    fn a_label_is_one_short_word_in_lower_case() {
        assert_eq!(ConversationLabel::parse(" Retorno ").unwrap().as_str(), "retorno");
        assert_eq!(
            ConversationLabel::parse("atenção_2").unwrap().as_str(),
            "atenção_2"
        );
        for refused in ["", "  ", "two words", "<b>", "a,b", &"a".repeat(31)] {
            assert_eq!(
                ConversationLabel::parse(refused),
                Err(AnnotationError::LabelForm),
                "{refused}"
            );
        }
        assert!(serde_json::from_str::<ConversationLabel>("\"<script>\"").is_err());
    }

    #[test]
    fn labels_are_added_and_removed_and_limited() {
        let mut c = conversation();
        assert_eq!(
            c.change_labels(&labels(&["vip", "refund"]), &labels(&[])),
            Ok(true)
        );
        assert_eq!(
            c.change_labels(&labels(&["vip"]), &labels(&["unknown"])),
            Ok(false)
        );
        assert_eq!(c.change_labels(&labels(&["new"]), &labels(&["refund"])), Ok(true));
        assert_eq!(c.people.annotations.labels, labels(&["new", "vip"]));
        let many: Vec<String> = (0..9).map(|number| format!("l{number}")).collect();
        let many = many.iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(
            c.change_labels(&labels(&many), &labels(&[])),
            Err(AnnotationError::TooManyLabels)
        );
        assert_eq!(
            c.people.annotations.labels,
            labels(&["new", "vip"]),
            "nothing of it was done"
        );
    }

    #[test]
    fn a_number_is_given_to_one_note_alone() {
        let mut c = conversation();
        let first = c
            .add_person_note(&ana(), " pays later ", from_unix_millis(1))
            .unwrap();
        assert_eq!((first.number, first.text.as_str()), (1, "pays later"));
        assert_eq!(c.find_repeated_note(&ana(), "pays later"), Some(&first));
        let other = TokenName::parse("beto").unwrap();
        assert_eq!(c.find_repeated_note(&other, "pays later"), None);
        assert!(c.remove_person_note(1) && !c.remove_person_note(1));
        let second = c
            .add_person_note(&ana(), "pays later", from_unix_millis(2))
            .unwrap();
        assert_eq!(second.number, 2, "who deletes 1 again must not delete this one");
    }

    #[test]
    fn notes_are_limited_alone_and_together() {
        let mut c = conversation();
        let long = "x".repeat(NOTE_CHARACTERS_MAX);
        let mut add = |text: &str| c.add_person_note(&ana(), text, from_unix_millis(1));
        assert_eq!(add("  "), Err(AnnotationError::NoteLength));
        assert_eq!(add(&"x".repeat(1_001)), Err(AnnotationError::NoteLength));
        (0..4).for_each(|_| assert!(add(&long).is_ok()));
        assert_eq!(add("one more"), Err(AnnotationError::NotesFull));
        assert!(c.remove_person_note(1));
        (0..17).for_each(|_| assert!(c.add_person_note(&ana(), "short", from_unix_millis(2)).is_ok()));
        let one_more = c.add_person_note(&ana(), "short", from_unix_millis(2));
        assert_eq!(one_more, Err(AnnotationError::NotesFull));
    }
}
