//! Messages to one contact keep their order, whatever becomes of its conversations.

use crate::world::Stage;
use recado_domain::conversation::Mode;
use recado_domain::outbox::OutboxState;
use recado_pipeline::operate;
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome, Written};
use recado_testkit::builders::{Scene, correlation};

#[tokio::test]
async fn a_message_of_the_next_conversation_waits_for_what_a_resolved_one_still_has_open() {
    let stage = Stage::set(Scene::new()).await;
    let (store, to) = (&stage.world.store, stage.scene.address.as_str());
    let first = stage.client_writes(to).await;
    let conversation = first.conversation.clone().unwrap();
    stage.answers(SendOutcome::Unknown {
        why: "HTTP 500".to_owned(),
        timed_out: false,
    });
    let _ = stage.kick(&conversation).await;
    operate::resolve(&stage.world, &conversation, None, &correlation())
        .await
        .unwrap();
    let second = stage.client_writes(to).await;
    let next = second.conversation.clone().unwrap();
    assert_ne!(next, conversation);
    let _ = stage.kick(&next).await;
    assert_eq!(stage.world.providers.sent(), 1, "the first is still unknown");
    stage.send(&next).await;
    for id in [&first.id, &second.id] {
        let message = store.message(id).await.unwrap().unwrap();
        assert!(matches!(message.out.unwrap().state, OutboxState::Sent { .. }));
    }
    assert_eq!(
        stage.world.providers.sent(),
        3,
        "the first went out again, then the second"
    );
    assert!(store.open(next.thread()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_cancelled_reply_is_a_conflict_for_who_read_the_conversation_before() {
    let stage = Stage::set(Scene::new()).await;
    let store = &stage.world.store;
    let reply = stage.replied().await;
    let id = &reply.conversation;
    operate::set_mode(&stage.world, id, Mode::Manual, &correlation())
        .await
        .unwrap();
    let mut read_before = store.conversation(id).await.unwrap().unwrap();
    stage.send(id).await;
    let cancelled = store.message(&reply.id()).await.unwrap().unwrap();
    assert!(matches!(
        cancelled.out.unwrap().state,
        OutboxState::Cancelled { .. }
    ));
    read_before.rev += 1;
    assert_eq!(store.update(&read_before).await.unwrap(), Written::Conflict);
}
