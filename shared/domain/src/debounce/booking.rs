//! Words of people who book: requests for an appointment and times; and which of the business's messages ask for a short answer.

use super::words;
use crate::content::Content;
use crate::folding::{fold_text, split_words};

/// Longest part of the business's message, from its end, in which a question is looked for, in characters.
const ASKED_CHARS_MAX: usize = 400;

/// Returns `true` if `content`, which the business wrote, asks a question that a short message answers: what time, which option, yes
/// or no. "How can I help?" asks for a story, which people tell in many messages.
pub fn asks_short_answer(content: &Content) -> bool {
    if content.offers_options() {
        return true;
    }
    let Content::Text { text } = content else {
        return false;
    };
    let skipped = text.chars().count().saturating_sub(ASKED_CHARS_MAX);
    let end = text.char_indices().nth(skipped).map_or("", |(at, _)| &text[at..]);
    let folded = fold_text(end);
    if words::ASKS_FOR_STORY.iter().any(|phrase| folded.contains(phrase)) {
        return false;
    }
    let all: Vec<&str> = split_words(&folded).collect();
    let asks_to_answer = all.iter().any(|word| words::ANSWER_VERBS.contains(word));
    folded.contains('?') || asks_to_answer || lists_options(&folded) || count_clock_times(&folded, &all) > 1
}

/// Returns `true` if at least two lines begin with a number.
fn lists_options(folded: &str) -> bool {
    let numbered = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    folded.lines().filter(numbered).count() > 1
}

/// Returns the number of times of the clock in a text: `15h`, `3pm`, `10:30`, and numbers behind a preposition.
fn count_clock_times(folded: &str, all: &[&str]) -> usize {
    let ends_digit = |text: &str| text.ends_with(|c: char| c.is_ascii_digit());
    let mut parts = folded.split(':').peekable();
    let mut with_colon = 0;
    while let Some(before) = parts.next() {
        let after = parts.peek().and_then(|after| after.get(..2));
        let has_minutes = after.is_some_and(|after| after.bytes().all(|byte| byte.is_ascii_digit()));
        with_colon += usize::from(ends_digit(before) && has_minutes);
    }
    let words = all.iter().filter(|word| is_clock_time(word)).count();
    with_colon + words + all.windows(2).filter(|pair| is_time_behind(pair)).count()
}

/// Returns `true` for a number behind a word such as "at".
fn is_time_behind(pair: &[&str]) -> bool {
    let [before, number] = pair else { return false };
    let is_number = (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && words::BEFORE_TIME.contains(before)
}

/// Returns `true` for `15h`, `15h30`, `3pm`, `10am`, `16hs`.
fn is_clock_time(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = word.split_at(digits);
    if !(1..=2).contains(&number.len()) {
        return false;
    }
    match unit {
        "h" | "hs" | "hrs" | "am" | "pm" => true,
        _ => unit
            .strip_prefix('h')
            .is_some_and(|minutes| minutes.len() == 2 && minutes.bytes().all(|byte| byte.is_ascii_digit())),
    }
}

/// Returns `true` if `all` name a day or a time.
pub(super) fn names_time(all: &[&str]) -> bool {
    let is_day = |word: &str| words::DAYS.contains(&word) || is_clock_time(word) || is_ordinal_day(word);
    all.iter().any(|word| is_day(word)) || all.windows(2).any(is_time_behind)
}

/// Returns `true` for `14th`, `1st`, `2nd`, `3rd`.
fn is_ordinal_day(word: &str) -> bool {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let number = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    number && matches!(&word[digits.len()..], "st" | "nd" | "rd" | "th")
}

/// Returns `true` for a whole request about an appointment: one that says what is booked ("I want to book a haircut"), what is
/// cancelled ("cancel my appointment"), or to when something is moved ("move my class to Friday").
pub(super) fn is_request(all: &[&str]) -> bool {
    let wants = |before: &[&str]| before.is_empty() || before.iter().any(|word| words::WANTS.contains(word));
    let by_verb = all.iter().enumerate().any(|(place, verb)| {
        let (before, after) = (&all[..place], &all[place + 1..]);
        wants(before) && is_whole_object(verb, after)
    });
    // "I need an appointment" has no verb of booking.
    let by_noun = all.iter().enumerate().any(|(place, want)| {
        let after = &all[place + 1..];
        let rest = match after {
            ["de" | "hacer" | "fazer", rest @ ..] => rest,
            _ => after,
        };
        words::WANTS.contains(want) && is_appointment(rest)
    });
    by_verb || by_noun
}

/// Returns `true` for an article and what can be booked.
fn is_appointment(part: &[&str]) -> bool {
    matches!(part, [article, noun, ..] if words::ARTICLES.contains(article) && words::APPOINTMENTS.contains(noun))
}

/// Returns `true` if `after` names all that the verb of a request needs.
fn is_whole_object(verb: &str, after: &[&str]) -> bool {
    let names_what = || {
        let has_article = after.len() > 1 && words::ARTICLES.contains(&after[0]);
        has_article || after.iter().any(|word| words::APPOINTMENTS.contains(word))
    };
    if words::BOOKS.contains(&verb) {
        names_what()
    } else if words::CANCELS.contains(&verb) {
        !after.is_empty()
    } else {
        words::MOVES.contains(&verb) && names_time(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        split_words(&fold_text(text)).map(str::to_owned).collect()
    }

    fn judge(text: &str, by: fn(&[&str]) -> bool) -> bool {
        let words = split(text);
        by(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_request_is_whole_once_it_says_what_is_booked_or_cancelled_or_to_when_it_is_moved() {
        for (text, whole) in [
            ("quero marcar uma avaliação", true),
            ("gostaria de agendar um corte na sexta", true),
            ("preciso de um horário", true),
            ("quiero agendar una consulta", true),
            ("necesito un turno", true),
            ("I'd like to book a massage", true),
            ("I need an appointment", true),
            ("cancel my class", true),
            ("quero desmarcar minha consulta", true),
            ("preciso remarcar minha aula para quinta", true),
            ("I want to move my booking to the 14th", true),
            ("quero marcar", false),
            ("quero agendar para", false),
            ("preciso remarcar minha aula", false),
            ("need to cancel", false),
            ("eu marquei um horário", false),
            ("minha consulta", false),
            ("", false),
        ] {
            assert_eq!(judge(text, is_request), whole, "{text}");
        }
    }

    #[test]
    fn a_day_and_a_time_are_known_in_their_usual_forms() {
        for (text, names) in [
            ("às 15", true),
            ("15h30", true),
            ("3pm", true),
            ("dia 12", true),
            ("a las 9", true),
            ("the 2nd", true),
            ("terça", true),
            ("mañana", true),
            ("2 pizzas", false),
            ("555h", false),
            ("Maria", false),
        ] {
            assert_eq!(judge(text, names_time), names, "{text}");
        }
    }

    #[test]
    fn a_question_asks_for_a_short_answer_unless_it_asks_for_a_story() {
        for (text, asks) in [
            ("Qual horário você prefere?", true),
            ("Tenho livres: 9h, 10h e 15h.", true),
            ("Tengo libre a las 9 y 10:30.", true),
            ("I have 9:00 and 11:30.", true),
            ("Escolha:\n1. Corte\n2. Barba", true),
            ("Responda SIM para confirmar.", true),
            ("Please reply with your name.", true),
            ("Oi! Como posso ajudar?", false),
            ("Hello, how can I help you today?", false),
            ("¿En qué te puedo ayudar?", false),
            ("Agendado! Até amanhã.", false),
            ("", false),
        ] {
            assert_eq!(asks_short_answer(&Content::from_text(text)), asks, "{text}");
        }
    }
}
