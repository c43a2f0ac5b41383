//! Reactions, edits and deletions are shown with the message that they are about.

use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::EventKind;
use recado_domain::ids::MessageId;
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_operators::OperatorAnswer;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::json;

fn reaction(emoji: Option<&str>, target: &str) -> Content {
    Content::Reaction {
        emoji: emoji.map(str::to_owned),
        target: Some(target.to_owned()),
    }
}

async fn read(setup: &Setup, id: &MessageId) -> Message {
    succeed(setup.world.store.find_message(id)).await.unwrap()
}

async fn shown(setup: &Setup, id: &MessageId) -> Vec<(Role, String)> {
    let message = read(setup, id).await;
    let reactions = message.changes.present_reactions();
    reactions
        .map(|(reaction, emoji)| (reaction.role, emoji.to_owned()))
        .collect()
}

/// The contact's newest message.
async fn newest(setup: &Setup) -> Message {
    let latest = setup.latest_conversation().await;
    let id = latest.unwrap().id;
    let history = succeed(setup.world.store.find_with_history(&id, 1)).await;
    history.unwrap().1.remove(0)
}

async fn change(setup: &Setup, target: &str, text: Option<&str>) {
    let address = setup.fixture.address.as_str();
    let payload = json!({"changes": target, "text": text, "address": address, "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
}

#[tokio::test]
async fn a_contacts_reaction_to_what_was_sent_is_added_changed_and_taken_back() {
    for provider in [Provider::Evolution, Provider::Meta] {
        let setup = Setup::set(Fixture::on(provider)).await;
        let reply = setup.replied_to(&setup.fixture).await;
        setup.send(&reply.conversation).await;
        let id = reply.message_id();
        for (at, emoji, expected) in [
            ("r1", Some("👍"), vec![(Role::User, "👍".to_owned())]),
            ("r2", Some("❤️"), vec![(Role::User, "❤️".to_owned())]),
            ("r3", None, Vec::new()),
        ] {
            setup.pass(1);
            setup.sends(&setup.fixture, at, &reaction(emoji, "P0")).await;
            assert_eq!(shown(&setup, &id).await, expected, "{provider}");
            assert_eq!(newest(&setup).await.context.refers_to, Some(id.clone()));
        }
        assert_eq!(setup.due_turns().await.len(), 0, "a reaction asks for no answer");
    }
}

#[tokio::test]
async fn where_the_providers_answer_had_another_id_the_message_is_known_by_its_status() {
    let setup = Setup::set(Fixture::on(Provider::AwsSocial)).await;
    let reply = setup.replied_to(&setup.fixture).await;
    setup.send(&reply.conversation).await;
    let id = reply.message_id();
    let status = StatusUpdate {
        key: DeliveryKey::from_own_id(Provider::AwsSocial, &setup.fixture.external(), &id),
        status: DeliveryStatus::Delivered,
        at: setup.now(),
        provider_message_id: Some("wamid.1".to_owned()),
        detail: None,
    };
    succeed(
        setup
            .world
            .store
            .record_status(&status, add_millis(setup.now(), 60_000), None),
    )
    .await;
    setup
        .sends(&setup.fixture, "r1", &reaction(Some("🙏"), "wamid.1"))
        .await;
    assert_eq!(shown(&setup, &id).await, [(Role::User, "🙏".to_owned())]);
}

#[tokio::test]
async fn a_reaction_that_comes_before_its_message_is_recorded_as_sent_waits_for_it() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied_to(&setup.fixture).await;
    let address = setup.fixture.address.as_str();
    let payload = json!({"address": address, "id": "r1", "text": "", "from_me": false,
        "content": reaction(Some("👍"), "P0")});
    setup.answers(SendOutcome::Unknown {
        why: "cut off".to_owned(),
        timed_out: false,
    });
    assert!(matches!(
        setup.job(&reply.conversation).await,
        Verdict::Retry { .. }
    ));
    let job = setup.event(EventKind::Message, payload).await;
    let Verdict::Retry { after } = setup.receive(&job, 1).await else {
        panic!("it did not wait")
    };
    assert!(after.as_secs() <= 5, "others of the contact wait behind it");
    setup.pass(61);
    assert_eq!(setup.receive(&job, 2).await, Verdict::Done, "and not for ever");
    assert_eq!(newest(&setup).await.content, reaction(Some("👍"), "P0"));
}

#[tokio::test]
async fn a_reaction_to_what_is_not_known_stays_a_message_and_waits_for_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    setup
        .sends(&setup.fixture, "r1", &reaction(Some("👍"), "before-recado"))
        .await;
    let message = newest(&setup).await;
    assert_eq!(message.content, reaction(Some("👍"), "before-recado"));
    assert_eq!(message.context.refers_to, None);
}

#[tokio::test]
async fn a_reaction_of_the_business_is_shown_whether_it_was_ordered_or_made_on_the_phone() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A", "obrigada!", false).await;
    let thanks = newest(&setup).await;
    let answer = OperatorAnswer {
        content: reaction(Some("❤️"), thanks.message_id().as_str()),
        options: SendOptions::default(),
        seen: None,
        key: None,
        correlation: correlation(),
    };
    let sent = recado_operators::answer_as_operator(
        &setup.world,
        &Caller::installation(),
        &thanks.conversation,
        answer,
    )
    .await;
    assert_eq!(sent.unwrap().message.context.refers_to, Some(thanks.message_id()));
    assert_eq!(
        shown(&setup, &thanks.message_id()).await,
        [],
        "it was not sent yet"
    );
    setup.send(&thanks.conversation).await;
    assert_eq!(
        shown(&setup, &thanks.message_id()).await,
        [(Role::Operator, "❤️".to_owned())]
    );
    setup.pass(5);
    let payload = json!({"address": setup.fixture.address.as_str(), "id": "phone-1", "text": "", "from_me": true,
        "content": reaction(Some("😀"), "event-0")});
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(
        shown(&setup, &thanks.message_id()).await,
        [(Role::Operator, "😀".to_owned())]
    );
}

/// A reaction is no answer: otherwise nobody answers the question.
#[tokio::test]
async fn a_reaction_on_the_phone_takes_nothing_over_and_answers_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A", "quanto custa?", false).await;
    for (id, emoji) in [("phone-1", Some("👍")), ("phone-2", None)] {
        setup.pass(1);
        let payload = json!({"address": setup.fixture.address.as_str(), "id": id, "text": "", "from_me": true,
            "content": reaction(emoji, "event-0")});
        let job = setup.event(EventKind::Message, payload).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        let conversation = setup.latest_conversation().await.unwrap();
        assert_eq!(conversation.mode, ConversationMode::Ai);
        assert!(conversation.owes_answer(), "the question is not answered");
    }
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup.turns(&setup.fixture).await;
    assert!(!setup.latest_conversation().await.unwrap().owes_answer());
}

#[tokio::test]
async fn a_reaction_and_a_late_failure_do_not_undo_each_other() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied_to(&setup.fixture).await;
    setup.send(&reply.conversation).await;
    setup
        .sends(&setup.fixture, "r1", &reaction(Some("👍"), "P0"))
        .await;
    let changed = read(&setup, &reply.message_id()).await;
    let stale = Message {
        changes: recado_domain::message::MessageChanges::default(),
        file: None,
        ..changed.clone()
    };
    let written = succeed(setup.world.store.update_closed_message(&stale, None)).await;
    assert_eq!(
        written,
        recado_pipeline::ports::WriteOutcome::Conflict,
        "it was read before the reaction"
    );
    assert_eq!(read(&setup, &reply.message_id()).await, changed);
}

#[tokio::test]
async fn an_edited_message_shows_its_present_text_and_its_earlier_versions() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "A", "às 14h", false).await;
    let id = newest(&setup).await.message_id();
    for text in ["às 15h", "às 16h"] {
        setup.pass(1);
        change(&setup, "event-0", Some(text)).await;
    }
    let message = read(&setup, &id).await;
    assert_eq!(message.render_present_text(), "às 16h");
    let versions: Vec<String> = message
        .earlier_versions()
        .iter()
        .map(|version| version.content.render_text())
        .collect();
    assert_eq!(versions, ["às 14h", "às 15h"]);
    assert_eq!(message.changes.edited_at(), Some(setup.now()));
    let latest = setup.latest_conversation().await;
    assert_eq!(latest.unwrap().mode, ConversationMode::Ai);
}

#[tokio::test]
async fn a_deletion_is_shown_with_its_time_and_takes_every_version_away() {
    for removes in [true, false] {
        let mut fixture = Fixture::new();
        fixture.bound.tenant.retention.remove_deleted_content = removes;
        let setup = Setup::set(fixture).await;
        setup.message(&setup.fixture, "A", "meu CPF é 1", false).await;
        let id = newest(&setup).await.message_id();
        setup.pass(1);
        change(&setup, "event-0", Some("meu CPF é 2")).await;
        setup.pass(1);
        change(&setup, "event-0", None).await;
        let message = read(&setup, &id).await;
        assert_eq!(message.changes.deleted_at(), Some(setup.now()));
        assert_eq!(message.content == Content::Removed, removes);
        assert_eq!(message.earlier_versions().is_empty(), removes);
        // An edit that was made before the deletion, and comes after it.
        setup.pass(1);
        change(&setup, "event-0", Some("meu CPF é 3")).await;
        let latest = setup.latest_conversation().await;
        let history = succeed(setup.world.store.find_with_history(&latest.unwrap().id, 50)).await;
        let stored = serde_json::to_string(&history.unwrap().1).unwrap();
        assert_eq!(stored.contains("CPF"), !removes, "{stored}");
    }
}
