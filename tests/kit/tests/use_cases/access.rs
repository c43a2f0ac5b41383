//! Whom an instance's access list lets begin a conversation.

use crate::world::Setup;
use recado_contacts::{ContactQuery, erase_contact};
use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, SystemNote};
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventKind, EventRecord, EventState, InboundJob};
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;

use recado_message_views::trace::{TraceTarget, find_trace};
use recado_pipeline::ports::{Conversations, Inbox};
use recado_pipeline::records::aliases::find_alias;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, correlation, identity_key};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

const JID: &str = "5511999998888@s.whatsapp.net";

/// An instance with these lists, and a contact with the number of [`JID`].
async fn setup(block: &[&str], allow: &[&str]) -> Setup {
    let mut fixture = Fixture::new();
    fixture.address = ContactAddress::parse(JID).unwrap();
    set_lists(&mut fixture, block, allow);
    Setup::set(fixture).await
}

fn set_lists(fixture: &mut Fixture, block: &[&str], allow: &[&str]) {
    fixture.bound.instance.access = serde_json::from_value(json!({"block": block, "allow": allow})).unwrap();
}

/// The lists are applied anew while the instance runs.
async fn change(setup: &mut Setup, block: &[&str], allow: &[&str]) {
    set_lists(&mut setup.fixture, block, allow);
    let document = setup.fixture.document();
    put_configuration(&setup.world.store, &document).await.unwrap();
}

async fn arrives(setup: &Setup, payload: Value) -> InboundJob {
    let job = setup.event(EventKind::Message, payload).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    job
}

async fn writes(setup: &Setup, id: &str) -> EventRecord {
    let job = arrives(
        setup,
        json!({"address": setup.fixture.address.as_str(), "id": id, "text": "oi", "from_me": false}),
    )
    .await;
    succeed(setup.world.store.find_event(&job.event)).await.unwrap()
}

async fn conversations(setup: &Setup) -> u32 {
    let thread = setup.fixture.thread();
    let latest = succeed(setup.world.store.find_latest_conversation(&thread)).await;
    latest.map_or(0, |latest| latest.id.number_in_thread())
}

#[tokio::test]
async fn a_blocked_contact_gets_no_conversation_and_the_event_tells_why() {
    let setup = setup(&["+55 (11) 9999-8888"], &[]).await;
    let event = writes(&setup, "W1").await;
    assert_eq!(
        (event.state, event.reason, event.stored),
        (EventState::Applied, Some(Reason::Blocked), None)
    );
    assert_eq!(conversations(&setup).await, 0);
    setup.pass(60);
    assert!(setup.due_turns().await.is_empty());
    let target = TraceTarget::Event(event.job.event.clone());
    let trace = find_trace(&setup.world, &Caller::installation(), &target).await;
    let trace = trace.unwrap().unwrap();
    assert_eq!(trace.events[0].reason, Some(Reason::Blocked));
    assert!(trace.messages.is_empty());
}

#[tokio::test]
async fn who_is_not_allowed_is_blocked_and_who_is_allowed_is_answered() {
    let outside = setup(&[], &["+55 11 98888-0000"]).await;
    assert_eq!(writes(&outside, "W1").await.reason, Some(Reason::Blocked));
    let inside = setup(&[], &["+55 11 98888-0000", JID]).await;
    let event = writes(&inside, "W1").await;
    assert_eq!((event.reason, event.stored.is_some()), (None, true));
    inside.pass(60);
    assert_eq!(inside.due_turns().await.len(), 1);
}

#[tokio::test]
async fn a_conversation_that_exists_goes_on_until_it_is_resolved() {
    let mut setup = setup(&[], &[]).await;
    assert!(writes(&setup, "W1").await.stored.is_some());
    change(&mut setup, &[JID], &[]).await;
    let second = writes(&setup, "W2").await;
    assert_eq!((second.reason, second.stored.is_some()), (None, true));
    let thread = setup.fixture.thread();
    let latest = succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap();
    let caller = Caller::installation();
    let resolved =
        recado_operators::resolve_conversation(&setup.world, &caller, &latest.id, None, &correlation()).await;
    resolved.unwrap();
    assert_eq!(writes(&setup, "W3").await.reason, Some(Reason::Blocked));
    assert_eq!(conversations(&setup).await, 1);
    change(&mut setup, &[], &[]).await;
    assert!(writes(&setup, "W4").await.stored.is_some());
    assert_eq!(conversations(&setup).await, 2);
}

#[tokio::test]
async fn a_person_is_known_by_an_identity_without_a_number_too() {
    for entry in [JID, "77@lid"] {
        let setup = setup(&[entry], &[]).await;
        let job = arrives(
            &setup,
            json!({"address": JID, "also": "77@lid", "id": "W1", "text": "oi", "from_me": false}),
        )
        .await;
        let event = succeed(setup.world.store.find_event(&job.event)).await.unwrap();
        assert_eq!(event.reason, Some(Reason::Blocked), "{entry}");
    }
}

const LID: &str = "77@lid";

async fn writes_as(setup: &Setup, id: &str, address: &str, also: Option<&str>) -> EventRecord {
    let payload = json!({"address": address, "also": also, "id": id, "text": "oi", "from_me": false});
    let job = arrives(setup, payload).await;
    succeed(setup.world.store.find_event(&job.event)).await.unwrap()
}

async fn newest_of(setup: &Setup, address: &str) -> Option<Conversation> {
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), address);
    succeed(setup.world.store.find_latest_conversation(&thread)).await
}

#[tokio::test]
async fn who_is_blocked_under_one_name_is_refused_under_the_other_once_a_message_showed_both() {
    for (entry, alone) in [(JID, LID), (LID, JID)] {
        let mut setup = setup(&[entry], &[]).await;
        for id in ["W1", "W2"] {
            let refused = writes_as(&setup, id, JID, Some(LID)).await;
            assert_eq!(refused.reason, Some(Reason::Blocked), "{entry}");
        }
        let refused = writes_as(&setup, "W3", alone, None).await;
        assert_eq!(
            (refused.reason, refused.stored),
            (Some(Reason::Blocked), None),
            "{entry}"
        );
        let nobody_wrote =
            |newest: Option<Conversation>| newest.is_none_or(|newest| newest.listed_status().is_none());
        for address in [JID, LID] {
            assert!(nobody_wrote(newest_of(&setup, address).await), "{entry}");
        }
        // Whoever is let in again has one conversation under both names.
        change(&mut setup, &[], &[]).await;
        let one = writes_as(&setup, "W4", alone, None).await.stored.unwrap();
        for (id, address, also) in [("W5", JID, Some(LID)), ("W6", LID, None), ("W7", JID, None)] {
            let stored = writes_as(&setup, id, address, also).await.stored.unwrap();
            assert_eq!(stored.conversation, one.conversation, "{entry} {id}");
        }
    }
}

#[tokio::test]
async fn what_is_kept_of_a_refused_persons_names_goes_with_an_erasure_by_either() {
    for contact in [JID, LID] {
        let setup = setup(&[JID], &[]).await;
        writes_as(&setup, "W1", JID, Some(LID)).await;
        let lid = identity_key().derive_thread_id(setup.fixture.instance(), LID);
        assert!(succeed(find_alias(&setup.world.store, &lid)).await.is_some());
        let query = ContactQuery {
            tenant: setup.fixture.bound.tenant.id.clone(),
            instance: None,
            contact: contact.to_owned(),
        };
        erase_contact(&setup.world, &Caller::installation(), &query)
            .await
            .unwrap();
        assert_eq!(
            succeed(find_alias(&setup.world.store, &lid)).await,
            None,
            "{contact}"
        );
        for address in [JID, LID] {
            let left = newest_of(&setup, address).await;
            assert!(left.is_none_or(|left| left.is_erased()), "{contact}");
        }
    }
}

#[tokio::test]
async fn nothing_is_kept_of_the_names_of_who_is_only_not_allowed() {
    let setup = setup(&[], &["+55 11 98888-0000"]).await;
    let refused = writes_as(&setup, "W1", JID, Some(LID)).await;
    assert_eq!(refused.reason, Some(Reason::Blocked));
    for address in [JID, LID] {
        assert_eq!(newest_of(&setup, address).await, None);
    }
}

#[tokio::test]
async fn a_conversation_under_the_linked_identity_goes_on_when_the_blocked_number_is_shown() {
    let setup = setup(&[JID], &[]).await;
    let begun = writes_as(&setup, "W1", LID, None).await.stored.unwrap();
    let shown = writes_as(&setup, "W2", JID, Some(LID)).await.stored.unwrap();
    assert_eq!(shown.conversation, begun.conversation);
}

#[tokio::test]
async fn what_a_blocked_contact_wants_of_marketing_is_stored() {
    let setup = setup(&[JID], &[]).await;
    let stop = Content::System {
        what: SystemNote::MarketingStopped,
        text: None,
    };
    setup.sends(&setup.fixture, "W1", &stop).await;
    let latest = setup.latest_conversation().await;
    assert!(latest.unwrap().contact.marketing_stopped_at.is_some());
}

#[tokio::test]
async fn what_was_stored_before_the_list_changed_stays_stored_when_its_event_comes_again() {
    let mut setup = setup(&[], &[]).await;
    let payload = json!({"address": JID, "id": "W1", "text": "oi", "from_me": false});
    let job = setup.event(EventKind::Message, payload).await;
    // The worker that stored the message stopped before it finished the event.
    let mut conversation = setup.fixture.conversation(1);
    let message = setup.fixture.inbound(&mut conversation, &job);
    conversation.resolve_if_seen(message.ordinal).unwrap();
    let write = recado_pipeline::ports::InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    succeed(setup.world.store.store_inbound(write)).await;
    change(&mut setup, &[JID], &[]).await;
    assert_eq!(setup.receive(&job, 2).await, Verdict::Done);
    let event = succeed(setup.world.store.find_event(&job.event)).await.unwrap();
    assert_eq!((event.state, event.reason), (EventState::Applied, None));
    assert_eq!(event.stored.unwrap().ordinal, message.ordinal);
}
