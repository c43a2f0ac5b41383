//! Answers to questions that were sent as numbered text.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::choice::ChosenOption;
use recado_domain::content::Content;
use recado_domain::ids::{ConversationId, MessageId};
use recado_domain::message::Message;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_pipeline::ports::Conversations;
use recado_sends::DeliverRequest;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;

/// A question with two options.
fn question() -> Content {
    let buttons = json!([{"kind": "reply", "id": "bath", "title": "Banho"}, {"kind": "reply", "id": "cut", "title": "Tosa"}]);
    serde_json::from_value(json!({"type": "buttons", "body": "Qual?", "buttons": buttons})).unwrap()
}

fn second_option() -> ChosenOption {
    ChosenOption {
        id: Some("cut".to_owned()),
        title: "Tosa".to_owned(),
    }
}

async fn setup_on(provider: Provider) -> Setup {
    let setup = Setup::set(Fixture::on(provider)).await;
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    setup.message(&setup.fixture, "W0", "oi", false).await;
    setup
}

/// A client asks the contact, and the question stays in its queue.
async fn ask_contact(setup: &Setup, content: Content) -> MessageId {
    let send = DeliverRequest {
        to: setup.fixture.address.phone_number().unwrap(),
        content,
        options: SendOptions::default(),
        key: None,
        metadata: None,
        send_at: None,
        correlation: correlation(),
    };
    let caller = Caller::installation();
    let accepted = recado_sends::accept_message(&setup.world, &caller, setup.fixture.instance(), send).await;
    accepted.unwrap().id
}

fn conversation_of(message: &MessageId) -> ConversationId {
    message.conversation_and_ordinal().unwrap().0
}

/// The question is sent, and a second passes.
async fn send_question(setup: &Setup) -> MessageId {
    let id = ask_contact(setup, question()).await;
    setup.send(&conversation_of(&id)).await;
    setup.pass(1);
    id
}

/// The contact writes; returns the stored message.
async fn answer_with(setup: &Setup, id: &str, text: &str) -> Message {
    setup.message(&setup.fixture, id, text, false).await;
    newest_message(setup).await
}

async fn newest_message(setup: &Setup) -> Message {
    let id = setup.latest_conversation().await.unwrap().id;
    let history = succeed(setup.world.store.find_with_history(&id, 1)).await;
    history.unwrap().1.remove(0)
}

#[tokio::test]
async fn an_answer_by_number_names_the_option_for_the_model_and_for_people() {
    for text in ["2", " 2. ", "tosa"] {
        let setup = setup_on(Provider::Evolution).await;
        let asked = send_question(&setup).await;
        let answer = answer_with(&setup, "W1", text).await;
        assert_eq!(
            answer.content,
            Content::from_text(text),
            "it stays as it was typed"
        );
        assert_eq!(answer.context.chosen.as_deref(), Some(&second_option()));
        assert_eq!(answer.context.refers_to, Some(asked));
        assert_eq!(answer.present_choice(), Some(&second_option()));
        setup.turn(&setup.fixture).await;
        let read = setup.world.llm.read.lock().unwrap().join("|");
        assert!(read.contains(&format!("[chose: Tosa (cut)] {text}")), "{read}");
    }
}

#[tokio::test]
async fn only_the_next_message_after_the_question_answers_it() {
    let setup = setup_on(Provider::Evolution).await;
    send_question(&setup).await;
    let other = answer_with(&setup, "W1", "um momento").await;
    assert_eq!(other.context.chosen, None);
    let late = answer_with(&setup, "W2", "2").await;
    assert_eq!(late.context.chosen, None);
    // A second question opens anew, and a picture closes it, too.
    send_question(&setup).await;
    setup.sends(&setup.fixture, "W3", &Content::Welcome).await;
    assert_eq!(answer_with(&setup, "W4", "2").await.context.chosen, None);
    // A reaction is no answer.
    send_question(&setup).await;
    let reaction = Content::Reaction {
        emoji: Some("👍".to_owned()),
        target: None,
    };
    setup.sends(&setup.fixture, "W5", &reaction).await;
    assert_eq!(
        answer_with(&setup, "W6", "2").await.context.chosen.as_deref(),
        Some(&second_option())
    );
}

#[tokio::test]
async fn a_quoted_question_is_answered_whenever_the_answer_comes() {
    let setup = setup_on(Provider::Evolution).await;
    let asked = send_question(&setup).await;
    answer_with(&setup, "W1", "um momento").await;
    let quoted = question().render_fallback_text();
    for (id, text, expected) in [("W2", "a 2", Some(second_option())), ("W3", "nenhuma", None)] {
        let payload = json!({"address": setup.fixture.address.as_str(), "id": id, "text": text, "from_me": false,
            "quoted": quoted, "quoted_id": "P0"});
        let job = setup
            .event(recado_domain::event::EventKind::Message, payload)
            .await;
        assert_eq!(setup.receive(&job, 1).await, recado_pipeline::Verdict::Done);
        let answer = newest_message(&setup).await;
        assert_eq!(answer.context.chosen.as_deref(), expected.as_ref());
        assert_eq!(answer.context.refers_to, expected.map(|_| asked.clone()));
    }
}

#[tokio::test]
async fn a_number_or_words_typed_after_a_poll_name_its_option() {
    let setup = setup_on(Provider::Evolution).await;
    let poll =
        json!({"type": "poll", "question": "Que dia?", "options": ["Segunda", "Terça"], "selectable": 1});
    let asked = ask_contact(&setup, serde_json::from_value(poll).unwrap()).await;
    setup.send(&conversation_of(&asked)).await;
    setup.pass(1);
    let answer = answer_with(&setup, "W1", "terca").await;
    let chosen = answer.context.chosen.unwrap();
    assert_eq!((chosen.id, chosen.title.as_str()), (None, "Terça"));
}

#[tokio::test]
async fn a_question_that_the_contact_has_not_seen_is_not_answered() {
    let setup = setup_on(Provider::Evolution).await;
    let asked = ask_contact(&setup, question()).await;
    setup.pass(5);
    assert_eq!(answer_with(&setup, "W1", "2").await.context.chosen, None);
    // It leaves now, and the next message answers it.
    setup.send(&conversation_of(&asked)).await;
    setup.pass(5);
    assert_eq!(
        answer_with(&setup, "W2", "2").await.context.chosen.as_deref(),
        Some(&second_option())
    );
}

#[tokio::test]
async fn a_question_that_was_sent_as_a_menu_has_no_numbers() {
    let setup = setup_on(Provider::Meta).await;
    send_question(&setup).await;
    assert_eq!(answer_with(&setup, "W1", "2").await.context.chosen, None);
}

#[tokio::test]
async fn an_edit_takes_the_choice_back() {
    let setup = setup_on(Provider::Evolution).await;
    send_question(&setup).await;
    // The world finds the message that a change is about by the name of its event.
    let answer = answer_with(&setup, "event-1", "2").await;
    setup.pass(1);
    let address = setup.fixture.address.as_str();
    let payload = json!({"changes": "event-1", "text": "nenhum", "address": address, "from_me": false});
    let job = setup
        .event(recado_domain::event::EventKind::Message, payload)
        .await;
    assert_eq!(setup.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    let edited = succeed(setup.world.store.find_message(&answer.message_id()))
        .await
        .unwrap();
    assert_eq!(edited.present_choice(), None);
    assert_eq!(edited.render_present_text(), "nenhum");
    setup.turn(&setup.fixture).await;
    let read = setup.world.llm.read.lock().unwrap().join("|");
    assert!(read.contains("nenhum") && !read.contains("chose"), "{read}");
}
