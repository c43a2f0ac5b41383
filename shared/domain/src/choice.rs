//! Answers to questions that were sent as numbered text.
//!
//! A menu becomes numbered text where a provider cannot send it as a menu. The contact then answers "2", or with the words of
//! an option. What was typed stays the message's content; the option that it names is told beside it.

use crate::content::{ButtonKind, Content};
use crate::folding::fold_text;
use serde::{Deserialize, Serialize};

/// An option of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChosenOption {
    /// The id that the sender of the question gave to the option; `None` for an option of a poll.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The words of the option.
    pub title: String,
}

/// The longest answer that may name an option, in characters: no option is longer.
const ANSWER_MAX: usize = 300;

impl Content {
    /// Returns `true` if the content is a question with options to choose from.
    pub fn offers_options(&self) -> bool {
        match self {
            Self::Buttons(menu) => menu
                .buttons
                .iter()
                .any(|button| matches!(button.does, ButtonKind::Reply { .. })),
            Self::List(_) | Self::Poll { .. } => true,
            _ => false,
        }
    }

    /// Lists the options of a question in the order of their numbers in its text, from 1.
    fn list_options(&self) -> Vec<ChosenOption> {
        match self {
            Self::Buttons(menu) => {
                let buttons = menu.buttons.iter().map(|button| ChosenOption {
                    id: match &button.does {
                        ButtonKind::Reply { id } => Some(id.clone()),
                        _ => None,
                    },
                    title: button.title.clone(),
                });
                buttons.collect()
            }
            Self::List(menu) => {
                let rows = menu.sections.iter().flat_map(|section| &section.rows);
                let options = rows.map(|row| ChosenOption {
                    id: Some(row.id.clone()),
                    title: row.title.clone(),
                });
                options.collect()
            }
            Self::Poll { options, .. } => {
                let options = options.iter().map(|title| ChosenOption {
                    id: None,
                    title: title.clone(),
                });
                options.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Finds the option of this question that an answer names: by its number (`2`, `a 2`, `opção 2`), or by its words. `None` if the answer
    /// names none, or could mean two.
    pub fn find_option(&self, answer: &str) -> Option<ChosenOption> {
        if answer.chars().count() > ANSWER_MAX || !self.offers_options() {
            return None;
        }
        let options = self.list_options();
        let by_number = parse_number(answer)
            .and_then(|number| number.checked_sub(1))
            .and_then(|place| options.get(place));
        let words = normalize_words(answer);
        let mut by_words = options
            .iter()
            .filter(|option| !words.is_empty() && normalize_words(&option.title) == words);
        match (by_number, by_words.next(), by_words.next()) {
            (Some(option), None, _) | (None, Some(option), None) => Some(option.clone()),
            (Some(one), Some(other), None) if one == other => Some(one.clone()),
            _ => None,
        }
    }
}

/// Words that may stand before the number of an option.
const NUMBER_WORDS: [&str; 12] = [
    "a",
    "o",
    "la",
    "el",
    "the",
    "opcao",
    "opcion",
    "option",
    "alternativa",
    "numero",
    "number",
    "n",
];

/// Parses an answer that is a number, perhaps behind words such as "opção". Punctuation or the frame of an emoji (`2️⃣`) may stand
/// around it.
fn parse_number(answer: &str) -> Option<usize> {
    let is_around = |c: char| c.is_whitespace() || ".,;:!?()[]*\"\u{fe0f}\u{20e3}".contains(c);
    let folded = fold_text(answer);
    let mut words = folded.split(is_around).filter(|word| !word.is_empty());
    let digits = words.next_back()?;
    let is_number = (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let only_number_words = words.all(|word| NUMBER_WORDS.contains(&word));
    (is_number && only_number_words)
        .then(|| digits.parse().ok())
        .flatten()
}

/// Returns words as they are compared: in small letters without accents, with one space between them, without punctuation around.
fn normalize_words(text: &str) -> String {
    let folded = fold_text(text);
    let words: Vec<&str> = folded.split_whitespace().collect();
    words
        .join(" ")
        .trim_matches(|c: char| ".,;:!?¡¿\"*".contains(c))
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(json: serde_json::Value) -> Content {
        serde_json::from_value(json).unwrap()
    }

    fn buttons(titles: &[&str]) -> Content {
        let buttons: Vec<_> = titles
            .iter()
            .enumerate()
            .map(|(place, title)| json!({"kind": "reply", "id": format!("b{place}"), "title": title}))
            .collect();
        content(json!({"type": "buttons", "body": "Qual?", "buttons": buttons}))
    }

    fn chosen_id(question: &Content, answer: &str) -> Option<String> {
        question
            .find_option(answer)
            .map(|option| option.id.unwrap_or(option.title))
    }

    #[test]
    fn a_number_or_the_words_name_an_option_and_nothing_else_does() {
        let question = buttons(&["Banho e tosa", "Consulta"]);
        for (answer, expected) in [
            ("1", Some("b0")),
            (" 2 ", Some("b1")),
            ("2.", Some("b1")),
            ("2)", Some("b1")),
            ("2\u{fe0f}\u{20e3}", Some("b1")),
            ("02", Some("b1")),
            ("consulta", Some("b1")),
            ("  BANHO  e\ntosa.", Some("b0")),
            ("0", None),
            ("3", None),
            ("-1", None),
            ("1 e 2", None),
            ("12", None),
            ("2 horas", None),
            ("a 2", Some("b1")),
            ("2!", Some("b1")),
            ("Opção 2", Some("b1")),
            ("opcion 2.", Some("b1")),
            ("a opção número 1", Some("b0")),
            ("option 3", None),
            ("às 2", None),
            ("Consulta!", Some("b1")),
            ("consulta?", Some("b1")),
            ("Quero consulta", None),
            ("", None),
            ("٢", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(chosen_id(&question, answer).as_deref(), expected, "{answer:?}");
        }
    }

    #[test]
    fn an_answer_that_may_mean_two_options_means_none() {
        let numbers = buttons(&["2", "1", "3"]);
        assert_eq!(chosen_id(&numbers, "1"), None);
        assert_eq!(
            chosen_id(&numbers, "3").as_deref(),
            Some("b2"),
            "number and words agree"
        );
        let twice = buttons(&["Sim", "sim", "Não"]);
        assert_eq!(chosen_id(&twice, "sim"), None);
        assert_eq!(chosen_id(&twice, "2").as_deref(), Some("b1"));
        let accents = buttons(&["Não", "Sim"]);
        for (answer, expected) in [("nao", "b0"), ("NÃO!", "b0"), ("sim!", "b1")] {
            assert_eq!(chosen_id(&accents, answer).as_deref(), Some(expected), "{answer}");
        }
        let hours = buttons(&["10", "20"]);
        assert_eq!(chosen_id(&hours, "10").as_deref(), Some("b0"));
    }

    #[test]
    fn the_numbers_are_those_of_the_text_that_is_sent() {
        let list = content(
            json!({"type": "list", "body": "Que dia?", "button": "Ver", "sections": [
            {"title": "Manhã", "rows": [{"id": "seg", "title": "Segunda"}, {"id": "ter", "title": "Terça"}]},
            {"rows": [{"id": "qua", "title": "Quarta", "description": "à tarde"}]}]}),
        );
        let poll = content(json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"]}));
        for (question, number, expected) in [(&list, 3, "qua"), (&list, 2, "ter"), (&poll, 2, "Ter")] {
            assert_eq!(
                chosen_id(question, &number.to_string()).as_deref(),
                Some(expected)
            );
            let title = question.find_option(&number.to_string()).unwrap().title;
            let text = question.render_fallback_text();
            assert!(text.contains(&format!("{number}. {title}")), "{text}");
        }
    }

    #[test]
    fn what_is_no_question_has_no_options() {
        let link = json!({"type": "buttons", "body": "Veja", "buttons": [{"kind": "url", "url": "https://a.example", "title": "1"}]});
        for other in [content(link), Content::from_text("1. a\n2. b"), Content::Welcome] {
            assert!(!other.offers_options());
            assert_eq!(chosen_id(&other, "1"), None);
        }
    }
}
