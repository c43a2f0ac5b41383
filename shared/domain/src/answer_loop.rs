//! Finds loops: another program and the agent repeat themselves, and the two would answer each other without end.
//!
//! Both sides must repeat themselves. A person who asks for one day after the other writes texts that differ in a digit, and gets
//! replies that differ.

use crate::folding::fold_text;
use crate::message::{Message, Role};
use crate::millis::add_duration;
use jiff::SignedDuration;

/// Number of times that the contact says the same, with a reply before each but the first.
pub const LOOP_LENGTH: u32 = 6;

/// Longest time in which the contact says all of it.
const LOOP_WITHIN: SignedDuration = SignedDuration::from_mins(30);

/// Least number of letters and digits of such a text: people repeat a "yes".
const SPELLED_MIN: usize = 10;

/// The text that the contact repeats and the reply that the agent repeats, both as letters and digits.
struct RepeatedTexts<'a> {
    newest: &'a Message,
    said: String,
    reply: Option<String>,
}

/// Returns `true` if the contact's last messages say the same, and so do the replies between them. Punctuation does not count, digits do. `known` are messages of one conversation, ordered by ordinal.
pub fn is_answer_loop(known: &[Message]) -> bool {
    let mut repeated: Option<RepeatedTexts<'_>> = None;
    let mut said = 0;
    // The parts of the reply behind the message that is looked at next.
    let mut reply: Option<String> = None;
    for message in known.iter().rev() {
        match message.role {
            Role::Operator => return false,
            Role::Assistant => reply = Some(spell_message(message) + &reply.unwrap_or_default()),
            Role::User if !message.content.expects_answer() => {}
            Role::User => {
                let spelled = spell_message(message);
                match &mut repeated {
                    None => {
                        repeated = Some(RepeatedTexts {
                            newest: message,
                            said: spelled,
                            reply: None,
                        });
                    }
                    Some(repeated) => {
                        let began_at = add_duration(repeated.newest.stored_at, -LOOP_WITHIN);
                        let Some(reply) = reply else { return false };
                        let known = repeated.reply.get_or_insert_with(|| reply.clone());
                        if *known != reply || spelled != repeated.said || message.stored_at < began_at {
                            return false;
                        }
                    }
                }
                reply = None;
                said += 1;
                if said == LOOP_LENGTH {
                    return repeated.is_some_and(|repeated| repeated.said.chars().count() >= SPELLED_MIN);
                }
            }
        }
    }
    false
}

/// Returns `true` if a message of the contact says something else than its last one in `known`. Also if there is none there. What the
/// agent pauses for is over then. `known` are messages of one conversation, ordered by ordinal.
pub fn says_something_new(message: &Message, known: &[Message]) -> bool {
    let is_asking = |known: &&Message| known.role == Role::User && known.content.expects_answer();
    let last = known.iter().rev().find(is_asking);
    last.is_none_or(|last| spell_message(last) != spell_message(message))
}

/// Returns the letters and digits of a message's text, small and without accents.
fn spell_message(message: &Message) -> String {
    let text = fold_text(&message.render_text());
    text.chars().filter(|c| c.is_alphanumeric()).collect()
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

    /// Lets the contact say `texts`, the same reply after each, every `seconds`; the last is not answered.
    fn talk(texts: &[&str], seconds: i64) -> Vec<Message> {
        talk_with(texts, |_| "Como posso ajudar?".to_owned(), seconds)
    }

    /// The same, with the replies of `reply`.
    fn talk_with(texts: &[&str], reply: impl Fn(i64) -> String, seconds: i64) -> Vec<Message> {
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
                content: Content::from_text(reply(number)),
                stored_at,
                ..message(ordinal + 1, Role::Assistant)
            });
        }
        known.pop();
        known
    }

    #[test]
    fn six_times_the_same_each_after_the_same_reply_is_a_loop() {
        let other = "obrigado pelo contato, seu protocolo e 123";
        assert!(is_answer_loop(&talk(&[BOT, other, BOT, other, BOT, other], 20)));
        assert!(!is_answer_loop(&talk(&[BOT, other, BOT, other, BOT], 20)), "five");
        assert!(
            is_answer_loop(&talk(&["Oi", "Bom dia", BOT, BOT, BOT, BOT, BOT, BOT], 20)),
            "what was said before does not matter"
        );
        let mut in_parts = talk(&[BOT; 6], 20);
        for at in [2, 5, 8, 11, 14] {
            let part = Message {
                content: Content::from_text("Estou aqui."),
                ..in_parts[at - 1].clone()
            };
            in_parts.insert(at, part);
        }
        assert!(is_answer_loop(&in_parts), "replies of two messages");
    }

    #[test]
    fn a_digit_makes_another_text_on_both_sides() {
        let days: Vec<String> = (10..18).map(|day| format!("Tem horário no dia {day}?")).collect();
        let days: Vec<&str> = days.iter().map(String::as_str).collect();
        assert!(
            !is_answer_loop(&talk(&days, 20)),
            "the contact asks for other days"
        );
        let differs = |number: i64| format!("O dia {number} está cheio.");
        assert!(
            !is_answer_loop(&talk_with(&[BOT; 8], differs, 20)),
            "the replies differ"
        );
        let last_differs = |number: i64| {
            if number == 4 {
                "Pois não?"
            } else {
                "Como posso ajudar?"
            }
            .to_owned()
        };
        assert!(!is_answer_loop(&talk_with(&[BOT; 6], last_differs, 20)));
    }

    #[test]
    fn what_differs_from_the_contacts_last_message_is_new() {
        let known = talk(&["Oi", BOT], 20);
        let says = |text: &str| Message {
            content: Content::from_text(text),
            ..message(9, Role::User)
        };
        assert!(!says_something_new(
            &says("obrigado pelo contato! seu protocolo é 123"),
            &known
        ));
        assert!(says_something_new(
            &says("Obrigado pelo contato! Seu protocolo é 124."),
            &known
        ));
        assert!(says_something_new(&says("oi"), &known));
        assert!(says_something_new(&says(BOT), &[]));
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
