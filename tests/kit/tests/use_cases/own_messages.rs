//! A message that was sent is known by the provider's id alone, whatever names it, on every provider.

use crate::unknown::failed;
use crate::world::Setup;
use jiff::Timestamp;
use recado_domain::conversation::ConversationMode;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::{InboundEvent, WebhookItem};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome};
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_testkit::builders::{Fixture, far_ahead};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// A reply that was sent under the provider's id `id`.
async fn sent_as(provider: Provider, id: &str) -> (Setup, Message) {
    let setup = Setup::set(Fixture::on(provider)).await;
    let reply = setup.replied_to(&setup.fixture).await;
    setup.answers(accepted(id));
    setup.send(&reply.conversation).await;
    (setup, reply)
}

fn accepted(id: &str) -> SendOutcome {
    SendOutcome::Accepted {
        provider_message_id: Some(id.to_owned()),
        simulated: false,
        held: None,
    }
}

/// A status of what the provider calls `id`, and of nothing else.
fn status(setup: &Setup, id: &str, status: DeliveryStatus) -> StatusUpdate {
    let provider = setup.fixture.bound.instance.provider;
    StatusUpdate {
        key: DeliveryKey::from_provider_id(provider, &setup.fixture.external(), id),
        status,
        at: setup.now(),
        provider_message_id: Some(id.to_owned()),
        detail: None,
    }
}

async fn echo(setup: &Setup, id: &str, text: &str) -> InboundJob {
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "id": id, "text": text, "from_me": true});
    setup.event(EventKind::Message, payload).await
}

/// Nothing was stored as typed on the phone, and the conversation stays with the agent.
async fn assert_nothing_typed(setup: &Setup, reply: &Message, what: &str) {
    let found = succeed(setup.world.store.find_with_history(&reply.conversation, 50)).await;
    let (conversation, history) = found.unwrap();
    assert_eq!(conversation.mode, ConversationMode::Ai, "{what}");
    let typed = history.iter().filter(|one| one.role == Role::Operator);
    assert_eq!(typed.count(), 0, "{what}");
}

async fn assert_failed(setup: &Setup, reply: &Message, what: &str) {
    let found = succeed(setup.world.store.find_message(&reply.message_id()))
        .await
        .unwrap();
    let state = found.out.unwrap().state;
    assert!(matches!(state, OutboxState::Dead { .. }), "{what}: {state:?}");
    let letter = succeed(find_dead_letter(&setup.world.store, reply.message_id().as_str())).await;
    assert!(letter.is_some(), "{what}");
}

/// Otherwise our own message takes the conversation over.
#[tokio::test]
async fn what_was_sent_comes_back_and_changes_nothing() {
    for provider in Provider::ALL {
        let (setup, reply) = sent_as(provider, "W1").await;
        let text = reply.content.render_text();
        for text in [text.as_str(), "other words"] {
            let job = echo(&setup, "W1", text).await;
            assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
            assert_nothing_typed(&setup, &reply, provider.as_str()).await;
        }
        let job = echo(&setup, "W2", "typed on the phone").await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        let found = succeed(setup.world.store.find_conversation(&reply.conversation)).await;
        assert_eq!(
            found.unwrap().mode,
            ConversationMode::Manual,
            "{provider}: words of a person"
        );
    }
}

#[tokio::test]
async fn a_failure_that_names_the_providers_id_alone_ends_the_message() {
    for provider in Provider::ALL {
        let (setup, reply) = sent_as(provider, "W1").await;
        let job = failed(&setup, &reply, "W1").await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        assert_failed(&setup, &reply, provider.as_str()).await;
    }
}

#[tokio::test]
async fn what_comes_before_the_answer_waits_for_it_or_is_kept() {
    for provider in Provider::ALL {
        for fails in [false, true] {
            let setup = Setup::set(Fixture::on(provider)).await;
            let reply = setup.replied_to(&setup.fixture).await;
            setup.answers(accepted("W1"));
            let text = reply.content.render_text();
            let (echoed, told) = (
                echo(&setup, "W1", &text).await,
                failed(&setup, &reply, "W1").await,
            );
            let told = if fails { told } else { echoed };
            let (world, body) = (
                crate::world::beside(&setup.world),
                serde_json::to_string(&told).unwrap(),
            );
            let delivered = status(&setup, "W1", DeliveryStatus::Delivered);
            setup.world.providers.meanwhile.set(async move {
                succeed(world.store.record_status(&delivered, far_ahead(), None)).await;
                let verdict = recado_pipeline::process::process(&world, &body, 1).await;
                assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
            });
            setup.send(&reply.conversation).await;
            let found = setup.delivery_of(&reply).await.unwrap();
            assert_eq!(found.status, Some(DeliveryStatus::Delivered), "{provider}");
            assert_eq!(setup.receive(&told, 2).await, Verdict::Done);
            if fails {
                assert_failed(&setup, &reply, provider.as_str()).await;
            } else {
                assert_nothing_typed(&setup, &reply, provider.as_str()).await;
            }
        }
    }
}

#[tokio::test]
async fn an_echo_shows_that_a_send_of_unknown_outcome_went_out() {
    for provider in Provider::ALL {
        let setup = Setup::set(Fixture::on(provider)).await;
        let reply = setup.replied_to(&setup.fixture).await;
        setup.times_out();
        let _later = setup.job(&reply.conversation).await;
        let text = reply.content.render_text();
        let job = echo(&setup, "W1", &text).await;
        setup.pass(60);
        assert_eq!(setup.receive(&job, 2).await, Verdict::Done);
        setup.send(&reply.conversation).await;
        let found = succeed(setup.world.store.find_message(&reply.message_id()))
            .await
            .unwrap();
        assert!(
            matches!(found.out.unwrap().state, OutboxState::Sent { .. }),
            "{provider}"
        );
        assert_eq!(found.provider_message_id.as_deref(), Some("W1"), "{provider}");
        assert_eq!(
            setup.world.providers.sent(),
            1,
            "{provider}: it is not sent again"
        );
        assert_nothing_typed(&setup, &reply, provider.as_str()).await;
    }
}

/// What a fixture tells of a message of the business: the provider's id, and the echo or the status.
enum Told {
    Echo(String),
    Status(DeliveryStatus),
    Failure,
}

fn read_items(provider: Provider, file: &[u8]) -> Vec<WebhookItem> {
    let now = Timestamp::from_second(1_772_443_000).unwrap();
    if provider == Provider::Dialog360 {
        let number = ExternalId::parse("100000000000001").unwrap();
        return recado_whatsapp::dialog360::split_webhook(file, Some(&number), now).unwrap();
    }
    let event: Value = serde_json::from_slice(file).unwrap();
    let records = event["Records"]
        .as_array()
        .filter(|_| provider == Provider::AwsSocial);
    let Some(records) = records else {
        return recado_whatsapp::split_webhook(provider, file, now).unwrap();
    };
    let bodies = records.iter().map(|record| record["body"].as_str().unwrap());
    bodies
        .flat_map(|body| recado_whatsapp::split_webhook(provider, body.as_bytes(), now).unwrap())
        .collect()
}

fn read_told(setup: &Setup, item: &WebhookItem) -> Option<(String, Told)> {
    let event = match item {
        WebhookItem::Status(update) | WebhookItem::ChargedStatus { update, .. } => {
            let id = update.provider_message_id.clone()?;
            return Some((id, Told::Status(update.status)));
        }
        WebhookItem::Event(event) => event,
        _ => return None,
    };
    let job = InboundJob {
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        payload: EventPayload::Inline(event.payload.clone()),
        ..setup.fixture.job()
    };
    match recado_whatsapp::interpret_event(&job, &event.payload) {
        InboundEvent::Failed(failed) => Some((failed.update.provider_message_id?, Told::Failure)),
        InboundEvent::Message(said) if said.from_me => {
            let text = said.content.render_text();
            Some((said.provider_message_id?, Told::Echo(text)))
        }
        _ => None,
    }
}

/// Tells it of a message that was really sent under this id, and looks at what became of that.
async fn tell_of_a_sent_message(provider: Provider, id: &str, told: &Told, what: &str) {
    let (setup, reply) = sent_as(provider, id).await;
    match told {
        Told::Echo(text) => {
            let job = echo(&setup, id, text).await;
            assert_eq!(setup.receive(&job, 1).await, Verdict::Done, "{what}");
            assert_nothing_typed(&setup, &reply, what).await;
        }
        Told::Status(reached) => {
            let update = status(&setup, id, *reached);
            succeed(setup.world.store.record_status(&update, far_ahead(), None)).await;
            let found = setup.delivery_of(&reply).await.unwrap();
            assert_eq!(found.status, Some(*reached), "{what}");
        }
        Told::Failure => {
            let job = failed(&setup, &reply, id).await;
            assert_eq!(setup.receive(&job, 1).await, Verdict::Done, "{what}");
            assert_failed(&setup, &reply, what).await;
        }
    }
}

#[tokio::test]
async fn every_status_and_echo_of_the_fixtures_finds_a_message_that_was_sent() {
    let setup = Setup::set(Fixture::new()).await;
    let mut tried = [0, 0, 0];
    for provider in Provider::ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures")
            .join(provider.as_str());
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let what = path.display().to_string();
            for item in read_items(provider, &fs::read(&path).unwrap()) {
                let Some((id, told)) = read_told(&setup, &item) else {
                    continue;
                };
                tried[match told {
                    Told::Echo(_) => 0,
                    Told::Status(_) => 1,
                    Told::Failure => 2,
                }] += 1;
                Box::pin(tell_of_a_sent_message(provider, &id, &told, &what)).await;
            }
        }
    }
    assert!(tried.iter().all(|tried| *tried >= 5), "{tried:?}");
}
