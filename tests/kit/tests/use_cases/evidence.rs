//! What a provider tells of a send of unknown outcome, and what it is good for.

use crate::world::Setup;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Conversations, OutboxStore, SendEvidence, System};
use recado_testkit::builders::{Fixture, claimed, far_ahead};
use recado_testkit::ports::succeed;
use std::time::Duration;

async fn out(setup: &Setup, message: &Message) -> Outbox {
    let stored = succeed(setup.world.store.find_message(&message.message_id())).await;
    stored.unwrap().out.unwrap()
}

fn tells(setup: &Setup, evidence: SendEvidence) {
    *setup.world.providers.evidence.lock().unwrap() = evidence;
}

#[tokio::test]
async fn equal_words_that_are_known_as_another_message_are_no_evidence() {
    let setup = Setup::set(Fixture::new()).await;
    let first = setup.replied().await;
    setup.send(&first.conversation).await;
    let second = setup.replied().await;
    assert_eq!(first.content, second.content);
    setup.times_out();
    // What the provider finds is the first one: it says the same.
    tells(
        &setup,
        SendEvidence::Sent {
            provider_message_id: Some("P0".to_owned()),
        },
    );
    let _ = setup.job(&second.conversation).await;
    setup.pass(60);
    let _ = setup.job(&second.conversation).await;
    assert!(matches!(
        out(&setup, &second).await.state,
        OutboxState::Unknown { .. }
    ));
    setup.send(&second.conversation).await;
    assert_eq!(setup.world.providers.sent(), 3, "it is sent again");
    assert!(out(&setup, &second).await.maybe_sent);
}

#[tokio::test]
async fn equal_words_that_another_attempt_may_just_have_sent_are_no_evidence_while_it_runs() {
    Box::pin(settle_only_after_the_equal_attempt(false)).await;
}

#[tokio::test]
async fn a_status_before_the_answer_makes_equal_words_of_a_running_attempt_no_evidence() {
    Box::pin(settle_only_after_the_equal_attempt(true)).await;
}

/// Finds a message's words at the provider while another attempt with equal words runs. `status_first`: the provider
/// reported a status of the found message, which is linked to no message yet.
async fn settle_only_after_the_equal_attempt(status_first: bool) {
    let setup = Setup::set(Fixture::new()).await;
    let store = &setup.world.store;
    let reply = setup.replied().await;
    setup.times_out();
    let _ = setup.job(&reply.conversation).await;
    // The person's other conversation, under an identity without a number, says the same meanwhile.
    let other = Fixture {
        address: ContactAddress::parse("99001@lid").unwrap(),
        ..setup.fixture.clone()
    };
    let mut conversation = other.conversation(1);
    let answer = other.answer(&mut conversation);
    store
        .commit_messages(&conversation, std::slice::from_ref(&answer), &[])
        .await
        .unwrap();
    setup.pass(60);
    let own = store.list_in_flight(&reply.instance).await.unwrap().remove(0);
    let (claimed, flight) = claimed(&answer);
    let flight = InFlightSend {
        claimed_at: setup.world.system.now(),
        until: setup.world.system.now() + Duration::from_secs(35),
        text_hash: own.text_hash,
        ..flight
    };
    store.claim_message(&claimed, None, &flight).await.unwrap();
    tells(
        &setup,
        SendEvidence::Sent {
            provider_message_id: Some("P9".to_owned()),
        },
    );
    if status_first {
        let status = StatusUpdate {
            key: DeliveryKey::from_provider_id(Provider::Evolution, &setup.fixture.external(), "P9"),
            status: DeliveryStatus::Delivered,
            at: setup.world.system.now(),
            provider_message_id: Some("P9".to_owned()),
            detail: None,
        };
        succeed(store.record_status(&status, far_ahead(), None)).await;
    }
    let _ = setup.job(&reply.conversation).await;
    assert!(matches!(
        out(&setup, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    setup.pass(36);
    let _ = setup.job(&reply.conversation).await;
    assert!(matches!(
        out(&setup, &reply).await.state,
        OutboxState::Sent { .. }
    ));
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_has_three_days_from_the_attempt_on() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    // It waited for long before it left.
    setup.pass(71 * 3_600);
    setup.times_out();
    tells(&setup, SendEvidence::Unclear);
    let _ = setup.job(&reply.conversation).await;
    setup.pass(71 * 3_600);
    let _ = setup.job(&reply.conversation).await;
    assert!(matches!(
        out(&setup, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    setup.pass(3_600);
    let _ = setup.job(&reply.conversation).await;
    let given_up = out(&setup, &reply).await;
    assert!(matches!(
        given_up.state,
        OutboxState::Dead {
            reason: Reason::UnknownOutcome,
            ..
        }
    ));
    assert!(given_up.maybe_sent);
    assert_eq!(
        setup.world.providers.sent(),
        1,
        "without evidence nothing is repeated"
    );
}
