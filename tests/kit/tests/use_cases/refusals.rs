//! A provider that refuses every message of an instance: its messages wait, and one is tried now and then. And WhatsApp that lets a
//! number begin no chats.

use crate::unknown::failed;
use crate::waiting::{dead_letter, out, state, stored};
use crate::world::Setup;
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{ConnectionAnswer, Conversations, SendOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

fn refusal(why: &str, everything: bool) -> SendOutcome {
    SendOutcome::Refused {
        why: why.to_owned(),
        everything,
    }
}

/// A reply to another contact, whose send gets this outcome.
async fn reply_that_gets(setup: &Setup, outcome: SendOutcome) -> Message {
    let reply = setup.replied().await;
    setup.answers(outcome);
    let _later = setup.job(&reply.conversation).await;
    reply
}

async fn is_dead(setup: &Setup, message: &Message) -> bool {
    dead_letter(setup, message).await.is_some()
}

#[tokio::test]
async fn a_provider_that_refuses_everything_uses_no_message_up_and_opens_by_its_own_word() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = reply_that_gets(&setup, refusal("HTTP 503: no licence", true)).await;
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Closed);
    assert_eq!(state(&setup).await.refusal().unwrap().why, "HTTP 503: no licence");
    assert_eq!(setup.job(&reply.conversation).await, Verdict::Done, "parked");
    setup
        .world
        .providers
        .is(ConnectionAnswer::Refused("HTTP 503: no licence".to_owned()));
    for _ in 0..6 {
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
    }
    assert_eq!(
        (out(&setup, &reply).await.attempts, setup.world.providers.sent()),
        (0, 1)
    );
    setup.world.providers.is(ConnectionAnswer::Open);
    setup.pass(600);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(state(&setup).await.refusal(), None);
    setup.send(&reply.conversation).await;
    assert!(matches!(
        out(&setup, &reply).await.state,
        OutboxState::Sent { .. }
    ));
}

#[tokio::test]
async fn after_three_equal_refusals_the_rest_waits_and_is_tried_one_by_one() {
    let setup = Setup::set(Fixture::new()).await;
    let refused = || refusal("HTTP 422: refused", false);
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.push(reply_that_gets(&setup, refused()).await);
    }
    assert!(is_dead(&setup, &replies[0]).await && is_dead(&setup, &replies[1]).await);
    assert!(!is_dead(&setup, &replies[2]).await, "it waits");
    let other = setup.replied().await;
    for waiting in [&replies[2], &other] {
        assert_eq!(setup.job(&waiting.conversation).await, Verdict::Done, "parked");
    }
    assert_eq!(setup.world.providers.sent(), 3);
    // The provider says that it is connected, which does not help: each probe has one message tried.
    for tried in 1..=4 {
        setup.answers(refused());
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        let jobs = setup.due_sends().await;
        assert_eq!(jobs.len(), 1, "probe {tried}");
        for _ in 0..2 {
            let _later = setup.job(&jobs[0].conversation).await;
        }
        assert_eq!(setup.world.providers.sent(), 3 + tried);
        assert_eq!(state(&setup).await.connection, ConnectionStatus::Closed);
    }
    for waiting in [&replies[2], &other] {
        assert!(!is_dead(&setup, waiting).await);
        assert_eq!(out(&setup, waiting).await.attempts, 0);
    }
    // Once it takes one, the others leave: `send` plays the jobs that the queue has then, too.
    setup.pass(600);
    reconcile(&setup.world).await.unwrap();
    let jobs = setup.due_sends().await;
    setup.send(&jobs[0].conversation).await;
    assert_eq!(state(&setup).await.refusals, None);
    for waiting in [&replies[2], &other] {
        assert!(matches!(
            out(&setup, waiting).await.state,
            OutboxState::Sent { .. }
        ));
    }
}

#[tokio::test]
async fn refusals_of_one_conversation_or_with_an_accepted_one_between_them_close_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    let phone = setup.fixture.address.phone_number().unwrap();
    for _ in 0..4 {
        let accepted = setup.client_writes(&phone).await;
        setup.answers(refusal("HTTP 422: refused", false));
        let _done = setup
            .job(&accepted.id.conversation_and_ordinal().unwrap().0)
            .await;
        let message = succeed(setup.world.store.find_message(&accepted.id))
            .await
            .unwrap();
        assert!(is_dead(&setup, &message).await);
    }
    for _ in 0..2 {
        reply_that_gets(&setup, refusal("HTTP 422: refused", false)).await;
        let accepted = setup.replied().await;
        setup.send(&accepted.conversation).await;
        assert_eq!(state(&setup).await.refusals, None);
    }
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Open);
}

/// A client writes to somebody who never wrote.
async fn first_contact(setup: &Setup, phone: &str) -> Message {
    let accepted = setup.client_writes(phone).await;
    // Its send job is played by hand.
    setup.due_sends().await;
    succeed(setup.world.store.find_message(&accepted.id))
        .await
        .unwrap()
}

async fn was_sent(setup: &Setup, message: &Message) -> bool {
    matches!(out(setup, message).await.state, OutboxState::Sent { .. })
}

/// WhatsApp refused a first contact after the provider had accepted it.
async fn refused_first_contact(setup: &Setup) {
    let first = first_contact(setup, "+5511900000101").await;
    setup.send(&first.conversation).await;
    let sent_as = stored(setup, &first).await.provider_message_id.unwrap();
    let job = failed(setup, &first, &sent_as).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert!(is_dead(setup, &first).await);
}

#[tokio::test]
async fn a_first_contact_that_the_sends_answer_refuses_stops_the_others_and_a_refused_reply_does_not() {
    let setup = Setup::set(Fixture::new()).await;
    let refused = || SendOutcome::NewChatRefused {
        why: "HTTP 500: no first message".to_owned(),
    };
    let reply = reply_that_gets(&setup, refused()).await;
    assert!(is_dead(&setup, &reply).await);
    assert_eq!(state(&setup).await.first_contacts_from, None);
    let first = first_contact(&setup, "+5511900000101").await;
    setup.answers(refused());
    setup.send(&first.conversation).await;
    assert!(is_dead(&setup, &first).await);
    assert!(state(&setup).await.first_contacts_from.is_some());
    let second = first_contact(&setup, "+5511900000102").await;
    assert_eq!(setup.job(&second.conversation).await, Verdict::Done, "parked");
    assert!(!was_sent(&setup, &second).await);
}

#[tokio::test]
async fn after_a_refused_first_contact_no_other_leaves_for_six_hours_and_replies_do() {
    let setup = Setup::set(Fixture::new()).await;
    refused_first_contact(&setup).await;
    let second = first_contact(&setup, "+5511900000102").await;
    assert_eq!(setup.job(&second.conversation).await, Verdict::Done, "parked");
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    assert!(was_sent(&setup, &reply).await && !was_sent(&setup, &second).await);
    for _ in 0..35 {
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        assert!(setup.due_sends().await.is_empty(), "it is not asked for before");
    }
    setup.pass(900);
    reconcile(&setup.world).await.unwrap();
    setup.send(&setup.due_sends().await[0].conversation).await;
    assert!(was_sent(&setup, &second).await);
    // One is tried; the others follow if it was not refused.
    let third = first_contact(&setup, "+5511900000103").await;
    let _parked = setup.job(&third.conversation).await;
    assert!(!was_sent(&setup, &third).await);
    setup.pass(960);
    setup.send(&third.conversation).await;
    assert!(was_sent(&setup, &third).await);
    assert_eq!(state(&setup).await.first_contacts_from, None);
}

#[tokio::test]
async fn a_person_who_writes_meanwhile_gets_what_waited_and_a_failure_to_one_who_wrote_stops_nothing() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    let sent_as = stored(&setup, &reply).await.provider_message_id.unwrap();
    let job = failed(&setup, &reply, &sent_as).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(state(&setup).await.first_contacts_from, None);
    refused_first_contact(&setup).await;
    let phone = setup.fixture.address.phone_number().unwrap();
    let waiting = first_contact(&setup, &phone).await;
    let _parked = setup.job(&waiting.conversation).await;
    assert!(!was_sent(&setup, &waiting).await);
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.send(&waiting.conversation).await;
    assert!(was_sent(&setup, &waiting).await);
}
