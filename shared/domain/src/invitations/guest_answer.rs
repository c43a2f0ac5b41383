//! Recognizes by rules whether a guest's message confirms or declines an invitation, in Portuguese, Spanish and English.
//!
//! A message is split into clauses. A clause confirms if it says so in the first person and is no question, no condition and no
//! announcement of a later answer. Clauses that contradict each other leave the guest's status as it is.

mod words;

use crate::folding::{fold_text, split_words};
use serde::{Deserialize, Serialize};

/// The answer of a guest to an invitation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestAnswer {
    /// The guest comes.
    Confirms,
    /// The guest does not come.
    Declines,
}

/// Longest message that is judged, in characters. A longer one is hardly a plain answer.
const CHARS_MAX: usize = 600;

/// Fewest letters of a word in which one typing error is forgiven.
const TYPO_LETTERS_MIN: usize = 6;

/// Returns what a message says about coming; `None` if it says neither. `is_first_answer`: the message before it was the
/// invitation, so that a plain yes or no is meant for it.
pub fn recognize_answer(text: &str, is_first_answer: bool) -> Option<GuestAnswer> {
    if text.chars().count() > CHARS_MAX {
        return None;
    }
    let clauses = split_clauses(text);
    let is_condition = |clause: &Clause| !clause.is_question && clause.begins_with_any(&words::CONDITIONS);
    if clauses.iter().any(is_condition) {
        return None;
    }
    let mut found: Vec<GuestAnswer> = clauses.iter().filter_map(judge_clause).collect();
    if found.is_empty() && is_first_answer {
        found.extend(judge_plain_answer(text));
    }
    let first = *found.first()?;
    found.iter().all(|answer| *answer == first).then_some(first)
}

/// Returns what an answer to a reminder of an appointment says: that the person comes, or wants it cancelled; `None` if it says
/// neither. The rules are those of invitations, with the words for a cancellation.
pub fn recognize_appointment_answer(text: &str) -> Option<GuestAnswer> {
    let found = recognize_answer(text, true);
    let clauses = split_clauses(text);
    let is_asked = |clause: &Clause| clause.is_question || clause.begins_with_any(&words::CONDITIONS);
    if found.is_some() || text.chars().count() > CHARS_MAX || clauses.iter().any(is_asked) {
        return found;
    }
    let says = clauses
        .iter()
        .any(|clause| clause.is_one_of(&words::CANCELLATIONS));
    says.then_some(GuestAnswer::Declines)
}

/// A part of a message, folded and with one space around each word.
struct Clause {
    text: String,
    is_question: bool,
}

impl Clause {
    fn new(text: &str, is_question: bool) -> Self {
        let folded = fold_text(&text.replace(['’', '‘', '´', '`'], "'"));
        let words: Vec<String> = split_words(&folded).map(normalize_word).collect();
        let mut text = format!(" {} ", words.join(" "));
        for (phrase, plain) in words::REPLACED {
            text = text.replace(phrase, plain);
        }
        Self { text, is_question }
    }

    fn has_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.has_phrase(phrase))
    }

    fn has_phrase(&self, phrase: &str) -> bool {
        self.text.contains(&format!(" {phrase} "))
    }

    fn begins_with_any(&self, phrases: &[&str]) -> bool {
        phrases
            .iter()
            .any(|phrase| self.text.starts_with(&format!(" {phrase} ")))
    }

    fn is_one_of(&self, phrases: &[&str]) -> bool {
        phrases.contains(&self.text.trim())
    }
}

/// Splits a message into clauses, at punctuation and before "but". A question mark ends a question that begins at `¿` or after
/// the punctuation before it.
fn split_clauses(text: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    let mut rest = String::new();
    for c in text.chars() {
        match c {
            '?' => clauses.extend(make_clauses(&std::mem::take(&mut rest), true)),
            '¿' | '.' | ',' | ';' | ':' | '!' | '¡' | '\n' | '(' | ')' | '—' | '–' => {
                clauses.extend(make_clauses(&std::mem::take(&mut rest), false));
            }
            other => rest.push(other),
        }
    }
    clauses.extend(make_clauses(&rest, false));
    clauses
}

/// Makes the clauses of a text without punctuation: one, or two joined by "but".
fn make_clauses(text: &str, is_question: bool) -> Vec<Clause> {
    let folded = text.to_lowercase();
    let parts = words::BUT.iter().fold(vec![folded.as_str()], |parts, but| {
        parts.into_iter().flat_map(|part| part.split(*but)).collect()
    });
    let clauses = parts.into_iter().map(|part| Clause::new(part, is_question));
    clauses.filter(|clause| !clause.text.trim().is_empty()).collect()
}

/// Writes letters of a word once where they are drawn out. Writes a mistyped word of a confirmation as it is meant.
fn normalize_word(word: &str) -> String {
    let mut plain = String::new();
    let characters: Vec<char> = word.chars().collect();
    for (place, character) in characters.iter().enumerate() {
        let same = |other: Option<&char>| other == Some(character);
        let is_drawn_out = |from: usize| (from..from + 3).all(|at| same(characters.get(at)));
        let in_run = (place.saturating_sub(2)..=place).any(is_drawn_out);
        if !(in_run && place > 0 && characters[place - 1] == *character) {
            plain.push(*character);
        }
    }
    if plain.chars().count() < TYPO_LETTERS_MIN || words::NO_TYPOS.contains(&plain.as_str()) {
        return plain;
    }
    let meant = words::MISTYPED.iter().find(|known| is_one_typo(&plain, known));
    meant.map_or(plain, |known| (*known).to_owned())
}

/// Returns `true` if one letter is missing, added, wrong or swapped with the next. The first letter must be right.
fn is_one_typo(written: &str, meant: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
    if a.len().abs_diff(b.len()) > 1 || a.first() != b.first() {
        return false;
    }
    let same = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let (x, y) = (&a[same..], &b[same..]);
    match (x.len(), y.len()) {
        (0, 0) => true,
        (left, right) if left == right => {
            x[1..] == y[1..] || (left > 1 && x[0] == y[1] && x[1] == y[0] && x[2..] == y[2..])
        }
        (left, right) if left < right => *x == y[1..],
        _ => x[1..] == *y,
    }
}

/// Returns what one clause says about coming.
fn judge_clause(clause: &Clause) -> Option<GuestAnswer> {
    if clause.is_question || clause.begins_with_any(&words::QUESTION_BEGINNINGS) {
        return None;
    }
    if clause.has_any(&words::SURE) {
        return Some(GuestAnswer::Confirms);
    }
    if clause.has_any(&words::UNCERTAIN) {
        return None;
    }
    if clause.has_any(&words::NEGATIONS) {
        return clause.has_any(&words::DECLINES).then_some(GuestAnswer::Declines);
    }
    if clause.has_any(&words::PLAIN_DECLINES) {
        return Some(GuestAnswer::Declines);
    }
    if clause.has_any(&words::OTHERS) || clause.begins_with_any(&words::OTHER_SUBJECTS) {
        return None;
    }
    if confirms_by_verb(clause) || says_going(clause) || clause.has_any(&words::COMES) {
        return Some(GuestAnswer::Confirms);
    }
    None
}

/// Returns `true` if the clause confirms attendance by the verb "confirm", and no address, time or receipt.
fn confirms_by_verb(clause: &Clause) -> bool {
    if clause.is_one_of(&words::WHOLE_CONFIRMATIONS) {
        return true;
    }
    let is_about_attendance = clause.has_any(&words::ATTENDANCE);
    let is_about_others = clause.has_any(&words::OTHER_OBJECTS) && !is_about_attendance;
    let is_later = clause.has_any(&words::LATER) && !is_about_attendance;
    if is_about_others || is_later || clause.has_any(&words::CONFIRMED_BY_OTHERS) {
        return false;
    }
    clause.has_any(&words::CONFIRMS) || (is_about_attendance && clause.has_any(&words::CONFIRMS_ATTENDANCE))
}

/// Returns `true` if the clause says "I go" or "we go", and the words after it do not change that.
fn says_going(clause: &Clause) -> bool {
    words::GO.iter().any(|go| {
        let Some((_, after)) = clause.text.split_once(&format!(" {go} ")) else {
            return false;
        };
        let after = format!(" {after}");
        after.trim().is_empty()
            || words::AFTER_GO
                .iter()
                .any(|next| after.starts_with(&format!(" {next} ")))
            || (words::TO_PLACE
                .iter()
                .any(|to| after.starts_with(&format!(" {to} ")))
                && words::PLACES
                    .iter()
                    .any(|place| after.contains(&format!(" {place} "))))
    })
}

/// Returns the answer of a message that is a plain yes or no, with thanks or a question at most.
fn judge_plain_answer(text: &str) -> Option<GuestAnswer> {
    let yes_marks = text.contains(['✅', '👍', '✔', '🙌', '👌', '☑']);
    let no_marks = text.contains(['❌', '👎', '🙅']);
    let clauses = split_clauses(text);
    if clauses.is_empty() {
        return match (yes_marks, no_marks) {
            (true, false) => Some(GuestAnswer::Confirms),
            (false, true) => Some(GuestAnswer::Declines),
            _ => None,
        };
    }
    if clauses.iter().any(|clause| clause.has_any(&words::UNCERTAIN)) {
        return None;
    }
    let first = clauses
        .iter()
        .find(|clause| !clause.is_question && !clause.is_one_of(&words::POLITE))?;
    let others_ask = |clause: &Clause| clause.is_question && clause.is_one_of(&words::YES);
    if clauses.iter().any(others_ask) {
        return None;
    }
    if first.is_one_of(&words::YES) {
        Some(GuestAnswer::Confirms)
    } else {
        first.is_one_of(&words::NO).then_some(GuestAnswer::Declines)
    }
}

#[cfg(test)]
mod tests;
