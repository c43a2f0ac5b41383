//! Sends of unknown outcome: how they end, what tells of them, and who waits for them.

use crate::identities::{LID, NUMBER, known, receive, thread, words};
use crate::world::Setup;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, InboundJob};
use recado_domain::inbound::{FailedDelivery, InboundEvent};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;

use recado_pipeline::ports::{Conversations, OutboxStore, SendOutcome, System};
use recado_pipeline::records::aliases::save_alias;
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_testkit::builders::{Fixture, identity_key};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// What the payload of a failed delivery says.
pub(crate) fn failure(payload: &Value) -> InboundEvent {
    InboundEvent::Failed(FailedDelivery {
        update: serde_json::from_value(payload["update"].clone()).unwrap(),
        to: serde_json::from_value(payload["to"].clone()).unwrap(),
        error: "status ERROR".to_owned(),
        reason: Reason::WhatsappPermanentError,
    })
}

pub(crate) async fn failed(setup: &Setup, message: &Message, provider_message_id: &str) -> InboundJob {
    failed_at(setup, message, provider_message_id, setup.now()).await
}

async fn failed_at(setup: &Setup, message: &Message, provider_message_id: &str, at: Timestamp) -> InboundJob {
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let update = StatusUpdate {
        key: DeliveryKey::from_provider_id(provider, &external, provider_message_id),
        status: DeliveryStatus::Failed,
        at,
        provider_message_id: None,
        detail: None,
    };
    let payload = json!({"update": update, "to": message.recipient()});
    setup.event(EventKind::Failed, payload).await
}

async fn typed(setup: &Setup, fixture: &Fixture, id: &str, text: &str) -> Verdict {
    typed_in(setup, fixture.address.as_str(), id, text).await
}

async fn typed_in(setup: &Setup, address: &str, id: &str, text: &str) -> Verdict {
    let payload = json!({"address": address, "id": id, "text": text, "from_me": true});
    let job = setup.event(EventKind::Message, payload).await;
    setup.receive(&job, 1).await
}

async fn stored(setup: &Setup, message: &Message) -> Message {
    succeed(setup.world.store.find_message(&message.message_id()))
        .await
        .unwrap()
}

async fn messages_typed(setup: &Setup, message: &Message) -> usize {
    let (_, history) = succeed(setup.world.store.find_with_history(&message.conversation, 50))
        .await
        .unwrap();
    let of_phone = |message: &&Message| message.role == Role::Operator && message.out.is_none();
    history.iter().filter(of_phone).count()
}

#[tokio::test]
async fn five_attempts_of_unknown_outcome_end_in_a_marked_dead_letter() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    for _ in 0..7 {
        setup.answers(SendOutcome::Unknown {
            why: "HTTP 500: server error".to_owned(),
            timed_out: false,
        });
    }
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 5);
    let out = stored(&setup, &reply).await.out.unwrap();
    assert!(matches!(
        out.state,
        OutboxState::Dead {
            reason: Reason::UnknownOutcome,
            ..
        }
    ));
    assert!(out.maybe_sent && out.attempts == 5);
    let dead_letter = succeed(find_dead_letter(&setup.world.store, reply.message_id().as_str())).await;
    assert_eq!(dead_letter.unwrap().reason, Reason::UnknownOutcome);
}

#[tokio::test]
async fn an_echo_settles_a_send_of_unknown_outcome_and_the_next_equal_words_are_a_persons() {
    let setup = Setup::set(Fixture::new()).await;
    let fixture = setup.fixture.other_contact();
    let reply = setup.replied_to(&fixture).await;
    setup.times_out();
    let _ = setup.job(&reply.conversation).await;
    setup.pass(20);
    let text = reply.content.render_text();
    assert_eq!(typed(&setup, &fixture, "ECHO-1", &text).await, Verdict::Done);
    setup.send(&reply.conversation).await;
    let settled = stored(&setup, &reply).await;
    assert_eq!(setup.world.providers.sent(), 1, "it is not sent again");
    assert_eq!(settled.provider_message_id.as_deref(), Some("ECHO-1"));
    assert!(!settled.out.unwrap().maybe_sent);
    assert_eq!(messages_typed(&setup, &reply).await, 0);
    assert_eq!(typed(&setup, &fixture, "TYPED-1", &text).await, Verdict::Done);
    assert_eq!(messages_typed(&setup, &reply).await, 1);
}

/// A reply to a contact that was tried once, nobody knows with what outcome.
async fn unknown(setup: &Setup, fixture: &Fixture) -> Message {
    let reply = setup.replied_to(fixture).await;
    setup.answers(SendOutcome::Unknown {
        why: "HTTP 500: server error".to_owned(),
        timed_out: false,
    });
    let _ = setup.job(&reply.conversation).await;
    setup.pass(40);
    reply
}

/// Such an echo only prevents a takeover, once for each attempt.
#[tokio::test]
async fn equal_words_in_a_chat_whose_number_nobody_knows_are_ours_once_and_settle_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    let fixture = setup.fixture.other_contact();
    let reply = unknown(&setup, &fixture).await;
    let text = reply.content.render_text();
    assert_eq!(typed_in(&setup, LID, "ECHO-1", &text).await, Verdict::Done);
    assert!(thread(&setup, LID).await.is_none(), "nobody took anything over");
    assert_eq!(typed_in(&setup, LID, "TYPED-1", &text).await, Verdict::Done);
    assert!(thread(&setup, LID).await.is_some(), "the second one was typed");
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 2, "it is sent again");
    assert!(stored(&setup, &reply).await.out.unwrap().maybe_sent);
}

/// Evolution keeps a send in the chat of the identity or of the number.
#[tokio::test]
async fn a_send_is_looked_for_under_all_names_that_are_known_of_its_contact() {
    let setup = Setup::set(Fixture::new()).await;
    let (mut maria, mut alone) = (setup.fixture.other_contact(), setup.fixture.other_contact());
    maria.address = known(NUMBER);
    alone.address = known(LID);
    let looked_for = async |reply: &Message| {
        let _ = setup.job(&reply.conversation).await;
        std::mem::take(&mut *setup.world.providers.looked_for.lock().unwrap())
    };
    let to_alone = unknown(&setup, &alone).await;
    assert_eq!(looked_for(&to_alone).await, [known(LID)], "nobody knows more");
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), LID);
    succeed(save_alias(&setup.world.store, &thread, &known(NUMBER))).await;
    assert_eq!(looked_for(&to_alone).await, [known(LID), known(NUMBER)]);
    let to_maria = unknown(&setup, &maria).await;
    assert_eq!(looked_for(&to_maria).await, [known(NUMBER)]);
    receive(&setup, words("sou eu", NUMBER, Some(LID), false)).await;
    assert_eq!(looked_for(&to_maria).await, [known(NUMBER), known(LID)]);
}

#[tokio::test]
async fn an_echo_settles_the_send_to_its_own_contact_and_none_that_may_be_to_the_same() {
    let setup = Setup::set(Fixture::new()).await;
    let (maria, mut alone) = (setup.fixture.other_contact(), setup.fixture.other_contact());
    alone.address = known(LID);
    let to_maria = unknown(&setup, &maria).await;
    let to_alone = unknown(&setup, &alone).await;
    let text = to_maria.content.render_text();
    assert_eq!(typed(&setup, &maria, "ECHO-1", &text).await, Verdict::Done);
    let _ = setup.job(&to_maria.conversation).await;
    let _ = setup.job(&to_alone.conversation).await;
    let settled = stored(&setup, &to_maria).await;
    assert_eq!(settled.provider_message_id.as_deref(), Some("ECHO-1"));
    let outcome = |message: Message| message.out.unwrap().state;
    let unsettled = outcome(stored(&setup, &to_alone).await);
    assert!(matches!(unsettled, OutboxState::Unknown { .. }));
    // Once the number is known, its echo is one of what went to the identity.
    let thread = identity_key().derive_thread_id(setup.fixture.instance(), LID);
    succeed(save_alias(&setup.world.store, &thread, &known(NUMBER))).await;
    assert_eq!(typed_in(&setup, NUMBER, "ECHO-2", &text).await, Verdict::Done);
    setup.pass(30);
    let _ = setup.job(&to_alone.conversation).await;
    let settled = stored(&setup, &to_alone).await;
    assert_eq!(settled.provider_message_id.as_deref(), Some("ECHO-2"));
}

#[tokio::test]
async fn an_echo_that_comes_after_giving_up_is_ours_and_a_redrive_sends_nothing_until_that_copy_fails() {
    let setup = Setup::set(Fixture::new()).await;
    let fixture = setup.fixture.other_contact();
    let reply = setup.replied_to(&fixture).await;
    let began = setup.now();
    for _ in 0..5 {
        setup.times_out();
    }
    // Two time-outs in a row close the instance, so it is opened again and again.
    for _ in 0..60 {
        let _ = setup.job(&reply.conversation).await;
        setup.pass(30);
        recado_pipeline::reconcile::reconcile(&setup.world).await.unwrap();
    }
    let dead = stored(&setup, &reply).await.out.unwrap().failed_at().unwrap();
    let text = reply.content.render_text();
    assert_eq!(typed(&setup, &fixture, "ECHO-1", &text).await, Verdict::Done);
    assert_eq!(messages_typed(&setup, &reply).await, 0);
    setup.pass(1);
    assert!(setup.now() > dead);
    succeed(recado_dead_letters::redrive_dead_letter(
        &setup.world,
        &Caller::installation(),
        reply.message_id().as_str(),
    ))
    .await;
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 5);
    let settled = stored(&setup, &reply).await;
    assert_eq!(settled.provider_message_id.as_deref(), Some("ECHO-1"));
    assert!(matches!(settled.out.unwrap().state, OutboxState::Sent { .. }));
    // It is the copy that it counts as sent by, however many attempts came after that.
    let job = failed_at(&setup, &reply, "ECHO-1", began).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert!(stored(&setup, &reply).await.out.unwrap().failed_at().is_some());
}

#[tokio::test]
async fn what_one_contact_is_told_does_not_wait_for_what_another_is_sent() {
    let setup = Setup::set(Fixture::new()).await;
    let (maria, paul) = (setup.fixture.other_contact(), setup.fixture.other_contact());
    let to_paul = setup.replied_to(&paul).await;
    setup.send(&to_paul.conversation).await;
    let to_maria = setup.replied_to(&maria).await;
    setup.answers(SendOutcome::Unknown {
        why: "HTTP 500: server error".to_owned(),
        timed_out: false,
    });
    let _ = setup.job(&to_maria.conversation).await;
    let waits = |verdict| matches!(verdict, Verdict::Retry { .. });
    assert!(waits(typed(&setup, &maria, "T-1", "Sou eu").await));
    assert_eq!(typed(&setup, &paul, "T-2", "Sou eu").await, Verdict::Done);
    setup.pass(60);
    let of_paul = failed(&setup, &to_paul, "P0").await;
    assert_eq!(setup.receive(&of_paul, 1).await, Verdict::Done);
    assert!(stored(&setup, &to_paul).await.out.unwrap().failed_at().is_some());
    let of_maria = failed(&setup, &to_maria, "P9").await;
    assert!(
        waits(setup.receive(&of_maria, 1).await),
        "it may be about the unknown one"
    );
}

#[tokio::test]
async fn a_late_second_failure_makes_no_dead_letter_of_what_was_purged() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    let id = reply.message_id();
    let dead_letter = async || find_dead_letter(&setup.world.store, id.as_str()).await.unwrap();
    let first = failed(&setup, &reply, "P0").await;
    assert_eq!(setup.receive(&first, 1).await, Verdict::Done);
    assert!(dead_letter().await.is_some());
    succeed(recado_dead_letters::delete_dead_letter(
        &setup.world,
        &Caller::installation(),
        id.as_str(),
    ))
    .await;
    setup.pass(5);
    let second = failed(&setup, &reply, "P0").await;
    assert_eq!(setup.receive(&second, 1).await, Verdict::Done);
    assert!(dead_letter().await.is_none(), "it was deleted for good");
    assert!(
        succeed(
            setup
                .world
                .store
                .list_open_messages(reply.conversation.thread_id())
        )
        .await
        .is_empty()
    );
}

#[tokio::test]
async fn a_second_report_of_a_failure_does_not_give_up_what_was_redriven_and_waits() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    let first = failed(&setup, &reply, "P0").await;
    assert_eq!(setup.receive(&first, 1).await, Verdict::Done);
    let id = reply.message_id();
    assert!(
        succeed(recado_dead_letters::redrive_dead_letter(
            &setup.world,
            &Caller::installation(),
            id.as_str()
        ))
        .await
    );
    setup.pass(5);
    let second = failed(&setup, &reply, "P0").await;
    assert_eq!(setup.receive(&second, 1).await, Verdict::Done);
    let out = stored(&setup, &reply).await.out.unwrap();
    assert_eq!(out.state, OutboxState::Queued);
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 2, "it goes out again");
}

#[tokio::test]
async fn an_echo_is_the_last_attempts_before_it_and_the_earlier_ones_echo_may_come_later() {
    let setup = Setup::set(Fixture::new()).await;
    let fixture = setup.fixture.other_contact();
    let reply = setup.replied_to(&fixture).await;
    let first_at = setup.now().as_millisecond();
    setup.times_out();
    let _ = setup.job(&reply.conversation).await;
    while setup.world.providers.sent() < 2 {
        setup.times_out();
        let Verdict::Retry { after } = setup.job(&reply.conversation).await else {
            panic!("it is sent again")
        };
        setup.world.system.sleep(after.unsigned_abs()).await;
    }
    let echo = async |id: &str, sent_at: i64| {
        let payload = json!({"address": fixture.address.as_str(), "id": id, "text": reply.content.render_text(),
            "from_me": true, "sent_at": sent_at});
        let job = setup.event(EventKind::Message, payload).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    };
    setup.pass(60);
    let second_at = setup.now().as_millisecond() - 60_000;
    echo("SECOND", second_at).await;
    echo("FIRST", first_at + 1_000).await;
    assert_eq!(messages_typed(&setup, &reply).await, 0, "both are ours");
    echo("TYPED", second_at).await;
    assert_eq!(messages_typed(&setup, &reply).await, 1);
}
