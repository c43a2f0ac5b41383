//! Replies to earlier messages: people and the model read which message was replied to, on every provider.

use crate::world::Setup;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::content::Content;
use recado_domain::context::QuotedMessage;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::EventKind;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, SendOutcome};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// The id of one message as it is written for an address.
fn id_for(address: &str, token: &str) -> String {
    let mut bytes = vec![0x1d, 0x08, u8::try_from(address.len()).unwrap()];
    bytes.extend(address.as_bytes());
    bytes.extend([0x15, 0x02, 0x00, 0x12, 0x18, u8::try_from(token.len()).unwrap()]);
    bytes.extend(token.as_bytes());
    bytes.push(0);
    format!("wamid.{}", STANDARD.encode(bytes))
}

const TOKEN: &str = "7F20C9D41B5E60A8937F20C9D41B5E60";

/// The ids of one message for the number and for the user id.
fn two_ids() -> (String, String) {
    (
        id_for("5511900000001", TOKEN),
        id_for("BR.7001234567890123", TOKEN),
    )
}

/// The webhook of a message with the id `id` is stored.
async fn receives(setup: &Setup, fixture: &Fixture, id: &str, more: Value) {
    let mut payload = json!({"address": fixture.address.as_str(), "id": id, "text": "", "from_me": false});
    payload
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let job = setup.event_named(id, EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
}

async fn history(setup: &Setup, fixture: &Fixture) -> Vec<Message> {
    let store = &setup.world.store;
    let latest = succeed(store.find_latest_conversation(&fixture.thread()))
        .await
        .unwrap();
    let (_, mut all) = succeed(store.find_with_history(&latest.id, 50)).await.unwrap();
    all.sort_by_key(|message| message.ordinal);
    all
}

#[tokio::test]
async fn people_and_the_model_read_what_was_replied_to_on_every_provider() {
    for provider in Provider::ALL {
        // Evolution repeats the text, as the contact's phone tells it; Meta and its partners tell the id alone.
        for claimed in [None, Some("outro texto")] {
            let setup = Setup::set(Fixture::on(provider)).await;
            *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
            receives(
                &setup,
                &setup.fixture,
                "A",
                json!({"text": "vocês têm em verde?"}),
            )
            .await;
            let reply = json!({"text": "quero dois", "quoted_id": "A", "quoted": claimed});
            receives(&setup, &setup.fixture, "B", reply).await;
            let all = history(&setup, &setup.fixture).await;
            let expected = QuotedMessage {
                id: Some("A".to_owned()),
                text: Some("vocês têm em verde?".to_owned()),
                message: Some(all[0].message_id()),
            };
            assert_eq!(all[1].context.reply_to, Some(expected), "{provider}");
            let shown = "[in reply to: vocês têm em verde?] quero dois";
            assert_eq!(all[1].render_present_text(), shown, "{provider}");
            setup.turn(&setup.fixture).await;
            let read = setup.world.llm.read.lock().unwrap().join("|");
            assert!(read.ends_with(shown), "{provider}: {read}");
        }
    }
}

#[tokio::test]
async fn a_reply_names_its_message_by_the_id_for_the_user_too() {
    let (number, user) = two_ids();
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    receives(
        &setup,
        &setup.fixture,
        &number,
        json!({"text": "vocês têm em verde?"}),
    )
    .await;
    receives(
        &setup,
        &setup.fixture,
        "B",
        json!({"text": "quero dois", "quoted_id": user}),
    )
    .await;
    let all = history(&setup, &setup.fixture).await;
    let quoted = all[1].context.reply_to.clone().unwrap();
    assert_eq!(
        (quoted.message, quoted.id),
        (Some(all[0].message_id()), Some(number))
    );
    assert_eq!(quoted.text.as_deref(), Some("vocês têm em verde?"));
}

#[tokio::test]
async fn a_reaction_and_an_edit_find_their_message_by_the_id_for_the_user_too() {
    let (number, user) = two_ids();
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    receives(&setup, &setup.fixture, &number, json!({"text": "sexta às 10"})).await;
    let reaction = Content::Reaction {
        emoji: Some("👍".to_owned()),
        target: Some(user.clone()),
    };
    receives(&setup, &setup.fixture, "R", json!({"content": reaction})).await;
    receives(
        &setup,
        &setup.fixture,
        "E",
        json!({"changes": user, "text": "sexta às 11"}),
    )
    .await;
    let all = history(&setup, &setup.fixture).await;
    let changed = &all[0];
    assert_eq!(changed.changes.present_reactions().count(), 1);
    assert_eq!(changed.render_present_text(), "sexta às 11");
    for later in &all[1..] {
        assert_eq!(later.content.target_id(), Some(number.as_str()));
        assert_eq!(later.context.refers_to, Some(changed.message_id()));
    }
    setup.turn(&setup.fixture).await;
    let read = setup.world.llm.read.lock().unwrap().join("|");
    assert!(
        read.contains("sexta às 11") && !read.contains("sexta às 10"),
        "{read}"
    );
}

#[tokio::test]
async fn a_failure_is_of_the_sent_message_by_the_id_for_the_user_too() {
    let (number, user) = two_ids();
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    let reply = setup.replied_to(&setup.fixture).await;
    setup.answers(SendOutcome::Accepted {
        provider_message_id: Some(number),
        simulated: false,
        held: None,
    });
    setup.send(&reply.conversation).await;
    let external = setup.fixture.external();
    let update = StatusUpdate {
        key: DeliveryKey::from_provider_id(Provider::Meta, &external, &user),
        status: DeliveryStatus::Failed,
        at: setup.now(),
        provider_message_id: Some(user),
        detail: None,
    };
    let payload = json!({"update": update, "to": setup.fixture.address});
    let job = setup.event(EventKind::Failed, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let found = succeed(setup.world.store.find_message(&reply.message_id())).await;
    let state = found.unwrap().out.unwrap().state;
    assert!(matches!(state, OutboxState::Dead { .. }), "{state:?}");
}

#[tokio::test]
async fn a_reply_brings_no_words_of_another_contact() {
    for provider in Provider::ALL {
        let setup = Setup::set(Fixture::on(provider)).await;
        let other = setup.fixture.other_contact();
        receives(&setup, &other, "A", json!({"text": "my password is 1234"})).await;
        receives(
            &setup,
            &setup.fixture,
            "B",
            json!({"text": "what did it say?", "quoted_id": "A"}),
        )
        .await;
        let quoted = history(&setup, &setup.fixture).await[0]
            .context
            .reply_to
            .clone()
            .unwrap();
        assert_eq!((quoted.text, quoted.message), (None, None), "{provider}");
    }
}

#[tokio::test]
async fn a_deleted_message_is_named_without_its_words() {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    receives(
        &setup,
        &setup.fixture,
        "A",
        json!({"text": "my password is 1234"}),
    )
    .await;
    receives(&setup, &setup.fixture, "D", json!({"changes": "A"})).await;
    receives(
        &setup,
        &setup.fixture,
        "B",
        json!({"text": "sorry", "quoted_id": "A"}),
    )
    .await;
    let all = history(&setup, &setup.fixture).await;
    let quoted = all[2].context.reply_to.clone().unwrap();
    assert_eq!((quoted.text, quoted.message), (None, Some(all[0].message_id())));
}
