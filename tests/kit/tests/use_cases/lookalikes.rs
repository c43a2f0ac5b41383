//! The same words again, from a provider that gives them neither an id nor a time.

use crate::world::Setup;
use recado_domain::event::{EventKind, LOOKALIKE_DEDUP, derive_event_id_from_body};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_pipeline::ingest::ingest;
use recado_testkit::builders::{Fixture, correlation};
use serde_json::json;

/// Posts "Oi"; how many events were enqueued.
async fn says_oi(setup: &Setup, lookalike: bool) -> usize {
    let (external, provider) = (setup.fixture.external(), setup.fixture.bound.instance.provider);
    let payload =
        json!({"address": setup.fixture.address.as_str(), "id": "", "text": "Oi", "from_me": false});
    let event = WebhookEvent {
        id: derive_event_id_from_body(provider, &external, EventKind::Message, &payload),
        provider,
        external,
        kind: EventKind::Message,
        address: Some(setup.fixture.address.clone()),
        payload,
        lookalike,
        file: None,
    };
    let items = vec![WebhookItem::Event(event)];
    ingest(&setup.world, items, &correlation()).await.unwrap().events
}

async fn stored(setup: &Setup) -> usize {
    let latest = setup.latest_conversation().await;
    latest.map_or(0, |conversation| usize::try_from(conversation.last.0).unwrap())
}

/// Some providers give a message neither an id nor a time.
#[tokio::test]
async fn the_same_words_are_another_message_minutes_later_and_one_before() {
    let setup = Setup::set(Fixture::new()).await;
    assert_eq!(says_oi(&setup, true).await, 1);
    setup.due_events().await;
    setup.pass(LOOKALIKE_DEDUP.as_secs() - 1);
    assert_eq!(says_oi(&setup, true).await, 0, "it may be the same webhook again");
    setup.pass(2);
    assert_eq!(says_oi(&setup, true).await, 1);
    setup.due_events().await;
    assert_eq!(stored(&setup).await, 2);
}

#[tokio::test]
async fn an_event_that_is_no_lookalike_is_known_for_seven_days() {
    const DAY: i64 = 86_400;
    let setup = Setup::set(Fixture::new()).await;
    assert_eq!(says_oi(&setup, false).await, 1);
    setup.due_events().await;
    setup.pass(7 * DAY - 1);
    assert_eq!(says_oi(&setup, false).await, 0);
    setup.pass(2);
    assert_eq!(says_oi(&setup, false).await, 1);
    setup.due_events().await;
    assert_eq!(stored(&setup).await, 2);
}
