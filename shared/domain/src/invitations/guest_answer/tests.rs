use super::*;
use proptest::prelude::*;
use serde::Deserialize;

const TUNED: &str = include_str!("../../../../../tests/guest_answers/tuned.jsonl");
const HELD_BACK: &str = include_str!("../../../../../tests/guest_answers/held-back.jsonl");

/// A line of a set: a guest's message, and what it says about coming.
#[derive(Deserialize)]
struct Example {
    text: String,
    answer: String,
    #[serde(default)]
    first_answer: bool,
}

impl Example {
    fn wanted(&self) -> Option<GuestAnswer> {
        match self.answer.as_str() {
            "confirms" => Some(GuestAnswer::Confirms),
            "declines" => Some(GuestAnswer::Declines),
            _ => None,
        }
    }
}

/// The judgements of the rules on a set: how often each answer was wanted, found, and found rightly.
#[derive(Debug, Default)]
struct Score {
    wanted: usize,
    found: usize,
    right: usize,
}

fn read_set(set: &str) -> Vec<Example> {
    let lines = set.lines().filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn score(set: &[Example], answer: GuestAnswer) -> Score {
    let mut score = Score::default();
    for example in set {
        let found = recognize_answer(&example.text, example.first_answer);
        if found != example.wanted() {
            println!(
                "{:?} is {} and was taken for {found:?}",
                example.text, example.answer
            );
        }
        score.wanted += usize::from(example.wanted() == Some(answer));
        score.found += usize::from(found == Some(answer));
        score.right += usize::from(found == Some(answer) && example.wanted() == found);
    }
    println!("{answer:?}: {score:?}");
    score
}

#[test]
fn every_sentence_of_the_tuned_set_is_recognized() {
    for example in read_set(TUNED) {
        let found = recognize_answer(&example.text, example.first_answer);
        assert_eq!(found, example.wanted(), "{:?}", example.text);
    }
}

#[test]
fn of_the_set_held_back_no_refusal_or_question_is_a_confirmation() {
    let set = read_set(HELD_BACK);
    assert!(set.len() + read_set(TUNED).len() >= 300);
    let confirms = score(&set, GuestAnswer::Confirms);
    assert_eq!(confirms.right, confirms.found, "a false confirmation");
    assert!(confirms.right * 100 >= confirms.wanted * 85, "{confirms:?}");
    let declines = score(&set, GuestAnswer::Declines);
    assert_eq!(declines.right, declines.found, "a false refusal");
}

#[test]
fn a_plain_yes_counts_only_as_the_first_answer_to_the_invitation() {
    for text in ["sim", "Sí", "yes", "👍"] {
        assert_eq!(
            recognize_answer(text, true),
            Some(GuestAnswer::Confirms),
            "{text}"
        );
        assert_eq!(recognize_answer(text, false), None, "{text}");
    }
}

#[test]
fn what_contradicts_itself_says_nothing() {
    assert_eq!(recognize_answer("Não vou. Quer dizer, vou sim!", false), None);
    assert_eq!(recognize_answer(&"confirmo ".repeat(100), false), None);
}

proptest! {
    #[test]
    fn any_text_is_judged(text in ".{0,200}", first in any::<bool>()) {
        recognize_answer(&text, first);
    }

    #[test]
    fn capitals_and_spaces_around_a_message_change_nothing(place in 0_usize..100) {
        let set = read_set(TUNED);
        let example = &set[place % set.len()];
        let text = format!("  {}  ", example.text.to_uppercase());
        prop_assert_eq!(recognize_answer(&text, example.first_answer), example.wanted());
    }
}

#[test]
fn an_answer_to_a_reminder_confirms_or_cancels_the_appointment() {
    use GuestAnswer::{Confirms, Declines};
    for (text, said) in [
        ("Sim", Some(Confirms)),
        ("confirmo", Some(Confirms)),
        ("👍", Some(Confirms)),
        ("Cancelar", Some(Declines)),
        ("Olá, quero desmarcar.", Some(Declines)),
        ("cancel please", Some(Declines)),
        ("não", Some(Declines)),
        ("Posso cancelar?", None),
        ("Como faço para cancelar?", None),
        ("Se chover quero cancelar", None),
        ("Não quero cancelar", None),
        ("Qual é o endereço?", None),
    ] {
        assert_eq!(recognize_appointment_answer(text), said, "{text}");
    }
}
