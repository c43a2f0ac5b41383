//! Judges how complete a message reads, by its punctuation, its first and last words and its kind.

use super::booking::{is_request, names_time};
use super::words;
use crate::content::{Content, Media, MediaKind};
use crate::folding::{fold_text, split_words};
use crate::invitations::recognize_appointment_answer;

/// How complete a message reads: whether its author is likely to write on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// A complete question, or a choice from a menu.
    Complete,
    /// Thanks, a correction, a voice message, a yes or no. Also a whole request for an appointment, a short answer to a question, and a
    /// question that does not say what it is about ("how much?").
    Finished,
    /// A greeting alone.
    Greeting,
    /// A statement that may be all, or a question whether one may ask.
    Open,
    /// A part of something: very short, or its end asks for more.
    Fragment,
    /// An announcement of something that takes its author time.
    Announced,
}

impl Completeness {
    /// Judges a message's content. `asked`: the business's newest message asked a question that a short message answers.
    pub fn judge(content: &Content, asked: bool) -> Self {
        match content {
            Content::Text { text } => judge_text(text, asked),
            Content::Media(media) => judge_media(media, asked),
            Content::Edit { content, .. } => Self::judge(content, asked),
            Content::Choice { .. } | Content::Form { .. } | Content::PollVote { .. } | Content::Order(_) => {
                Self::Complete
            }
            Content::Location(_) => Self::Finished,
            Content::Contacts { .. } => Self::Fragment,
            _ => Self::Open,
        }
    }
}

/// A file without words is usually explained by the next message; with words, these decide.
fn judge_media(media: &Media, asked: bool) -> Completeness {
    let caption = media
        .caption
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    match (media.media, caption) {
        (_, Some(caption)) => judge_text(caption, asked),
        (MediaKind::Audio | MediaKind::Voice, None) => Completeness::Finished,
        (MediaKind::Sticker, None) => Completeness::Open,
        (_, None) => Completeness::Fragment,
    }
}

/// Judges a text. `asked` is as in [`Completeness::judge`].
fn judge_text(text: &str, asked: bool) -> Completeness {
    let written = text.trim();
    if is_correction(written) {
        return Completeness::Finished;
    }
    let folded = fold_text(written);
    let without_courtesy = cut_courtesy(&folded);
    let is_question = without_courtesy.ends_with('?');
    let text = if is_question {
        without_courtesy
    } else {
        folded.as_str()
    };
    let all: Vec<&str> = split_words(text).collect();
    let last: Vec<&str> = split_words(last_sentence(text)).collect();
    let (whole, ending) = (strip_greeting(&all), strip_greeting(&last));
    // "👍"
    if all.is_empty() && recognize_appointment_answer(written).is_some() {
        return Completeness::Finished;
    }
    if whole.is_empty() || asks_how_somebody_is(text, &all) {
        return Completeness::Greeting;
    }
    if asks_to_ask(if ending.is_empty() { whole } else { ending }) {
        return Completeness::Open;
    }
    if is_question {
        return judge_question(ending, whole);
    }
    let ending = if ending.is_empty() { whole } else { ending };
    let statement = Statement {
        written,
        folded: &folded,
        whole,
        ending,
    };
    statement.judge(asked)
}

/// A text that ends without a question mark.
struct Statement<'a> {
    /// The text as it was written.
    written: &'a str,
    /// The text in small letters without accents.
    folded: &'a str,
    /// The words of the text behind its greeting.
    whole: &'a [&'a str],
    /// The words of its last sentence.
    ending: &'a [&'a str],
}

impl Statement<'_> {
    /// Judges the text by its words and by those of its last sentence.
    fn judge(&self, asked: bool) -> Completeness {
        let (whole, ending) = (self.whole, self.ending);
        if is_announcement(ending) {
            return Completeness::Announced;
        }
        if has_open_end(self.folded) {
            return Completeness::Fragment;
        }
        let says_no = asked && whole.len() <= 3 && matches!(whole.last(), Some(&("no" | "si" | "a")));
        if says_no || words::CLOSINGS.contains(&whole.join(" ").as_str()) || self.is_all_closings() {
            return Completeness::Finished;
        }
        if self.ends_with_dangling_word() {
            return Completeness::Fragment;
        }
        // Before the beginnings of questions: "una consulta" is a question, or what somebody books.
        if is_request(whole) || is_request(ending) {
            return Completeness::Finished;
        }
        if ends_with_any(ending, &words::LEAD_INS) {
            return Completeness::Fragment;
        }
        if is_bare_question(whole) || is_bare_question(ending) {
            return Completeness::Complete;
        }
        // "It is easier if I record it": the voice message takes its author time.
        if ending.iter().any(|word| words::RECORDING.contains(word)) || records_it(ending) {
            return Completeness::Announced;
        }
        if asked || recognize_appointment_answer(self.written).is_some() {
            return Completeness::Finished;
        }
        if whole.len() < 3 && !self.folded.ends_with(['.', '!']) {
            return Completeness::Fragment;
        }
        Completeness::Open
    }

    /// Returns `true` for "great, see you" and "perfect, thanks a lot!".
    fn is_all_closings(&self) -> bool {
        let mut parts = self.folded.split([',', '.', '!', ';', '\n']).map(trim_marks);
        let is_closing = |part: &str| words::CLOSINGS.contains(&part.trim()) || cut_courtesy(part).is_empty();
        parts.all(is_closing)
    }

    /// Returns `true` if more must come after the last word.
    fn ends_with_dangling_word(&self) -> bool {
        let dangles = self
            .ending
            .last()
            .is_some_and(|last| words::DANGLING.contains(last));
        dangles && !self.folded.ends_with(['.', '!'])
    }
}

/// Judges a text that ends with a question mark.
fn judge_question(ending: &[&str], whole: &[&str]) -> Completeness {
    let words = if ending.is_empty() { whole } else { ending };
    let text = words.join(" ");
    if ends_with_any(words, &words::LEAD_INS) || words::DANGLING.contains(&text.as_str()) {
        return Completeness::Fragment;
    }
    // "Price?" and "Tomorrow?" ask; "Maria?" calls somebody.
    if words.len() < 2 && !words::TOPICS.contains(&text.as_str()) && !names_time(words) {
        return Completeness::Open;
    }
    if words::WITHOUT_OBJECT.contains(&text.as_str()) {
        return Completeness::Finished;
    }
    Completeness::Complete
}

/// Returns `true` for `*word` and `word*`, with which a mistyped word is corrected.
fn is_correction(text: &str) -> bool {
    let starred = text.strip_prefix('*').or_else(|| text.strip_suffix('*'));
    starred.is_some_and(|rest| !rest.is_empty() && rest.split_whitespace().count() <= 4)
        && text.matches('*').count() == 1
}

/// Leaves out thanks and "please" behind a text, and all marks at its end but question marks.
fn cut_courtesy(folded: &str) -> &str {
    let mut rest = trim_marks(folded);
    while let Some(shorter) = words::COURTESIES.iter().find_map(|courtesy| {
        let shorter = rest.strip_suffix(courtesy)?;
        (!shorter.ends_with(char::is_alphanumeric)).then_some(shorter)
    }) {
        rest = trim_marks(shorter);
    }
    rest
}

fn trim_marks(text: &str) -> &str {
    text.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '?')
}

/// Returns `true` for a greeting that ends with "how are you". A name may stand before that question, and "with you" after it.
fn asks_how_somebody_is(text: &str, all: &[&str]) -> bool {
    if text.trim_end_matches('?').contains('?') {
        return false;
    }
    let greets = all.first().is_some_and(|word| words::GREETINGS.contains(word));
    let parts = text.split([',', '.', '!', '?', '\n', ';']);
    let mut parts = parts.filter(|part| part.contains(char::is_alphanumeric));
    let last: Vec<&str> = parts.next_back().map(split_words).into_iter().flatten().collect();
    if is_how_are_you(&last) {
        return greets || last.len() == all.len();
    }
    // "Oi Carla tudo bem" has no comma.
    greets && (1..=4).any(|begin| all.get(begin..).is_some_and(is_how_are_you))
}

/// Returns `true` if `words` ask how somebody is, and nothing else.
fn is_how_are_you(words: &[&str]) -> bool {
    let phrases = words::PHATIC
        .iter()
        .map(|phrase| phrase.split(' ').collect::<Vec<_>>());
    let mut rests = phrases.filter_map(|phrase| words.strip_prefix(phrase.as_slice()));
    rests.any(|rest| rest.iter().all(|word| words::WITH_YOU.contains(word)))
}

/// Returns `true` for a question whether one may ask, or whether somebody is there.
fn asks_to_ask(words: &[&str]) -> bool {
    let before = |word: &&&str| words::BEFORE_ASKING.contains(word);
    let before = words.iter().take_while(before).count();
    let phrases = words::ASKS_TO_ASK.iter();
    let mut phrases = phrases.map(|phrase| phrase.split(' ').collect::<Vec<_>>());
    phrases.any(|phrase| {
        let mut rests = (0..=before).filter_map(|begin| words[begin..].strip_prefix(phrase.as_slice()));
        rests.any(|rest| rest.iter().all(|word| words::AFTER_ASKING.contains(word)))
    })
}

/// Returns the last sentence with words in it.
fn last_sentence(folded: &str) -> &str {
    let sentences = folded.split(['.', '!', '?', '\n', ';']);
    sentences
        .rev()
        .find(|sentence| sentence.chars().any(char::is_alphanumeric))
        .unwrap_or_default()
}

/// Returns `true` if the author is about to send something, or asks for a moment. A single word must stand alone: "look"
/// announces, "look for a size 40" does not.
fn is_announcement(words: &[&str]) -> bool {
    let text = format!(" {} ", words.join(" "));
    let mut announcements = words::ANNOUNCEMENTS.iter();
    announcements.any(|known| {
        if known.contains(' ') {
            text.contains(&format!(" {known} "))
        } else {
            text.trim() == *known
        }
    }) || matches!(
        words.first(),
        Some(&("segue" | "mandando" | "enviando" | "sending"))
    )
}

/// Returns `true` for "record it" and the like. ("My record" announces nothing.)
fn records_it(words: &[&str]) -> bool {
    let what = ["it", "this", "that", "one", "you", "a"];
    words
        .windows(2)
        .any(|pair| pair[0] == "record" && what.contains(&pair[1]))
}

/// Returns `true` if the last mark of a text tells that more comes.
fn has_open_end(folded: &str) -> bool {
    folded.ends_with([',', ':', '-', '…', '(', '/', '+']) || folded.ends_with("..")
}

fn ends_with_any(words: &[&str], endings: &[&str]) -> bool {
    let text = words.join(" ");
    endings.iter().any(|ending| {
        text.strip_suffix(ending)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
    })
}

/// Returns `true` for a question without a question mark: it begins as a question does, and is long enough.
fn is_bare_question(words: &[&str]) -> bool {
    let before = |word: &&&str| words::BEFORE_QUESTION.contains(word);
    let skipped = words.iter().take(2).take_while(before).count();
    let after_lead_in = words::LEAD_INS.iter().filter_map(|lead_in| {
        let lead_in: Vec<&str> = lead_in.split(' ').collect();
        words
            .strip_prefix(lead_in.as_slice())
            .or_else(|| words.get(1..)?.strip_prefix(lead_in.as_slice()))
    });
    let mut starts = after_lead_in.chain([words, &words[skipped..]]);
    starts.any(begins_as_question)
}

/// Returns `true` if `words` begin as a question does, and are long enough for a whole one.
fn begins_as_question(words: &[&str]) -> bool {
    let [first, second, _, ..] = words else {
        return false;
    };
    let question_word = words::QUESTION_WORDS.contains(first)
        || (*first == "que" && words::ASKED_WITH_WHAT.contains(second))
        || words::QUESTION_PAIRS.contains(&format!("{first} {second}").as_str());
    // "Vocês aceitam cartão", "aceptan tarjeta de crédito": whoever tells a business what it does asks.
    let asks_business = words::YOU.contains(first) && words::OFFERS.contains(second);
    let offers = words::OFFERS.contains(first) && !second.starts_with(|c: char| c.is_ascii_digit());
    asks_business || offers || (question_word && words.len() >= 4)
}

/// Leaves out the greeting at the beginning, with the question after how somebody is.
fn strip_greeting<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let greeting = words
        .iter()
        .take_while(|word| words::GREETINGS.contains(word))
        .count();
    let mut rest = &words[greeting..];
    let phatic = words::PHATIC
        .iter()
        .map(|phrase| phrase.split(' ').collect::<Vec<_>>())
        .filter(|phrase| rest.starts_with(phrase))
        .max_by_key(Vec::len);
    if let Some(phrase) = phatic
        && (greeting > 0 || phrase.len() == rest.len())
    {
        rest = &rest[phrase.len()..];
    }
    let again = rest
        .iter()
        .take_while(|word| words::GREETINGS.contains(word))
        .count();
    // Words such as "good" and "team" are a greeting only at the beginning.
    if greeting > 0 || again == rest.len() {
        &rest[again..]
    } else {
        rest
    }
}
