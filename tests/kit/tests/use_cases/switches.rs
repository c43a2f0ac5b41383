//! What an instance's configuration switches, and what a webhook says of the contact.

use crate::world::Stage;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::event::EventKind;
use recado_pipeline::ports::{ConfigurationStore, Conversations};
use recado_pipeline::{Verdict, operate, reply};
use recado_testkit::builders::{Scene, correlation};
use serde_json::json;

async fn stage(change: impl FnOnce(&mut Scene)) -> Stage {
    let mut scene = Scene::new();
    change(&mut scene);
    let stage = Stage::set(scene).await;
    *stage.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    stage
}

async fn conversation(stage: &Stage) -> Conversation {
    let latest = stage
        .world
        .store
        .find_latest_conversation(&stage.scene.thread())
        .await;
    latest.unwrap().unwrap()
}

fn calls(stage: &Stage) -> usize {
    stage.world.llm.asked.lock().unwrap().len()
}

/// Plays the turns that are due.
async fn play(stage: &Stage) {
    for kick in stage.due_turns().await {
        let body = serde_json::to_string(&kick).unwrap();
        assert_eq!(
            reply::handle_turn_message(&stage.world, &body, 1).await,
            Verdict::Done
        );
    }
}

#[tokio::test]
async fn an_instance_that_does_not_start_with_the_agent_leaves_its_conversations_to_people() {
    let stage = stage(|scene| scene.bound.instance.starts_with_ai = false).await;
    stage.message(&stage.scene, "W1", "oi", false).await;
    stage.pass(60);
    play(&stage).await;
    let known = conversation(&stage).await;
    assert_eq!((known.mode, calls(&stage)), (ConversationMode::Manual, 0));
    operate::set_conversation_mode(&stage.world, &known.id, ConversationMode::Ai, &correlation())
        .await
        .unwrap();
    play(&stage).await;
    assert_eq!(calls(&stage), 1);
    assert!(!conversation(&stage).await.owes_answer());
}

#[tokio::test]
async fn a_burst_is_waited_for_as_long_as_the_settings_say_or_the_instance() {
    for (own, seconds) in [(None, 4), (Some(11.0), 11), (Some(0.0), 0)] {
        let stage = stage(|scene| scene.bound.instance.debounce_seconds = own).await;
        stage.message(&stage.scene, "W1", "oi", false).await;
        if seconds > 0 {
            stage.pass(seconds - 1);
            assert!(stage.due_turns().await.is_empty(), "{own:?}");
            stage.pass(1);
        }
        assert_eq!(stage.due_turns().await.len(), 1, "{own:?}");
    }
}

#[tokio::test]
async fn the_contacts_name_is_what_its_last_message_said() {
    let stage = stage(|_| {}).await;
    for (id, name, known) in [
        ("W1", Some("Bia"), "Bia"),
        ("W2", None, "Bia"),
        ("W3", Some("Beatriz"), "Beatriz"),
    ] {
        let address = stage.scene.address.as_str();
        let payload = json!({"address": address, "id": id, "text": "oi", "from_me": false, "name": name});
        let job = stage.event(EventKind::Message, payload).await;
        assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
        assert_eq!(conversation(&stage).await.name.as_deref(), Some(known), "{id}");
    }
}

#[tokio::test]
async fn opening_hours_are_looked_at_again_whenever_the_turn_comes() {
    // It is Monday.
    let closed = serde_json::from_value(json!({"wed": ["00:00-24:00"]})).unwrap();
    let stage = stage(|scene| scene.bound.instance.opening_hours = Some(closed)).await;
    stage.message(&stage.scene, "W1", "oi", false).await;
    stage.pass(4);
    play(&stage).await;
    let opens = conversation(&stage).await.scheduled_for;
    assert!(opens.is_some_and(|opens| opens > stage.now()));
    // A schedule that fires early, or hours that were put off meanwhile.
    stage.pass(3_600);
    stage.turns(&stage.scene).await;
    assert_eq!(calls(&stage), 0);
    assert_eq!(conversation(&stage).await.scheduled_for, opens);
    let mut open = stage.scene.document();
    for instance in &mut open.instances {
        instance.opening_hours = None;
    }
    stage.world.store.apply_configuration(&open).await.unwrap();
    stage.turns(&stage.scene).await;
    assert_eq!(calls(&stage), 1, "open since then");
    assert_eq!(conversation(&stage).await.scheduled_for, None);
}

#[tokio::test]
async fn a_turn_that_comes_before_the_opening_by_another_clock_comes_again() {
    let opens = serde_json::from_value(json!({"wed": ["00:00-24:00"]})).unwrap();
    let stage = stage(|scene| scene.bound.instance.opening_hours = Some(opens)).await;
    stage.message(&stage.scene, "W1", "oi", false).await;
    stage.pass(4);
    play(&stage).await;
    let opens = conversation(&stage).await.scheduled_for.unwrap();
    stage.pass(opens.as_second() - stage.now().as_second());
    let early = stage.due_turns().await;
    assert_eq!(early.len(), 1);
    // The clock of the function that is given it is three seconds behind.
    stage.pass(-3);
    let body = serde_json::to_string(&early[0]).unwrap();
    assert_eq!(
        reply::handle_turn_message(&stage.world, &body, 1).await,
        Verdict::Done
    );
    assert_eq!(calls(&stage), 0);
    stage.pass(3);
    play(&stage).await;
    assert_eq!(calls(&stage), 1);
}
