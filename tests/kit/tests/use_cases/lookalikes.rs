//! The same words again, from a provider that gives them neither an id nor a time.

use crate::world::Stage;
use recado_domain::event::{EventKind, LOOKALIKE_DEDUP_MS, derive_event_id_from_body};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_pipeline::ingest::ingest;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::{Scene, correlation};
use serde_json::json;

/// Posts "Oi"; how many events were enqueued.
async fn says_oi(stage: &Stage, lookalike: bool) -> usize {
    let (external, provider) = (stage.scene.external(), stage.scene.bound.instance.provider);
    let payload = json!({"address": stage.scene.address.as_str(), "id": "", "text": "Oi", "from_me": false});
    let event = WebhookEvent {
        id: derive_event_id_from_body(provider, &external, EventKind::Message, &payload),
        provider,
        external,
        kind: EventKind::Message,
        address: Some(stage.scene.address.clone()),
        payload,
        lookalike,
    };
    let items = vec![WebhookItem::Event(event)];
    ingest(&stage.world, items, &correlation()).await.unwrap().events
}

async fn stored(stage: &Stage) -> usize {
    let latest = stage
        .world
        .store
        .find_latest_conversation(&stage.scene.thread())
        .await
        .unwrap();
    latest.map_or(0, |conversation| usize::try_from(conversation.last.0).unwrap())
}

#[tokio::test]
async fn the_same_words_are_another_message_minutes_later_and_one_before() {
    let stage = Stage::set(Scene::new()).await;
    assert_eq!(says_oi(&stage, true).await, 1);
    stage.due_events().await;
    stage.pass(LOOKALIKE_DEDUP_MS / 1000 - 1);
    assert_eq!(says_oi(&stage, true).await, 0, "it may be the same webhook again");
    stage.pass(2);
    assert_eq!(says_oi(&stage, true).await, 1);
    stage.due_events().await;
    assert_eq!(stored(&stage).await, 2);
}

#[tokio::test]
async fn an_event_that_is_no_lookalike_is_known_for_seven_days() {
    const DAY: i64 = 86_400;
    let stage = Stage::set(Scene::new()).await;
    assert_eq!(says_oi(&stage, false).await, 1);
    stage.due_events().await;
    stage.pass(7 * DAY - 1);
    assert_eq!(says_oi(&stage, false).await, 0);
    stage.pass(2);
    assert_eq!(says_oi(&stage, false).await, 1);
    stage.due_events().await;
    assert_eq!(stored(&stage).await, 2);
}
