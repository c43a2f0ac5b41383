//! Another program, such as Meta's own agent, holds a contact's thread: what is said there is stored, our agent is silent, and messages
//! that would take the thread need a person.

use crate::waiting::dead_letter;
use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_domain::ids::TokenName;
use recado_domain::message::{Message, MessageStatus, Role};
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_operators::OperatorAnswer;
use recado_pipeline::Verdict;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

async fn setup() -> Setup {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    setup
}

async fn receives(setup: &Setup, text: &str, more: Value) {
    let address = setup.fixture.address.as_str();
    let mut payload = json!({"address": address, "id": text, "text": text, "from_me": false});
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    setup.pass(1);
}

/// The contact asks Meta's agent, which answers.
async fn talks_elsewhere(setup: &Setup) {
    receives(setup, "vocês abrem sábado?", json!({"thread": "held"})).await;
    receives(
        setup,
        "Sim, das 9h às 13h.",
        json!({"thread": "held", "from_me": true}),
    )
    .await;
}

async fn conversation(setup: &Setup) -> (Conversation, Vec<Message>) {
    let latest = setup.latest_conversation().await.unwrap();
    let (conversation, mut all) = succeed(setup.world.store.find_with_history(&latest.id, 50))
        .await
        .unwrap();
    all.sort_by_key(|message| message.ordinal);
    (conversation, all)
}

#[tokio::test]
async fn what_is_said_to_another_program_is_stored_and_the_agent_is_silent() {
    let setup = setup().await;
    talks_elsewhere(&setup).await;
    let (held, all) = conversation(&setup).await;
    assert_eq!(held.thread_holder(setup.now()), Some("ai_agent"));
    assert_eq!(held.mode, ConversationMode::Manual);
    assert!(!held.owes_answer() && held.person_owed_since().is_none());
    assert_eq!(
        (all[0].role, all[0].unanswered),
        (Role::User, Some(Reason::HeldElsewhere))
    );
    assert_eq!(
        (all[1].role, all[1].ordered_by()),
        (Role::Operator, Some(TokenName::other_agent()))
    );
    assert!(setup.due_turns().await.is_empty());
}

#[tokio::test]
async fn when_the_thread_is_ours_again_the_agent_reads_what_was_said_meanwhile() {
    let setup = setup().await;
    talks_elsewhere(&setup).await;
    receives(&setup, "quero marcar", json!({"thread": "ours"})).await;
    let (ours, _) = conversation(&setup).await;
    assert_eq!(
        (ours.mode, ours.thread_holder(setup.now())),
        (ConversationMode::Ai, None)
    );
    setup.turn(&setup.fixture).await;
    let read = setup.world.llm.read.lock().unwrap().join("|");
    assert_eq!(
        read,
        "vocês abrem sábado?|[other agent] Sim, das 9h às 13h.|quero marcar"
    );
    assert!(
        setup
            .world
            .llm
            .instructions
            .lock()
            .unwrap()
            .join("\n")
            .contains("[other agent]")
    );
}

#[tokio::test]
async fn a_thread_that_is_passed_to_us_is_answered() {
    let setup = setup().await;
    talks_elsewhere(&setup).await;
    let note = json!({"type": "system", "what": "other", "text": "ai_agent passed the thread to us"});
    receives(&setup, "passed", json!({"thread": "passed", "content": note})).await;
    assert_eq!(conversation(&setup).await.0.mode, ConversationMode::Ai);
    let reply = setup.turn(&setup.fixture).await;
    assert_eq!(reply.content, Content::from_text("Certo."));
}

#[tokio::test]
async fn a_reply_that_waits_is_void_when_another_program_gets_the_thread() {
    let setup = setup().await;
    receives(&setup, "oi", json!({"thread": "ours"})).await;
    let reply = setup.turn(&setup.fixture).await;
    talks_elsewhere(&setup).await;
    setup.send(&reply.conversation).await;
    let stored = succeed(setup.world.store.find_message(&reply.message_id()))
        .await
        .unwrap();
    assert_eq!(stored.status_with_delivery(None), MessageStatus::Cancelled);
    assert_eq!(setup.world.providers.sent(), 0);
}

#[tokio::test]
async fn only_a_person_or_the_setting_takes_the_thread() {
    for takes_threads in [false, true] {
        let mut fixture = Fixture::on(Provider::Meta);
        // As Meta writes a number: without a server.
        let digits = fixture.address.phone_number().unwrap();
        fixture.address = ContactAddress::parse(digits.trim_start_matches('+')).unwrap();
        fixture.bound.instance.takes_threads = takes_threads;
        let setup = Setup::set(fixture).await;
        talks_elsewhere(&setup).await;
        let phone = setup.fixture.address.phone_number().unwrap();
        let accepted = setup.client_writes(&phone).await;
        let conversation = accepted.id.conversation_and_ordinal().unwrap().0;
        setup.send(&conversation).await;
        let message = succeed(setup.world.store.find_message(&accepted.id))
            .await
            .unwrap();
        let letter = dead_letter(&setup, &message).await;
        assert_eq!(
            letter.map(|letter| letter.reason),
            (!takes_threads).then_some(Reason::HeldElsewhere)
        );
        assert_eq!(setup.world.providers.sent(), u64::from(takes_threads));
    }
    let setup = setup().await;
    talks_elsewhere(&setup).await;
    let (held, _) = conversation(&setup).await;
    let answer = OperatorAnswer {
        content: Content::from_text("Oi, aqui é a Ana."),
        options: SendOptions::default(),
        seen: Some(held.last),
        key: None,
        correlation: correlation(),
    };
    let answered =
        recado_operators::answer_as_operator(&setup.world, &Caller::installation(), &held.id, answer).await;
    assert!(answered.is_ok());
    setup.send(&held.id).await;
    assert_eq!(setup.world.providers.sent(), 1);
    // The conversation is that person's, also once the thread is ours.
    receives(&setup, "obrigado", json!({"thread": "ours"})).await;
    assert_eq!(conversation(&setup).await.0.mode, ConversationMode::Manual);
}
