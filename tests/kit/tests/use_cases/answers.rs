//! What a conversation tells of the answer that it owes.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::answer::{AnswerReason, AnswerState, ExplainedAnswer};
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};

use recado_message_views::trace::load_timeline;
use recado_pipeline::ports::{Conversations, Instances, PageRequest};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, seen};
use recado_testkit::ports::succeed;

#[tokio::test]
async fn an_owed_answer_and_its_message_tell_the_same_end_of_the_debounce() {
    let setup = Setup::set(Fixture::new()).await;
    setup
        .message(&setup.fixture, "A", "Vocês abrem hoje?", false)
        .await;
    let store = &setup.world.store;
    let found = succeed(store.find_latest_conversation(&setup.fixture.thread())).await;
    let conversation = found.unwrap();
    let owed = async || {
        let all = std::slice::from_ref(&conversation);
        let owed = recado_operators::explain_owed_answers(&setup.world, all).await;
        owed.unwrap().remove(0).unwrap()
    };
    let told = owed().await;
    assert_eq!(told.reason, AnswerReason::Debounce);
    assert!(told.until.is_some_and(|until| until > setup.now()), "{told:?}");
    let page = PageRequest::first(10);
    let caller = Caller::installation();
    let listed = recado_operators::list_messages(&setup.world, &caller, &conversation.id, &page).await;
    let of_message = listed.unwrap().items.remove(0).answer;
    assert_eq!(of_message, Some(told));
    setup.pass(600);
    let told = owed().await;
    assert_eq!(
        (told.reason, told.until),
        (AnswerReason::Debounce, None),
        "it is over"
    );
}

#[tokio::test]
async fn a_reply_behind_hundreds_of_messages_is_found_for_the_first_of_them() {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    for number in 0..250 {
        setup
            .message(&setup.fixture, &format!("W{number}"), "oi", false)
            .await;
    }
    let conversation = setup.turns(&setup.fixture).await;
    let first = conversation.message_id(Ordinal(1));
    let caller = Caller::installation();
    let shown = Box::pin(load_timeline(&setup.world, &caller, &first))
        .await
        .unwrap();
    let answer = shown.unwrap().view.answer.unwrap();
    assert_eq!(answer.reason, AnswerReason::Sending);
    assert_eq!(answer.reply, Some(conversation.message_id(Ordinal(251))));
}

/// The answer to the first message of the conversation, as the list of its messages tells it.
pub(crate) async fn first_answer(setup: &Setup, conversation: &ConversationId) -> ExplainedAnswer {
    let page = PageRequest::first(10);
    let caller = Caller::installation();
    let listed = recado_operators::list_messages(&setup.world, &caller, conversation, &page).await;
    let all = listed.unwrap().items;
    let first = all.into_iter().min_by_key(|view| view.message.ordinal);
    first.unwrap().answer.unwrap()
}

#[tokio::test]
async fn a_reply_that_cannot_leave_says_why_and_since_when() {
    let setup = Setup::set(Fixture::new()).await;
    let (store, instance) = (&setup.world.store, setup.fixture.instance());
    setup
        .message(&setup.fixture, "A", "Vocês abrem hoje?", false)
        .await;
    *setup.world.llm.says.lock().unwrap() = Some("Sim".to_owned());
    setup.pass(10);
    let conversation = setup.turns(&setup.fixture).await;
    let ready = first_answer(&setup, &conversation).await;
    assert_eq!(ready.reason, AnswerReason::Sending);
    for (connection, reason) in [
        (ConnectionStatus::Closed, AnswerReason::InstanceClosed),
        (ConnectionStatus::Unreachable, AnswerReason::InstanceUnreachable),
        (ConnectionStatus::NeedsCredentials, AnswerReason::InstanceKey),
    ] {
        let since = setup.now();
        for connection in [connection, ConnectionStatus::Open] {
            let change = InstanceChange::Connection(seen(connection, setup.now(), None));
            succeed(store.change_instance_state(instance, &InstanceState::default(), &change)).await;
            setup.pass(60);
            let told = first_answer(&setup, &conversation).await;
            if connection == ConnectionStatus::Open {
                assert_eq!(told, ready, "it goes on");
                continue;
            }
            assert_eq!((told.reason, told.since), (reason, Some(since)));
            assert_eq!(
                (told.reason.state(), told.reply),
                (AnswerState::Waiting, ready.reply.clone())
            );
        }
    }
    let mut document = setup.fixture.document();
    document.tenants[0].disabled = true;
    succeed(put_configuration(store, &document)).await;
    let told = first_answer(&setup, &conversation).await;
    assert_eq!((told.reason, told.since), (AnswerReason::NoInstance, ready.since));
}
