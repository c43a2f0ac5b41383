//! Two conversations of one person, from the message on that shows that they are.

use crate::identities::{LID, NEW_NUMBER, NUMBER, known, leads, line, on, receive, said, thread, words};
use crate::world::Stage;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationError, ConversationMode, ConversationStatus};
use recado_domain::event::EventKind;
use recado_domain::ids::{ConversationId, MessageId, Ordinal};
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::Role;
use recado_domain::options::SendOptions;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_pipeline::operate::{self, OperateError, OperatorAnswer};
use recado_pipeline::ports::{ConnectionAnswer, Conversations, InstanceStates, SendOutcome, WriteOutcome};
use recado_pipeline::reply;
use recado_testkit::builders::{Scene, correlation};
use serde_json::Value;

/// A conversation under either name, of the same person; nobody knows.
async fn two() -> Stage {
    let stage = on("evolution").await;
    *stage.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    receive(&stage, words("a", LID, None, false)).await;
    receive(&stage, words("b", NUMBER, None, false)).await;
    stage
}

/// The person shows both names.
async fn shows_both(stage: &Stage) {
    receive(stage, words("c", NUMBER, Some(LID), false)).await;
}

async fn both(stage: &Stage) -> (Conversation, Conversation) {
    (
        thread(stage, LID).await.unwrap(),
        thread(stage, NUMBER).await.unwrap(),
    )
}

async fn becomes(stage: &Stage, conversation: &Conversation, mode: ConversationMode) {
    operate::set_conversation_mode(&stage.world, &conversation.id, mode, &correlation())
        .await
        .unwrap();
}

/// A person answers in a conversation; not sent yet.
async fn answers(stage: &Stage, conversation: &Conversation, text: &str) -> Result<MessageId, OperateError> {
    let answer = OperatorAnswer {
        content: Content::from_text(text),
        options: SendOptions::default(),
        seen: Some(conversation.last),
        key: None,
        correlation: correlation(),
    };
    let made = operate::answer_as_operator(&stage.world, &conversation.id, answer).await?;
    Ok(made.message.message_id())
}

/// Plays the turns that are due and that they ask for.
async fn turns(stage: &Stage) {
    stage.pass(30);
    loop {
        let due = stage.due_turns().await;
        if due.is_empty() {
            return;
        }
        for kick in due {
            let body = serde_json::to_string(&kick).unwrap();
            let _ = reply::handle_turn_message(&stage.world, &body, 1).await;
        }
    }
}

fn contents(stage: &Stage) -> Vec<String> {
    let contents = stage.world.providers.contents();
    contents.iter().map(Content::render_text).collect()
}

async fn is_sent(stage: &Stage, id: &MessageId) -> bool {
    let message = stage.world.store.find_message(id).await.unwrap().unwrap();
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
    let stage = two().await;
    shows_both(&stage).await;
    receive(&stage, words("d", LID, None, false)).await;
    let sent = stage.client_writes(LID).await;
    let (left, going_on) = both(&stage).await;
    assert_eq!(sent.conversation, Some(going_on.id.clone()));
    assert_eq!(left.moved_to, Some(going_on.id.clone()));
    assert_eq!(said(&stage, &left).await, [line(Role::User, "a")]);
    assert_eq!(
        left.listed_status(),
        Some(ConversationStatus::Active),
        "an answer is owed in it"
    );
    turns(&stage).await;
    let (left, going_on) = both(&stage).await;
    assert_eq!(
        said(&stage, &left).await,
        [line(Role::User, "a"), line(Role::Assistant, "certo")]
    );
    let written = ["b", "c", "d"].map(|text| line(Role::User, text));
    let all = said(&stage, &going_on).await;
    assert_eq!(all[..3], written);
    assert_eq!(all[4..], [line(Role::Assistant, "certo")], "after the client's");
    assert_eq!(left.listed_status(), Some(ConversationStatus::Resolved));
    // Its id shows what was said in it.
    let shown = operate::find_conversation(&stage.world, &left.id).await.unwrap();
    assert_eq!(shown.id, left.id);
    // Once all has left, nothing waits for it any more.
    assert_eq!(going_on.beside, std::slice::from_ref(&left.id));
    for conversation in [&left, &going_on] {
        stage.send(&conversation.id).await;
    }
    receive(&stage, words("e", NUMBER, None, false)).await;
    assert_eq!(both(&stage).await.1.beside, []);
}

#[tokio::test]
async fn who_has_one_of_two_conversations_has_both_and_gives_back_both() {
    for before in [false, true] {
        for under in [LID, NUMBER] {
            let stage = two().await;
            if !before {
                shows_both(&stage).await;
            }
            becomes(
                &stage,
                &thread(&stage, under).await.unwrap(),
                ConversationMode::Manual,
            )
            .await;
            if before {
                shows_both(&stage).await;
            }
            let (left, going_on) = both(&stage).await;
            let modes = [left.mode, going_on.mode];
            assert_eq!(modes, [ConversationMode::Manual; 2], "{under}, before: {before}");
            turns(&stage).await;
            let taken = if under == LID { &going_on } else { &left };
            becomes(&stage, taken, ConversationMode::Ai).await;
            let (left, going_on) = both(&stage).await;
            let modes = [left.mode, going_on.mode];
            assert_eq!(modes, [ConversationMode::Ai; 2], "{under}, before: {before}");
            turns(&stage).await;
            let (left, going_on) = both(&stage).await;
            assert!(
                !left.owes_answer() && !going_on.owes_answer(),
                "{under}, before: {before}"
            );
        }
    }
}

#[tokio::test]
async fn words_typed_on_the_phone_take_over_what_is_still_owed_in_the_conversation_that_was_left() {
    let stage = two().await;
    shows_both(&stage).await;
    receive(&stage, words("typed", LID, None, true)).await;
    let (left, going_on) = both(&stage).await;
    assert_eq!((left.mode, left.epoch), (ConversationMode::Manual, 1));
    assert_eq!((going_on.mode, going_on.epoch), (ConversationMode::Manual, 1));
    assert!(left.owes_answer() && !going_on.owes_answer());
}

#[tokio::test]
async fn messages_of_both_leave_in_the_order_in_which_they_were_made() {
    let stage = two().await;
    let (left, _) = both(&stage).await;
    let first = answers(&stage, &left, "primeiro").await.unwrap();
    stage.pass(1);
    stage.answers(unexplained());
    let _ = stage.kick(&left.id).await;
    shows_both(&stage).await;
    let (left, going_on) = both(&stage).await;
    let second = answers(&stage, &going_on, "segundo").await.unwrap();
    stage.pass(1);
    let third = answers(&stage, &left, "terceiro").await;
    assert!(
        matches!(third, Err(OperateError::Refused(ConversationError::Resolved))),
        "nothing is owed in it any more"
    );
    let _ = stage.kick(&going_on.id).await;
    assert_eq!(contents(&stage), ["primeiro"], "the second waits for the first");
    stage.send(&going_on.id).await;
    assert_eq!(contents(&stage), ["primeiro", "primeiro", "segundo"]);
    assert!(is_sent(&stage, &first).await && is_sent(&stage, &second).await);
}

#[tokio::test]
async fn what_is_answered_in_the_conversation_that_was_left_waits_for_what_was_made_before_it() {
    let stage = two().await;
    shows_both(&stage).await;
    let (left, going_on) = both(&stage).await;
    answers(&stage, &going_on, "primeiro").await.unwrap();
    stage.pass(1);
    answers(&stage, &left, "segundo").await.unwrap();
    stage.answers(unexplained());
    let _ = stage.kick(&left.id).await;
    assert_eq!(contents(&stage), ["primeiro"]);
    stage.send(&left.id).await;
    assert_eq!(contents(&stage), ["primeiro", "primeiro", "segundo"]);
}

#[tokio::test]
async fn while_the_instance_is_closed_both_are_parked_and_leave_in_order() {
    let stage = two().await;
    let (left, _) = both(&stage).await;
    answers(&stage, &left, "primeiro").await.unwrap();
    shows_both(&stage).await;
    stage.pass(1);
    let (left, going_on) = both(&stage).await;
    answers(&stage, &going_on, "segundo").await.unwrap();
    stage.world.providers.is(ConnectionAnswer::Closed);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    stage.send(&going_on.id).await;
    let store = &stage.world.store;
    let parked = store.list_parked(stage.scene.instance(), 10).await.unwrap();
    let mut parked: Vec<_> = parked.into_iter().map(|parked| parked.conversation).collect();
    parked.sort();
    let mut expected = vec![left.id.clone(), going_on.id.clone()];
    expected.sort();
    assert_eq!(parked, expected);
    stage.world.providers.is(ConnectionAnswer::Open);
    stage.pass(3);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, recado_pipeline::Verdict::Done);
    let seen = store.read_instance_state(stage.scene.instance()).await.unwrap();
    assert_eq!(seen.connection, ConnectionStatus::Open);
    stage.send(&going_on.id).await;
    assert_eq!(contents(&stage), ["primeiro", "segundo"]);
}

#[tokio::test]
async fn where_only_the_conversation_under_the_identity_goes_on_the_number_leads_there() {
    let stage = two().await;
    let (alone, numbered) = both(&stage).await;
    becomes(&stage, &alone, ConversationMode::Manual).await;
    operate::resolve_conversation(&stage.world, &numbered.id, None, &correlation())
        .await
        .unwrap();
    shows_both(&stage).await;
    receive(&stage, words("d", NUMBER, None, false)).await;
    let (alone, numbered) = both(&stage).await;
    assert!(leads(&stage, NUMBER, &alone).await && numbered.id.number_in_thread() == 2);
    assert_eq!(
        (alone.mode, alone.moved_to.as_ref()),
        (ConversationMode::Manual, None)
    );
    let written = ["a", "c", "d"].map(|text| line(Role::User, text));
    assert_eq!(said(&stage, &alone).await, written);
    assert_eq!(alone.address, known(NUMBER));
}

#[tokio::test]
async fn no_conversation_begins_under_an_identity_that_was_shown_beside_a_number() {
    let stage = on("evolution").await;
    receive(&stage, words("b", NUMBER, Some(LID), false)).await;
    let going_on = thread(&stage, NUMBER).await.unwrap();
    assert!(leads(&stage, LID, &going_on).await);
    // A worker that asked for the number before it was learnt begins one, too late.
    let mut begun = thread(&stage, LID).await.unwrap();
    (begun.moved_to, begun.status, begun.rev) = (None, ConversationStatus::Active, 1);
    let written = stage.world.store.update_conversation(&begun).await.unwrap();
    assert_eq!(written, WriteOutcome::Conflict);
}

#[tokio::test]
async fn none_begins_either_where_the_one_under_the_identity_was_resolved() {
    let stage = two().await;
    let (alone, _) = both(&stage).await;
    operate::resolve_conversation(&stage.world, &alone.id, None, &correlation())
        .await
        .unwrap();
    let resolved = thread(&stage, LID).await.unwrap();
    shows_both(&stage).await;
    // A worker that read it as resolved begins the next one, too late.
    let mut begun = resolved.clone();
    begun.id = ConversationId::new(resolved.id.thread_id().clone(), 2);
    (begun.status, begun.rev) = (ConversationStatus::Active, 1);
    let written = stage.world.store.update_conversation(&begun).await.unwrap();
    assert_eq!(written, WriteOutcome::Conflict);
    let going_on = thread(&stage, NUMBER).await.unwrap();
    assert!(leads(&stage, LID, &going_on).await);
}

#[tokio::test]
async fn a_new_number_goes_on_with_the_conversation_unless_the_old_one_is_somebody_elses_by_now() {
    for sold in [false, true] {
        let stage = on("evolution").await;
        receive(&stage, words("a", NUMBER, Some(LID), false)).await;
        if sold {
            receive(&stage, words("x", NUMBER, Some("200000000000002@lid"), false)).await;
        }
        receive(&stage, words("b", NEW_NUMBER, Some(LID), false)).await;
        receive(&stage, words("c", LID, None, false)).await;
        let old = thread(&stage, NUMBER).await.unwrap();
        let new = thread(&stage, NEW_NUMBER).await.unwrap();
        if sold {
            let theirs = [line(Role::User, "a"), line(Role::User, "x")];
            assert_eq!(said(&stage, &old).await, theirs);
            assert_eq!(
                said(&stage, &new).await,
                [line(Role::User, "b"), line(Role::User, "c")]
            );
        } else {
            assert_eq!(new.moved_to, Some(old.id.clone()));
            let written = ["a", "b", "c"].map(|text| line(Role::User, text));
            assert_eq!(said(&stage, &old).await, written);
            assert_eq!(old.address, known(NEW_NUMBER));
        }
    }
}

#[tokio::test]
async fn the_window_of_24_hours_is_the_persons() {
    let stage = Stage::set(Scene::on(Provider::Meta)).await;
    let (number, user) = ("5511900000001", "BR.100000001");
    receive(&stage, words("a", user, None, false)).await;
    stage.pass(25 * 3600);
    let alone = thread(&stage, user).await.unwrap();
    let late = answers(&stage, &alone, "tarde").await.unwrap();
    receive(&stage, words("b", number, None, false)).await;
    receive(&stage, words("c", number, Some(user), false)).await;
    stage.send(&alone.id).await;
    assert!(is_sent(&stage, &late).await, "the person wrote under the number");
    assert_eq!(alone.last_inbound, Ordinal(1));
}
