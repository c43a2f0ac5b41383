//! People who answer, take conversations over and give them back.

use crate::world::Stage;
use recado_domain::content::Content;
use recado_domain::conversation::Mode;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{IdempotencyKey, Ordinal};
use recado_domain::kick::SendKick;
use recado_domain::options::SendOptions;
use recado_pipeline::operate;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::{Scene, correlation};
use std::time::Duration;

/// The kicks that are due; they are gone then.
async fn kicks(stage: &Stage) -> Vec<SendKick> {
    let queues = &stage.world.queues;
    let visibility = Duration::from_secs(60);
    let due = queues.receive(QueueName::Outbound, 10, visibility).await;
    let mut kicks = Vec::new();
    for message in due.unwrap() {
        queues.delete(&message.receipt).await.unwrap();
        kicks.push(serde_json::from_str(&message.body).unwrap());
    }
    kicks
}

#[tokio::test]
async fn what_the_agent_answered_before_hundreds_of_messages_is_not_answered_again() {
    let stage = Stage::set(Scene::new()).await;
    let reply = stage.replied().await;
    let id = &reply.conversation;
    stage.send(id).await;
    let set_mode = async |mode| {
        let set = operate::set_mode(&stage.world, id, mode, &correlation()).await;
        set.unwrap()
    };
    let taken_over = set_mode(Mode::Manual).await;
    for _ in 0..210 {
        let sent = stage.client_writes(taken_over.address.as_str()).await;
        assert_eq!(sent.conversation.as_ref(), Some(id));
    }
    let given_back = set_mode(Mode::Ai).await;
    assert_eq!(given_back.answered, Ordinal(1));
    assert!(!given_back.owes());
    assert!(stage.due_turns().await.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_sent_in_again_is_one_message_and_is_kicked_again() {
    let stage = Stage::set(Scene::new()).await;
    stage.message(&stage.scene, "W1", "oi", false).await;
    let latest = stage.world.store.latest(&stage.scene.thread()).await.unwrap();
    let id = latest.unwrap().id;
    let answer = async || {
        let answer = operate::Answer {
            content: Content::text("Já vou"),
            options: SendOptions::default(),
            seen: None,
            key: IdempotencyKey::parse("answer-1").ok(),
            correlation: correlation(),
        };
        let made = operate::answer(&stage.world, &id, answer).await;
        made.unwrap().message.ordinal
    };
    let first = answer().await;
    assert_eq!(kicks(&stage).await.len(), 1, "it is lost with its process");
    assert_eq!(answer().await, first);
    let again = kicks(&stage).await;
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0].conversation, again[0].upto), (&id, first));
    stage.send(&id).await;
    assert_eq!(stage.world.providers.sent(), 1);
    assert_eq!(answer().await, first);
    assert!(kicks(&stage).await.is_empty(), "nothing is open any more");
}
