//! Conversations that do not go straight on: people and models in between, lists, histories, statuses that cross.

use crate::bench::{Bench, eventually, said};
use crate::contact::{Contact, correlation_id, message_id, seconds};
use crate::stack::{ERROR_MESSAGE, INSTANCE, TALKS};
use recado_testkit::servers::{Behaviour, anthropic_message};
use recado_testkit::webhooks::{evolution_status, evolution_text};
use serde_json::{Value, json};
use std::time::Duration;

/// How long the model thinks while a person answers: longer than the emulator takes for the answer.
const THINKS: Duration = Duration::from_secs(10);

/// The history of a phone: bodies of some hundred messages, each of several rounds in which every contact writes once. In all as
/// many messages as the emulator takes in a minute; `RECADO_HISTORY_BODIES=25` plays 5,000, which one machine always reads
/// (`one_machine/nights.rs`).
const HISTORY_CONTACTS: i64 = 50;
const HISTORY_ROUNDS: i64 = 4;
const HISTORY_BODIES: i64 = 3;

impl Bench {
    /// A text of `contact`, when its turn has ended.
    async fn says_and_turns(&self, instance: &str, contact: &Contact, text: &str, end: &str) {
        let correlation = correlation_id();
        let body = evolution_text(instance, &contact.jid, &message_id(), text, seconds());
        self.evolution_with(&body, &correlation).await;
        self.turn_ends(&correlation, end).await;
    }

    /// Waits for a line of deferred-reply that says `end`.
    async fn turn_ends(&self, correlation: &str, end: &str) {
        eventually(&format!("a turn that says {end}"), || async {
            let lines = self.log("deferred-reply", correlation).await;
            lines
                .iter()
                .any(|line| line.to_string().contains(end))
                .then_some(())
        })
        .await;
    }

    /// What the conversation's messages say, by role.
    async fn roles(&self, conversation: &str) -> Vec<String> {
        let messages = self.messages(conversation).await;
        said(&messages)
            .iter()
            .map(|(role, _)| (*role).to_owned())
            .collect()
    }
}

#[tokio::test]
async fn a_person_answers_while_the_model_thinks_and_its_draft_is_dropped() {
    let (bench, contact, correlation) = (Bench::new().await, Contact::new(), correlation_id());
    let (anthropic, evolution) = (&bench.stack.stand_ins.anthropic, &bench.stack.stand_ins.evolution);
    let text = format!("Vocês têm horário {}?", contact.number);
    anthropic.next_for(&text, Behaviour::Hang(THINKS));
    let body = evolution_text(INSTANCE, &contact.jid, &message_id(), &text, seconds());
    bench.evolution_with(&body, &correlation).await;
    eventually("the model to be asked", || async {
        let asked = anthropic.requests();
        asked
            .iter()
            .any(|request| request.body.to_string().contains(&text))
            .then_some(())
    })
    .await;
    let id = bench.conversation(INSTANCE, &contact).await;
    let (status, made) = bench.answers(&id, "key-1", "Aqui é a Bia").await;
    assert_eq!(status, 202, "{made}");
    bench.turn_ends(&correlation, "draft discarded").await;
    let phone = bench.phone(evolution, &contact, 1).await;
    assert_eq!(phone[0].text, "Aqui é a Bia");
    assert_eq!(bench.roles(&id).await, ["user", "operator"]);
}

#[tokio::test]
async fn the_agent_hands_over_with_its_last_words_and_is_silent() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let text = format!("Quero meu dinheiro {}", contact.number);
    let mut decides = anthropic_message("claude-sonnet-4-5", "");
    decides["content"] = json!([{"type": "tool_use", "id": "toolu_1", "name": "hand_over",
        "input": {"reason": "wants a refund", "message": "Já chamo uma pessoa."}}]);
    let anthropic = &bench.stack.stand_ins.anthropic;
    anthropic.next_for(&text, Behaviour::status(200, decides));
    bench.says(TALKS, &contact, &text).await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    assert_eq!(phone[0].text, "Já chamo uma pessoa.");
    let id = bench.conversation(TALKS, &contact).await;
    let conversation = bench.get(&format!("/v1/conversations/{id}")).await;
    assert_eq!(conversation["needs_person"], "handed_over", "{conversation}");
    bench
        .says_and_turns(TALKS, &contact, "Alguém?", "nothing_owed")
        .await;
    assert_eq!(bench.roles(&id).await, ["user", "assistant", "user"]);
}

#[tokio::test]
async fn a_history_of_old_messages_is_stored_and_answered_by_nothing() {
    let bench = Bench::new().await;
    let contacts: Vec<Contact> = (0..HISTORY_CONTACTS).map(|_| Contact::new()).collect();
    let (contact, last) = (&contacts[0], contacts.last().unwrap());
    let bodies =
        std::env::var("RECADO_HISTORY_BODIES").map_or(HISTORY_BODIES, |bodies| bodies.parse().unwrap());
    let of_each = |bodies: i64| usize::try_from(bodies * HISTORY_ROUNDS).unwrap();
    let message = |contact: &Contact, number: i64| {
        let at = seconds() - 86_400 + number;
        let text = format!("antiga {number} de {}", contact.number);
        evolution_text(INSTANCE, &contact.jid, &message_id(), &text, at)["data"].clone()
    };
    // Each body holds what all contacts wrote at a time.
    for number in 0..bodies {
        let numbers = number * HISTORY_ROUNDS..(number + 1) * HISTORY_ROUNDS;
        let data: Vec<Value> = numbers
            .flat_map(|number| contacts.iter().map(move |contact| message(contact, number)))
            .collect();
        let body = json!({"event": "messages.set", "instance": INSTANCE, "isLatest": true, "data": data});
        bench.evolution(&body).await;
        let id = bench.conversation(INSTANCE, last).await;
        let is_stored = |messages: &[Value]| messages.len() == of_each(number + 1);
        bench.messages_when("a body of the history", &id, is_stored).await;
    }
    for contact in &contacts {
        let id = bench.conversation(INSTANCE, contact).await;
        let is_whole = |messages: &[Value]| messages.len() == of_each(bodies);
        bench.messages_when("the whole history", &id, is_whole).await;
    }
    let id = bench.conversation(INSTANCE, contact).await;
    bench.says(INSTANCE, contact, "Oi").await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, contact, 1).await;
    assert!(phone[0].text.ends_with("Oi"), "{}", phone[0].text);
    let roles = bench.roles(&id).await;
    assert_eq!(
        roles.iter().filter(|role| *role == "assistant").count(),
        1,
        "{roles:?}"
    );
    let requests = bench.stack.stand_ins.anthropic.requests();
    let asked: Vec<String> = requests.iter().map(|request| request.body.to_string()).collect();
    for (place, contact) in contacts.iter().enumerate() {
        let asked = asked.iter().filter(|body| body.contains(&contact.number)).count();
        assert_eq!(asked, usize::from(place == 0), "only who writes now is answered");
    }
}

#[tokio::test]
async fn a_blocked_contact_is_left_out() {
    let (bench, other) = (Bench::new().await, Contact::new());
    let (evolution, blocked) = (&bench.stack.stand_ins.evolution, &bench.stack.blocked);
    let id = message_id();
    let body = evolution_text(TALKS, &blocked.jid, &id, "Oi", seconds());
    bench.evolution(&body).await;
    bench.says(TALKS, &other, "Oi").await;
    bench.phone(evolution, &other, 1).await;
    let path = format!("/v1/trace?provider_message={id}&instance={TALKS}");
    let trace = eventually("the event to be settled", || async {
        let trace = bench.get(&path).await;
        (trace["events"][0]["state"] == "applied").then_some(trace)
    })
    .await;
    assert_eq!(trace["events"][0]["reason"], "blocked", "{trace}");
    assert_eq!(trace["messages"], json!([]));
    bench.phone(evolution, blocked, 0).await;
}

#[tokio::test]
async fn a_model_that_fails_for_good_is_answered_by_the_agents_error_message() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    let text = format!("Oi {}", contact.number);
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let anthropic = &bench.stack.stand_ins.anthropic;
    anthropic.next_for(&text, Behaviour::status(400, refusal));
    bench.says(TALKS, &contact, &text).await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    assert_eq!(phone[0].text, ERROR_MESSAGE);
}

#[tokio::test]
async fn statuses_that_come_out_of_order_never_move_a_reply_back() {
    let (bench, contact) = (Bench::new().await, Contact::new());
    bench.says(INSTANCE, &contact, "Oi").await;
    let phone = bench.phone(&bench.stack.stand_ins.evolution, &contact, 1).await;
    let id = bench.conversation(INSTANCE, &contact).await;
    let is_sent = |messages: &[Value]| messages[1]["status"] == "sent";
    bench.messages_when("the reply to be sent", &id, is_sent).await;
    for status in ["READ", "DELIVERY_ACK", "SERVER_ACK"] {
        bench
            .evolution(&evolution_status(INSTANCE, &phone[0].id, status))
            .await;
    }
    let is_read = |messages: &[Value]| messages[1]["status"] == "read";
    bench.messages_when("the reply to be read", &id, is_read).await;
}
