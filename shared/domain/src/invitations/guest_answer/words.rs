//! The words and phrases by which a guest's answer is known, without accents and apostrophes and in small letters.

use crate::phrases::{Phrases, list_phrases};

/// Phrases that are written in another way before a clause is judged.
pub(super) const REPLACED: &[(&str, &str)] = &[
    (" se deus quiser ", " "),
    (" si dios quiere ", " "),
    (" god willing ", " "),
    (" primero dios ", " "),
    (" primeiramente deus ", " "),
    (" asi que ", " "),
    (" n vou ", " nao vou "),
    (" naum ", " nao "),
    (" vo sim ", " vou sim "),
    (" nois vai ", " nos vamos "),
    (" no me sera posible ", " no podre "),
    (" me es imposible ", " no puedo "),
    (" me sera imposible ", " no podre "),
    (" me resulta imposible ", " no puedo "),
];

/// Words that join two clauses, with spaces, in small letters.
pub(super) const BUT: &[&str] = &[" pero ", " mas ", " but ", " porém ", " sino que ", " aunque "];

/// Words with which a question begins that lacks its mark, or a condition.
pub(super) static QUESTION_BEGINNINGS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/question_beginnings.txt")));

/// Phrases that confirm, also where they contain a negation.
pub(super) static SURE: Phrases = Phrases::new(|| list_phrases(include_str!("words/sure.txt")));

/// Words of one who does not know yet, or answers later.
pub(super) static UNCERTAIN: Phrases = Phrases::new(|| list_phrases(include_str!("words/uncertain.txt")));

/// Beginnings of a condition, under which the rest of the message stands.
pub(super) static CONDITIONS: Phrases = Phrases::new(|| list_phrases(include_str!("words/conditions.txt")));

/// Negations.
pub(super) static NEGATIONS: Phrases = Phrases::new(|| list_phrases(include_str!("words/negations.txt")));

/// Phrases of which a negated clause must hold one to decline.
pub(super) static DECLINES: Phrases = Phrases::new(|| list_phrases(include_str!("words/declines.txt")));

/// Refusals without a negation.
pub(super) static PLAIN_DECLINES: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/plain_declines.txt")));

/// Verbs of other people.
pub(super) static OTHERS: Phrases = Phrases::new(|| list_phrases(include_str!("words/others.txt")));

/// Beginnings of a clause about somebody else.
pub(super) static OTHER_SUBJECTS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/other_subjects.txt")));

/// Clauses that confirm as a whole.
pub(super) static WHOLE_CONFIRMATIONS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/whole_confirmations.txt")));

/// Forms of "confirm" that confirm by themselves.
pub(super) static CONFIRMS: Phrases = Phrases::new(|| list_phrases(include_str!("words/confirms.txt")));

/// Forms of "confirm" that confirm where attendance is named.
pub(super) static CONFIRMS_ATTENDANCE: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/confirms_attendance.txt")));

/// Words for attendance.
pub(super) static ATTENDANCE: Phrases = Phrases::new(|| list_phrases(include_str!("words/attendance.txt")));

/// Objects of a confirmation that is about something else.
pub(super) static OTHER_OBJECTS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/other_objects.txt")));

/// Words that put a confirmation off.
pub(super) static LATER: Phrases = Phrases::new(|| list_phrases(include_str!("words/later.txt")));

/// Passive forms: something is confirmed, and not the guest.
pub(super) static CONFIRMED_BY_OTHERS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/confirmed_by_others.txt")));

/// Verbs of going that need a look at what follows.
pub(super) static GO: Phrases = Phrases::new(|| list_phrases(include_str!("words/go.txt")));

/// Words that may follow a verb of going.
pub(super) static AFTER_GO: Phrases = Phrases::new(|| list_phrases(include_str!("words/after_go.txt")));

/// Words between a verb of going and the place.
pub(super) static TO_PLACE: Phrases = Phrases::new(|| list_phrases(include_str!("words/to_place.txt")));

/// Places and feasts to which one is invited.
pub(super) static PLACES: Phrases = Phrases::new(|| list_phrases(include_str!("words/places.txt")));

/// Phrases that say that one comes.
pub(super) static COMES: Phrases = Phrases::new(|| list_phrases(include_str!("words/comes.txt")));

/// Whole clauses that say yes.
pub(super) static YES: Phrases = Phrases::new(|| list_phrases(include_str!("words/yes.txt")));

/// Whole clauses that say no.
pub(super) static NO: Phrases = Phrases::new(|| list_phrases(include_str!("words/no.txt")));

/// Whole clauses that cancel an appointment.
pub(super) static CANCELLATIONS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/cancellations.txt")));

/// Whole clauses of politeness before an answer.
pub(super) static POLITE: Phrases = Phrases::new(|| list_phrases(include_str!("words/polite.txt")));

/// Words that are forgiven one typing error.
pub(super) static MISTYPED: Phrases = Phrases::new(|| list_phrases(include_str!("words/mistyped.txt")));

/// Words that differ from those by one letter and mean something else.
pub(super) static NO_TYPOS: Phrases = Phrases::new(|| list_phrases(include_str!("words/no_typos.txt")));
