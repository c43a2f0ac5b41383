//! What a conversation tells of the answer that it owes.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::answer::AnswerReason;
use recado_domain::ids::Ordinal;
use recado_pipeline::operate;
use recado_pipeline::ports::{Conversations, PageRequest};
use recado_pipeline::trace::load_timeline;
use recado_testkit::builders::Fixture;
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
        let owed = operate::explain_owed_answers(&setup.world, all).await;
        owed.unwrap().remove(0).unwrap()
    };
    let told = owed().await;
    assert_eq!(told.reason, AnswerReason::Debounce);
    assert!(told.until.is_some_and(|until| until > setup.now()), "{told:?}");
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let caller = Caller::installation();
    let listed = operate::list_messages(&setup.world, &caller, &conversation.id, &page).await;
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
