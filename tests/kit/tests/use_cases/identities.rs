//! One person under two names: with a number, and under an identity that shows none.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::{EventKind, InboundJob};
use recado_domain::ids::ThreadId;
use recado_domain::message::Role;
use recado_domain::millis::add_millis;
use recado_domain::provider::Provider;
use recado_pipeline::Verdict;
use recado_pipeline::ports::Conversations;
use recado_pipeline::records::aliases::{find_alias, save_alias};
use recado_testkit::builders::{Fixture, correlation, identity_key};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

pub(crate) const NUMBER: &str = "5511900000001@s.whatsapp.net";
pub(crate) const NEW_NUMBER: &str = "5511900000002@s.whatsapp.net";
pub(crate) const LID: &str = "100000000000001@lid";

pub(crate) fn known(address: &str) -> ContactAddress {
    ContactAddress::parse(address).unwrap()
}

pub(crate) async fn on(provider: &'static str) -> Setup {
    Setup::set(Fixture::on(Provider::parse(provider).unwrap())).await
}

/// A message arrives and is processed.
pub(crate) async fn receive(setup: &Setup, payload: Value) -> InboundJob {
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    job
}

/// What a message says that was written under `address`, and that its author is `also` known as.
pub(crate) fn words(id: &str, address: &str, also: Option<&str>, from_me: bool) -> Value {
    json!({"id": id, "address": address, "also": also, "from_me": from_me, "text": id})
}

pub(crate) async fn thread(setup: &Setup, address: &str) -> Option<Conversation> {
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), address);
    setup.world.store.find_latest_conversation(&thread).await.unwrap()
}

pub(crate) async fn said(setup: &Setup, conversation: &Conversation) -> Vec<(Role, String)> {
    let (_, mut history) = succeed(setup.world.store.find_with_history(&conversation.id, 50))
        .await
        .unwrap();
    history.sort_by_key(|message| message.ordinal);
    history
        .into_iter()
        .map(|message| (message.role, message.content.render_text()))
        .collect()
}

/// Whether nobody wrote in the thread of an identity, which leads to this conversation.
pub(crate) async fn leads(setup: &Setup, address: &str, to: &Conversation) -> bool {
    let newest = thread(setup, address).await.unwrap();
    newest.listed_status().is_none() && newest.linked.moved_to.as_ref() == Some(&to.id)
}

/// The thread of another identity.
fn of(setup: &Setup, identity: &str) -> ThreadId {
    identity_key().derive_thread_id(setup.fixture.instance(), identity)
}

pub(crate) fn line(role: Role, text: &str) -> (Role, String) {
    (role, text.to_owned())
}

#[tokio::test]
async fn what_staff_type_in_a_chat_that_shows_no_number_takes_over_the_conversation_under_the_number() {
    let setup = on("evolution").await;
    receive(&setup, words("oi", NUMBER, Some(LID), false)).await;
    assert_eq!(thread(&setup, NUMBER).await.unwrap().mode, ConversationMode::Ai);
    receive(&setup, words("bom dia", LID, None, true)).await;
    let conversation = thread(&setup, NUMBER).await.unwrap();
    assert_eq!(conversation.mode, ConversationMode::Manual);
    assert!(!conversation.owes_answer(), "the agent answers over nobody");
    assert_eq!(
        said(&setup, &conversation).await,
        [line(Role::User, "oi"), line(Role::Operator, "bom dia")]
    );
    assert!(leads(&setup, LID, &conversation).await);
}

#[tokio::test]
async fn a_user_id_without_a_number_continues_the_thread_and_is_answered_at_the_number() {
    let setup = on("meta").await;
    receive(&setup, words("oi", "5511900000001", Some("BR.100000001"), false)).await;
    receive(&setup, words("alguém?", "BR.100000001", None, false)).await;
    let conversation = thread(&setup, "5511900000001").await.unwrap();
    assert_eq!(
        said(&setup, &conversation).await,
        [line(Role::User, "oi"), line(Role::User, "alguém?")]
    );
    assert_eq!(conversation.address, known("5511900000001"));
    assert_eq!(conversation.contact.phone.as_deref(), Some("+5511900000001"));
    assert!(leads(&setup, "BR.100000001", &conversation).await);
}

/// Otherwise a takeover ends with the first message that shows the number.
#[tokio::test]
async fn a_person_known_without_a_number_keeps_the_conversation_when_the_number_is_shown() {
    let setup = on("evolution").await;
    receive(&setup, words("oi", LID, None, false)).await;
    let alone = thread(&setup, LID).await.unwrap();
    assert_eq!((&alone.address, &alone.contact.known_as), (&known(LID), &None));
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &alone.id,
        ConversationMode::Manual,
        &correlation(),
    ))
    .await;
    receive(&setup, words("sou eu", NUMBER, Some(LID), false)).await;
    receive(&setup, words("de novo", LID, None, false)).await;
    receive(&setup, words("e aqui", NUMBER, None, false)).await;
    let sent = setup.client_writes(NUMBER).await;
    assert_eq!(sent.conversation, Some(alone.id.clone()));
    let one = thread(&setup, LID).await.unwrap();
    assert_eq!((&one.id, one.mode), (&alone.id, ConversationMode::Manual));
    assert_eq!(said(&setup, &one).await.len(), 5);
    // The number's thread leads there, also for people.
    assert!(leads(&setup, NUMBER, &one).await);
    let leading = thread(&setup, NUMBER).await.unwrap();
    let shown = succeed(recado_operators::find_conversation(
        &setup.world,
        &Caller::installation(),
        &leading.id,
    ))
    .await;
    assert_eq!(shown.id, alone.id);
}

/// Checks that people have both conversations, by one takeover.
async fn check_both_taken_over(setup: &Setup) {
    for address in [LID, NUMBER] {
        let conversation = thread(setup, address).await.unwrap();
        assert_eq!(
            (conversation.mode, conversation.epoch),
            (ConversationMode::Manual, 1),
            "{address}"
        );
    }
}

#[tokio::test]
async fn a_takeover_of_either_of_two_conversations_is_one_of_both_from_when_they_are_known_to_be_one_persons()
{
    for before in [LID, NUMBER] {
        let setup = on("evolution").await;
        receive(&setup, words("oi", LID, None, false)).await;
        receive(&setup, words("oi", NUMBER, None, false)).await;
        let taken = thread(&setup, before).await.unwrap();
        succeed(recado_operators::set_conversation_mode(
            &setup.world,
            &Caller::installation(),
            &taken.id,
            ConversationMode::Manual,
            &correlation(),
        ))
        .await;
        receive(&setup, words("sou eu", NUMBER, Some(LID), false)).await;
        check_both_taken_over(&setup).await;
    }
    for after in [LID, NUMBER] {
        let setup = on("evolution").await;
        receive(&setup, words("oi", LID, None, false)).await;
        receive(&setup, words("oi", NUMBER, None, false)).await;
        receive(&setup, words("sou eu", NUMBER, Some(LID), false)).await;
        let taken = thread(&setup, after).await.unwrap();
        succeed(recado_operators::set_conversation_mode(
            &setup.world,
            &Caller::installation(),
            &taken.id,
            ConversationMode::Manual,
            &correlation(),
        ))
        .await;
        check_both_taken_over(&setup).await;
    }
}

#[tokio::test]
async fn it_is_learnt_once_for_a_contact_also_when_a_new_conversation_begins() {
    let setup = on("evolution").await;
    let store = &setup.world.store;
    receive(&setup, words("oi", NUMBER, Some(LID), false)).await;
    let first = thread(&setup, NUMBER).await.unwrap();
    assert_eq!(first.contact.known_as, Some(known(LID)));
    // What stands there now would give way if it were learnt again.
    succeed(save_alias(store, &of(&setup, LID), &known(NEW_NUMBER))).await;
    receive(&setup, words("e aí", NUMBER, Some(LID), false)).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &first.id,
        None,
        &correlation(),
    ))
    .await;
    receive(&setup, words("voltei", NUMBER, Some(LID), false)).await;
    assert_ne!(thread(&setup, NUMBER).await.unwrap().id, first.id);
    let learnt = find_alias(store, &of(&setup, LID)).await.unwrap();
    assert_eq!(learnt, Some(known(NEW_NUMBER)));
}

#[tokio::test]
async fn a_new_number_takes_the_place_of_the_old_one_and_words_of_long_ago_teach_nothing() {
    let setup = on("evolution").await;
    receive(&setup, words("oi", NEW_NUMBER, Some(LID), false)).await;
    let mut old = words("antigo", NUMBER, Some(LID), false);
    old["sent_at"] = json!(add_millis(setup.now(), -2 * 3_600_000).as_millisecond());
    receive(&setup, old).await;
    let learnt = || async {
        let store = &setup.world.store;
        find_alias(store, &of(&setup, LID)).await.unwrap()
    };
    assert_eq!(learnt().await, Some(known(NEW_NUMBER)));
    assert_eq!(thread(&setup, NUMBER).await.unwrap().contact.known_as, None);
    receive(&setup, words("número antigo", NUMBER, Some(LID), false)).await;
    assert_eq!(learnt().await, Some(known(NUMBER)));
}

#[tokio::test]
async fn what_was_learnt_but_not_noted_is_learnt_with_the_next_message() {
    let setup = on("evolution").await;
    receive(&setup, words("oi", NUMBER, None, false)).await;
    // A worker wrote the one and died before the other.
    let store = &setup.world.store;
    save_alias(store, &of(&setup, LID), &known(NUMBER)).await.unwrap();
    receive(&setup, words("sem número", LID, None, false)).await;
    let unnoted = thread(&setup, NUMBER).await.unwrap();
    assert_eq!(unnoted.contact.known_as, None);
    assert_eq!(said(&setup, &unnoted).await.len(), 2);
    receive(&setup, words("com número", NUMBER, Some(LID), false)).await;
    assert_eq!(
        thread(&setup, NUMBER).await.unwrap().contact.known_as,
        Some(known(LID))
    );
}

#[tokio::test]
async fn what_a_client_sends_to_the_identity_stands_in_the_conversation_under_the_number() {
    let setup = on("evolution").await;
    receive(&setup, words("oi", NUMBER, Some(LID), false)).await;
    let accepted = setup.client_writes(LID).await;
    let conversation = thread(&setup, NUMBER).await.unwrap();
    assert_eq!(accepted.conversation, Some(conversation.id.clone()));
    // It goes where the client said.
    setup.send(&conversation.id).await;
    assert_eq!(setup.world.providers.recipients(), [known(LID)]);
}
