//! Finds loops: another program repeats the same text after each reply of the agent, and the two would answer each other
//! without end.

use crate::folding::fold_text;
use crate::message::{Message, Role};
use crate::millis::add_duration;
use jiff::SignedDuration;

/// Number of times that the contact says the same, with a reply before each but the first.
pub const LOOP_LENGTH: u32 = 6;

/// Longest time in which the contact says all of it.
const LOOP_WITHIN: SignedDuration = SignedDuration::from_mins(30);

/// Least number of letters of such a text: people repeat a "yes".
const LETTERS_MIN: usize = 10;

/// Returns `true` if the contact's last messages say the same, each after a reply of the agent. Digits and punctuation do not
/// count. `known` are messages of one conversation, ordered by ordinal.
pub fn is_answer_loop(known: &[Message]) -> bool {
    let mut newest: Option<(&Message, String)> = None;
    let (mut said, mut is_answered) = (0, true);
    for message in known.iter().rev() {
        match message.role {
            Role::Operator => return false,
            Role::Assistant => is_answered = true,
            Role::User if !message.content.expects_answer() => {}
            Role::User => {
                let spelled = keep_letters(message);
                let first = newest.get_or_insert_with(|| (message, spelled.clone()));
                let began_at = add_duration(first.0.stored_at, -LOOP_WITHIN);
                if !is_answered
                    || spelled.chars().count() < LETTERS_MIN
                    || spelled != first.1
                    || message.stored_at < began_at
                {
                    return false;
                }
                said += 1;
                is_answered = false;
                if said == LOOP_LENGTH {
                    return true;
                }
            }
        }
    }
    false
}

/// Returns the letters of a message's text, small and without accents.
fn keep_letters(message: &Message) -> String {
    let text = fold_text(&message.render_text());
    text.chars().filter(|c| c.is_alphabetic()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::tests::message;
    use crate::content::Content;
    use crate::millis::from_unix_millis;
    use jiff::Timestamp;

    const BOT: &str = "Obrigado pelo contato! Seu protocolo é 123.";

    fn at(second: i64) -> Timestamp {
        from_unix_millis(second * 1_000)
    }

    /// Lets the contact say `texts`, a reply after each, every `seconds`; the last is not answered.
    fn talk(texts: &[&str], seconds: i64) -> Vec<Message> {
        let mut known = Vec::new();
        for (number, text) in (0..).zip(texts) {
            let ordinal = u64::try_from(2 * number + 1).unwrap();
            let stored_at = at(number * seconds);
            known.push(Message {
                content: Content::from_text(*text),
                stored_at,
                ..message(ordinal, Role::User)
            });
            known.push(Message {
                content: Content::from_text("Como posso ajudar?"),
                stored_at,
                ..message(ordinal + 1, Role::Assistant)
            });
        }
        known.pop();
        known
    }

    #[test]
    fn six_times_the_same_but_for_digits_each_after_a_reply_is_a_loop() {
        let other = "obrigado pelo contato, seu protocolo e 4567";
        assert!(is_answer_loop(&talk(&[BOT, other, BOT, other, BOT, other], 20)));
        assert!(!is_answer_loop(&talk(&[BOT, other, BOT, other, BOT], 20)), "five");
        assert!(
            is_answer_loop(&talk(&["Oi", "Bom dia", BOT, BOT, BOT, BOT, BOT, BOT], 20)),
            "what was said before does not matter"
        );
    }

    #[test]
    fn people_who_repeat_themselves_are_no_loop() {
        assert!(!is_answer_loop(&talk(&["sim"; 9], 20)), "a short word");
        assert!(!is_answer_loop(&talk(&[BOT; 9], 600)), "over hours");
        assert!(!is_answer_loop(&talk(
            &[BOT, BOT, BOT, "Quero marcar uma consulta", BOT, BOT],
            20
        )));
        let mut unanswered = talk(&[BOT; 9], 20);
        unanswered.retain(|message| message.role == Role::User);
        assert!(!is_answer_loop(&unanswered), "a burst");
        let mut with_person = talk(&[BOT; 6], 20);
        with_person[5].role = Role::Operator;
        assert!(!is_answer_loop(&with_person), "a person takes part");
    }
}
