//! What a turn does besides asking the model, and what a contact's notes change.

use crate::world::Stage;
use recado_domain::content::{Content, SystemNote};
use recado_pipeline::operate;
use recado_pipeline::ports::{Conversations, OutboxStore};
use recado_testkit::builders::{Scene, correlation};
use serde_json::json;
use std::sync::atomic::Ordering;

const UNREADABLE: &str = "Não consigo abrir isso.";

async fn stage(change: impl FnOnce(&mut Scene)) -> Stage {
    let mut scene = Scene::new();
    change(&mut scene);
    Stage::set(scene).await
}

fn unknown() -> Content {
    Content::Unsupported {
        kind: "hologram".to_owned(),
        raw: json!({"a": 1}),
    }
}

#[tokio::test]
async fn what_nobody_can_read_is_answered_with_the_agents_own_words() {
    let stage = stage(|scene| scene.bound.agent.unsupported_message = Some(UNREADABLE.to_owned())).await;
    stage.sends(&stage.scene, "W1", &unknown()).await;
    stage.sends(&stage.scene, "W2", &unknown()).await;
    let reply = stage.turn(&stage.scene).await;
    assert_eq!(
        (reply.content, reply.unanswered),
        (Content::from_text(UNREADABLE), None)
    );
}

#[tokio::test]
async fn the_model_is_asked_if_there_is_anything_else_in_the_burst_or_no_such_words() {
    for (with_text, words) in [(true, Some(UNREADABLE.to_owned())), (false, None)] {
        let stage = stage(|scene| scene.bound.agent.unsupported_message = words).await;
        stage.sends(&stage.scene, "W1", &unknown()).await;
        if with_text {
            stage.message(&stage.scene, "W2", "viu?", false).await;
        }
        // The model of this stage always refuses.
        let reply = stage.turn(&stage.scene).await;
        let error = stage.scene.bound.agent.error_message.clone();
        assert_eq!(reply.content, Content::from_text(error));
    }
}

#[tokio::test]
async fn the_newest_message_of_a_burst_is_shown_as_read_where_the_instance_says_so() {
    for (mark_read, typing, expected) in [
        (true, false, vec![("W2".to_owned(), false)]),
        (false, true, vec![("W2".to_owned(), true)]),
        (false, false, vec![]),
    ] {
        let stage = stage(|scene| {
            scene.bound.instance.mark_read = mark_read;
            scene.bound.instance.typing = typing;
        })
        .await;
        stage.message(&stage.scene, "W1", "oi", false).await;
        stage.message(&stage.scene, "W2", "tudo bem?", false).await;
        stage.turn(&stage.scene).await;
        assert_eq!(*stage.world.providers.shown.lock().unwrap(), expected);
    }
}

#[tokio::test]
async fn what_is_shown_meanwhile_ends_with_the_reply() {
    let stage = stage(|scene| scene.bound.instance.typing = true).await;
    let shows = &stage.world.providers.shows_for_ever;
    shows.store(true, Ordering::SeqCst);
    stage.message(&stage.scene, "W1", "oi", false).await;
    stage.turn(&stage.scene).await;
    let told = stage.world.providers.shown.lock().unwrap().clone();
    assert_eq!(told, [("W1".to_owned(), true)]);
}

#[tokio::test]
async fn an_opt_out_is_kept_in_the_conversation_and_in_the_next() {
    let stage = stage(|_| {}).await;
    let note = |what| Content::System { what, text: None };
    let latest = async || {
        let latest = stage
            .world
            .store
            .find_latest_conversation(&stage.scene.thread())
            .await;
        latest.unwrap().unwrap()
    };
    stage
        .sends(&stage.scene, "W1", &note(SystemNote::MarketingStopped))
        .await;
    let first = latest().await;
    assert_eq!(first.marketing_stopped_at, Some(stage.now()));
    assert!(!first.owes_answer(), "a note wants no answer");
    operate::resolve_conversation(&stage.world, &first.id, None, &correlation())
        .await
        .unwrap();
    stage.message(&stage.scene, "W2", "oi", false).await;
    let next = latest().await;
    assert_ne!(next.id, first.id);
    assert_eq!(next.marketing_stopped_at, first.marketing_stopped_at);
    stage.pass(1);
    stage
        .sends(&stage.scene, "W3", &note(SystemNote::MarketingResumed))
        .await;
    assert_eq!(latest().await.marketing_stopped_at, None);
}

#[tokio::test]
async fn a_turn_without_the_models_key_is_no_attempt_and_is_answered_once_the_key_is_there() {
    let stage = stage(|_| {}).await;
    let model = &stage.world.llm;
    *model.says.lock().unwrap() = Some("certo".to_owned());
    model.lacks_key.store(true, Ordering::SeqCst);
    stage.message(&stage.scene, "W1", "oi", false).await;
    for asked in 1..=6 {
        stage.turns(&stage.scene).await;
        assert_eq!(model.asked.lock().unwrap().len(), asked);
        let open = stage
            .world
            .store
            .list_open_messages(&stage.scene.thread())
            .await
            .unwrap();
        assert_eq!(open, [], "the contact is told nothing");
        stage.pass(300);
    }
    model.lacks_key.store(false, Ordering::SeqCst);
    assert_eq!(
        stage.turn(&stage.scene).await.content,
        Content::from_text("certo")
    );
}
