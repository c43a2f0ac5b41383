//! The words by which a message is judged, and those of people who book. They are Portuguese, Spanish and English, without accents and
//! in small letters.

use crate::phrases::{Phrases, list_phrases};

/// Words that open a greeting, and those that go with them.
pub(super) static GREETINGS: Phrases = Phrases::new(|| list_phrases(include_str!("words/greetings.txt")));

/// Questions after how somebody is: they belong to the greeting.
pub(super) static PHATIC: Phrases = Phrases::new(|| list_phrases(include_str!("words/phatic.txt")));

/// Words after which more must come.
pub(super) static DANGLING: Phrases = Phrases::new(|| list_phrases(include_str!("words/dangling.txt")));

/// Beginnings that announce a question and ask nothing yet. A message that ends with one is a fragment.
pub(super) static LEAD_INS: Phrases = Phrases::new(|| list_phrases(include_str!("words/lead_ins.txt")));

/// Words that may stand behind the question how somebody is.
pub(super) static WITH_YOU: Phrases = Phrases::new(|| list_phrases(include_str!("words/with_you.txt")));

/// Words that tell that something is about to be sent, or that the writer asks for a moment.
pub(super) static ANNOUNCEMENTS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/announcements.txt")));

/// Short messages that end an exchange.
pub(super) static CLOSINGS: Phrases = Phrases::new(|| list_phrases(include_str!("words/closings.txt")));

/// Words of somebody who is about to record something.
pub(super) static RECORDING: Phrases = Phrases::new(|| list_phrases(include_str!("words/recording.txt")));

/// Questions whether one may ask: the real question follows.
pub(super) static ASKS_TO_ASK: Phrases = Phrases::new(|| list_phrases(include_str!("words/asks_to_ask.txt")));

/// Words that may stand before one of those questions.
pub(super) static BEFORE_ASKING: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/before_asking.txt")));

/// Words that may stand behind one of those questions.
pub(super) static AFTER_ASKING: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/after_asking.txt")));

/// Thanks and other courtesies behind a question. Longer ones stand before those that they end with.
pub(super) static COURTESIES: Phrases = Phrases::new(|| list_phrases(include_str!("words/courtesies.txt")));

/// Questions that lack what they ask about: it often follows as a message of its own.
pub(super) static WITHOUT_OBJECT: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/without_object.txt")));

/// Words that ask with a question mark alone.
pub(super) static TOPICS: Phrases = Phrases::new(|| list_phrases(include_str!("words/topics.txt")));

/// Words with which a question begins that needs no question mark.
pub(super) static QUESTION_WORDS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/question_words.txt")));

/// Words behind "que" with which a question begins that needs no question mark.
pub(super) static ASKED_WITH_WHAT: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/asked_with_what.txt")));

/// Pairs of words with which a question begins that needs no question mark.
pub(super) static QUESTION_PAIRS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/question_pairs.txt")));

/// Words for the business that is asked.
pub(super) static YOU: Phrases = Phrases::new(|| list_phrases(include_str!("words/you.txt")));

/// Verbs with which a business is asked what it does, without a question mark.
pub(super) static OFFERS: Phrases = Phrases::new(|| list_phrases(include_str!("words/offers.txt")));

/// Words that may stand before the word with which a question begins.
pub(super) static BEFORE_QUESTION: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/before_question.txt")));

/// Parts of questions that are answered by a story.
pub(super) static ASKS_FOR_STORY: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/asks_for_story.txt")));

/// Verbs with which a business asks for an answer without a question mark.
pub(super) static ANSWER_VERBS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/answer_verbs.txt")));

/// Words of somebody who wants something.
pub(super) static WANTS: Phrases = Phrases::new(|| list_phrases(include_str!("words/wants.txt")));

/// Verbs with which something is booked.
pub(super) static BOOKS: Phrases = Phrases::new(|| list_phrases(include_str!("words/books.txt")));

/// Verbs with which something is cancelled.
pub(super) static CANCELS: Phrases = Phrases::new(|| list_phrases(include_str!("words/cancels.txt")));

/// Verbs with which something is moved to another time.
pub(super) static MOVES: Phrases = Phrases::new(|| list_phrases(include_str!("words/moves.txt")));

/// Articles and other words before what is booked.
pub(super) static ARTICLES: Phrases = Phrases::new(|| list_phrases(include_str!("words/articles.txt")));

/// Words for things that are booked.
pub(super) static APPOINTMENTS: Phrases =
    Phrases::new(|| list_phrases(include_str!("words/appointments.txt")));

/// Names of days and of parts of the day.
pub(super) static DAYS: Phrases = Phrases::new(|| list_phrases(include_str!("words/days.txt")));

/// Words before the number of a day or an hour.
pub(super) static BEFORE_TIME: Phrases = Phrases::new(|| list_phrases(include_str!("words/before_time.txt")));
