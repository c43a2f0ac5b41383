//! Two conversations of one person, from the message on that shows that they are.

use crate::identities::{LID, NEW_NUMBER, NUMBER, known, leads, line, on, receive, said, thread, words};
use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationError, ConversationMode, ConversationStatus};
use recado_domain::event::EventKind;
use recado_domain::ids::{ConversationId, MessageId, Ordinal};
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::Role;
use recado_domain::options::SendOptions;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_operators::{OperateError, OperatorAnswer};
use recado_pipeline::handle_turns_message;
use recado_pipeline::ports::{
    ConnectionAnswer, Conversations, Instances, PageRequest, SendOutcome, WriteOutcome,
};
use recado_pipeline::steps::message_view::MessageView;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::Value;

/// A conversation under either name, of the same person; nobody knows.
pub(crate) async fn two() -> Setup {
    let setup = on("evolution").await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    receive(&setup, words("a", LID, None, false)).await;
    receive(&setup, words("b", NUMBER, None, false)).await;
    setup
}

/// The person shows both names.
pub(crate) async fn shows_both(setup: &Setup) {
    receive(setup, words("c", NUMBER, Some(LID), false)).await;
}

pub(crate) async fn both(setup: &Setup) -> (Conversation, Conversation) {
    (
        thread(setup, LID).await.unwrap(),
        thread(setup, NUMBER).await.unwrap(),
    )
}

async fn becomes(setup: &Setup, conversation: &Conversation, mode: ConversationMode) {
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &conversation.id,
        mode,
        &correlation(),
    ))
    .await;
}

/// A person answers in a conversation; not sent yet.
async fn answers(setup: &Setup, conversation: &Conversation, text: &str) -> Result<MessageId, OperateError> {
    let answer = OperatorAnswer {
        content: Content::from_text(text),
        options: SendOptions::default(),
        seen: Some(conversation.last),
        key: None,
        correlation: correlation(),
    };
    let made =
        recado_operators::answer_as_operator(&setup.world, &Caller::installation(), &conversation.id, answer)
            .await?;
    Ok(made.message.message_id())
}

/// Plays the turns that are due and that they ask for.
pub(crate) async fn turns(setup: &Setup) {
    setup.pass(30);
    loop {
        let due = setup.due_turns().await;
        if due.is_empty() {
            return;
        }
        for job in due {
            let body = serde_json::to_string(&job).unwrap();
            let _ = handle_turns_message(&setup.world, &body, 1, None).await;
        }
    }
}

fn contents(setup: &Setup) -> Vec<String> {
    let contents = setup.world.providers.contents();
    contents.iter().map(Content::render_text).collect()
}

async fn is_sent(setup: &Setup, id: &MessageId) -> bool {
    let message = setup.world.store.find_message(id).await.unwrap().unwrap();
    matches!(message.out.unwrap().state, OutboxState::Sent { .. })
}

fn unexplained() -> SendOutcome {
    SendOutcome::Unknown {
        why: "HTTP 500".to_owned(),
        timed_out: false,
    }
}

#[tokio::test]
async fn what_comes_in_goes_to_the_conversation_under_the_number_and_what_is_owed_in_either_is_answered_once()
{
    let setup = two().await;
    shows_both(&setup).await;
    receive(&setup, words("d", LID, None, false)).await;
    let sent = setup.client_writes(LID).await;
    let (left, going_on) = both(&setup).await;
    assert_eq!(sent.conversation, Some(going_on.id.clone()));
    assert_eq!(left.linked.moved_to, Some(going_on.id.clone()));
    assert_eq!(said(&setup, &left).await, [line(Role::User, "a")]);
    assert_eq!(
        left.listed_status(),
        Some(ConversationStatus::Active),
        "an answer is owed in it"
    );
    turns(&setup).await;
    let (left, going_on) = both(&setup).await;
    assert_eq!(
        said(&setup, &left).await,
        [line(Role::User, "a"), line(Role::Assistant, "certo")]
    );
    let written = ["b", "c", "d"].map(|text| line(Role::User, text));
    let all = said(&setup, &going_on).await;
    assert_eq!(all[..3], written);
    assert_eq!(all[4..], [line(Role::Assistant, "certo")], "after the client's");
    assert_eq!(left.listed_status(), Some(ConversationStatus::Resolved));
    // Its id shows what was said in it.
    let shown = recado_operators::find_conversation(&setup.world, &Caller::installation(), &left.id)
        .await
        .unwrap();
    assert_eq!(shown.id, left.id);
    // Once all has left, nothing waits for it any more.
    assert_eq!(going_on.linked.beside, std::slice::from_ref(&left.id));
    for conversation in [&left, &going_on] {
        setup.send(&conversation.id).await;
    }
    receive(&setup, words("e", NUMBER, None, false)).await;
    assert_eq!(both(&setup).await.1.linked.beside, []);
}

#[tokio::test]
async fn who_has_one_of_two_conversations_has_both_and_gives_back_both() {
    for before in [false, true] {
        for under in [LID, NUMBER] {
            let setup = two().await;
            if !before {
                shows_both(&setup).await;
            }
            becomes(
                &setup,
                &thread(&setup, under).await.unwrap(),
                ConversationMode::Manual,
            )
            .await;
            if before {
                shows_both(&setup).await;
            }
            let (left, going_on) = both(&setup).await;
            let modes = [left.mode, going_on.mode];
            assert_eq!(modes, [ConversationMode::Manual; 2], "{under}, before: {before}");
            assert!(left.people.handover.is_some() && left.people.handover == going_on.people.handover);
            turns(&setup).await;
            let taken = if under == LID { &going_on } else { &left };
            becomes(&setup, taken, ConversationMode::Ai).await;
            let (left, going_on) = both(&setup).await;
            let modes = [left.mode, going_on.mode];
            assert_eq!(modes, [ConversationMode::Ai; 2], "{under}, before: {before}");
            assert!(left.people.handover.is_some() && left.people.handover == going_on.people.handover);
            turns(&setup).await;
            let (left, going_on) = both(&setup).await;
            assert!(
                !left.owes_answer() && !going_on.owes_answer(),
                "{under}, before: {before}"
            );
        }
    }
}

#[tokio::test]
async fn words_typed_on_the_phone_take_over_what_is_still_owed_in_the_conversation_that_was_left() {
    let setup = two().await;
    shows_both(&setup).await;
    receive(&setup, words("typed", LID, None, true)).await;
    let (left, going_on) = both(&setup).await;
    assert_eq!((left.mode, left.epoch), (ConversationMode::Manual, 1));
    assert_eq!((going_on.mode, going_on.epoch), (ConversationMode::Manual, 1));
    assert!(left.owes_answer() && !going_on.owes_answer());
}

#[tokio::test]
async fn messages_of_both_leave_in_the_order_in_which_they_were_made() {
    let setup = two().await;
    let (left, _) = both(&setup).await;
    let first = answers(&setup, &left, "primeiro").await.unwrap();
    setup.pass(1);
    setup.answers(unexplained());
    let _ = setup.job(&left.id).await;
    shows_both(&setup).await;
    let (left, going_on) = both(&setup).await;
    let second = answers(&setup, &going_on, "segundo").await.unwrap();
    setup.pass(1);
    let third = answers(&setup, &left, "terceiro").await;
    assert!(
        matches!(third, Err(OperateError::Refused(ConversationError::Resolved))),
        "nothing is owed in it any more"
    );
    let _ = setup.job(&going_on.id).await;
    assert_eq!(contents(&setup), ["primeiro"], "the second waits for the first");
    setup.send(&going_on.id).await;
    assert_eq!(contents(&setup), ["primeiro", "primeiro", "segundo"]);
    assert!(is_sent(&setup, &first).await && is_sent(&setup, &second).await);
}

#[tokio::test]
async fn what_is_answered_in_the_conversation_that_was_left_waits_for_what_was_made_before_it() {
    let setup = two().await;
    shows_both(&setup).await;
    let (left, going_on) = both(&setup).await;
    answers(&setup, &going_on, "primeiro").await.unwrap();
    setup.pass(1);
    answers(&setup, &left, "segundo").await.unwrap();
    setup.answers(unexplained());
    let _ = setup.job(&left.id).await;
    assert_eq!(contents(&setup), ["primeiro"]);
    setup.send(&left.id).await;
    assert_eq!(contents(&setup), ["primeiro", "primeiro", "segundo"]);
}

#[tokio::test]
async fn while_the_instance_is_closed_both_are_parked_and_leave_in_order() {
    let setup = two().await;
    let (left, _) = both(&setup).await;
    answers(&setup, &left, "primeiro").await.unwrap();
    shows_both(&setup).await;
    setup.pass(1);
    let (left, going_on) = both(&setup).await;
    answers(&setup, &going_on, "segundo").await.unwrap();
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    setup.send(&going_on.id).await;
    let store = &setup.world.store;
    let parked = store.list_parked(setup.fixture.instance(), 10).await.unwrap();
    let mut parked: Vec<_> = parked.into_iter().map(|parked| parked.conversation).collect();
    parked.sort();
    let mut expected = vec![left.id.clone(), going_on.id.clone()];
    expected.sort();
    assert_eq!(parked, expected);
    setup.world.providers.is(ConnectionAnswer::Open);
    setup.pass(3);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    let seen = store.read_instance_state(setup.fixture.instance()).await.unwrap();
    assert_eq!(seen.connection, ConnectionStatus::Open);
    setup.send(&going_on.id).await;
    assert_eq!(contents(&setup), ["primeiro", "segundo"]);
}

#[tokio::test]
async fn where_only_the_conversation_under_the_identity_goes_on_the_number_leads_there() {
    let setup = two().await;
    let (alone, numbered) = both(&setup).await;
    becomes(&setup, &alone, ConversationMode::Manual).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &numbered.id,
        None,
        &correlation(),
    ))
    .await;
    shows_both(&setup).await;
    receive(&setup, words("d", NUMBER, None, false)).await;
    let (alone, numbered) = both(&setup).await;
    assert!(leads(&setup, NUMBER, &alone).await && numbered.id.number_in_thread() == 2);
    assert_eq!(
        (alone.mode, alone.linked.moved_to.as_ref()),
        (ConversationMode::Manual, None)
    );
    let written = ["a", "c", "d"].map(|text| line(Role::User, text));
    assert_eq!(said(&setup, &alone).await, written);
    assert_eq!(alone.address, known(NUMBER));
}

#[tokio::test]
async fn no_conversation_begins_under_an_identity_that_was_shown_beside_a_number() {
    let setup = on("evolution").await;
    receive(&setup, words("b", NUMBER, Some(LID), false)).await;
    let going_on = thread(&setup, NUMBER).await.unwrap();
    assert!(leads(&setup, LID, &going_on).await);
    // A worker that asked for the number before it was learnt begins one, too late.
    let mut begun = thread(&setup, LID).await.unwrap();
    (begun.linked.moved_to, begun.status, begun.rev) = (None, ConversationStatus::Active, 1);
    let written = setup.world.store.update_conversation(&begun, &[]).await.unwrap();
    assert_eq!(written, WriteOutcome::Conflict);
}

#[tokio::test]
async fn none_begins_either_where_the_one_under_the_identity_was_resolved() {
    let setup = two().await;
    let (alone, _) = both(&setup).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &alone.id,
        None,
        &correlation(),
    ))
    .await;
    let resolved = thread(&setup, LID).await.unwrap();
    shows_both(&setup).await;
    // A worker that read it as resolved begins the next one, too late.
    let mut begun = resolved.clone();
    begun.id = ConversationId::new(resolved.id.thread_id().clone(), 2);
    (begun.status, begun.rev) = (ConversationStatus::Active, 1);
    let written = setup.world.store.update_conversation(&begun, &[]).await.unwrap();
    assert_eq!(written, WriteOutcome::Conflict);
    let going_on = thread(&setup, NUMBER).await.unwrap();
    assert!(leads(&setup, LID, &going_on).await);
}

#[tokio::test]
async fn a_new_number_goes_on_with_the_conversation_unless_the_old_one_is_somebody_elses_by_now() {
    for sold in [false, true] {
        let setup = on("evolution").await;
        receive(&setup, words("a", NUMBER, Some(LID), false)).await;
        if sold {
            receive(&setup, words("x", NUMBER, Some("200000000000002@lid"), false)).await;
        }
        receive(&setup, words("b", NEW_NUMBER, Some(LID), false)).await;
        receive(&setup, words("c", LID, None, false)).await;
        let old = thread(&setup, NUMBER).await.unwrap();
        let new = thread(&setup, NEW_NUMBER).await.unwrap();
        if sold {
            let theirs = [line(Role::User, "a"), line(Role::User, "x")];
            assert_eq!(said(&setup, &old).await, theirs);
            assert_eq!(
                said(&setup, &new).await,
                [line(Role::User, "b"), line(Role::User, "c")]
            );
        } else {
            assert_eq!(new.linked.moved_to, Some(old.id.clone()));
            let written = ["a", "b", "c"].map(|text| line(Role::User, text));
            assert_eq!(said(&setup, &old).await, written);
            assert_eq!(old.address, known(NEW_NUMBER));
        }
    }
}

#[tokio::test]
async fn the_window_of_24_hours_is_the_persons() {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    let (number, user) = ("5511900000001", "BR.100000001");
    receive(&setup, words("a", user, None, false)).await;
    setup.pass(25 * 3600);
    let alone = thread(&setup, user).await.unwrap();
    let late = answers(&setup, &alone, "tarde").await.unwrap();
    receive(&setup, words("b", number, None, false)).await;
    receive(&setup, words("c", number, Some(user), false)).await;
    setup.send(&alone.id).await;
    assert!(is_sent(&setup, &late).await, "the person wrote under the number");
    assert_eq!(alone.last_inbound, Ordinal(1));
}

/// All messages of the person as people see them from this conversation, page by page.
async fn read_by_people(setup: &Setup, conversation: &Conversation, limit: usize) -> Vec<MessageView> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..20 {
        let page = PageRequest { limit, cursor };
        let caller = Caller::installation();
        let page =
            recado_operators::list_joined_messages(&setup.world, &caller, &conversation.id, &page).await;
        let page = page.unwrap();
        assert!(page.items.len() <= limit);
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

#[tokio::test]
async fn people_read_both_histories_in_order_of_time() {
    let setup = two().await;
    turns(&setup).await;
    setup.pass(60);
    receive(&setup, words("later", LID, None, false)).await;
    turns(&setup).await;
    let (left, _) = both(&setup).await;
    setup.pass(60);
    shows_both(&setup).await;
    let going_on = both(&setup).await.1;
    assert_eq!(going_on.linked.joined, std::slice::from_ref(&left.id));
    turns(&setup).await;
    for limit in [1, 3, 50] {
        let shown = read_by_people(&setup, &going_on, limit).await;
        let times: Vec<_> = shown.iter().map(|view| view.message.written_at).collect();
        assert!(
            times.is_sorted_by(|newer, older| newer >= older),
            "{limit}: {times:?}"
        );
        let texts: Vec<String> = shown
            .iter()
            .map(|view| view.message.content.render_text())
            .collect();
        assert_eq!(texts[..4], ["certo", "c", "certo", "later"], "{limit}");
        assert_eq!(texts.len(), 8, "{limit}: {texts:?}");
    }
    let from_the_left = read_by_people(&setup, &both(&setup).await.0, 3).await;
    assert_eq!(from_the_left.len(), 8);
    let (caller, id) = (Caller::installation(), &going_on.id);
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &caller,
        id,
        None,
        &correlation(),
    ))
    .await;
    receive(&setup, words("d", NUMBER, None, false)).await;
    turns(&setup).await;
    assert_eq!(both(&setup).await.1.linked.joined, []);
    assert_eq!(*setup.world.llm.read.lock().unwrap(), ["d"], "a new conversation");
}
