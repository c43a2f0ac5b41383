//! What a provider tells of a send of unknown outcome, and what it is good for.

use crate::world::Stage;
use recado_domain::contact::ContactAddress;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Conversations, OutboxStore, SendEvidence, System};
use recado_testkit::builders::{Scene, claimed};
use std::time::Duration;

async fn out(stage: &Stage, message: &Message) -> Outbox {
    let stored = stage
        .world
        .store
        .find_message(&message.message_id())
        .await
        .unwrap();
    stored.unwrap().out.unwrap()
}

fn tells(stage: &Stage, evidence: SendEvidence) {
    *stage.world.providers.evidence.lock().unwrap() = evidence;
}

#[tokio::test]
async fn equal_words_that_are_known_as_another_message_are_no_evidence() {
    let stage = Stage::set(Scene::new()).await;
    let first = stage.replied().await;
    stage.send(&first.conversation).await;
    let second = stage.replied().await;
    assert_eq!(first.content, second.content);
    stage.times_out();
    // What the provider finds is the first one: it says the same.
    tells(
        &stage,
        SendEvidence::Sent {
            provider_message_id: Some("P0".to_owned()),
        },
    );
    let _ = stage.kick(&second.conversation).await;
    stage.pass(60);
    let _ = stage.kick(&second.conversation).await;
    assert!(matches!(
        out(&stage, &second).await.state,
        OutboxState::Unknown { .. }
    ));
    stage.send(&second.conversation).await;
    assert_eq!(stage.world.providers.sent(), 3, "it is sent again");
    assert!(out(&stage, &second).await.maybe_sent);
}

#[tokio::test]
async fn equal_words_that_another_attempt_may_just_have_sent_are_no_evidence_while_it_runs() {
    let stage = Stage::set(Scene::new()).await;
    let store = &stage.world.store;
    let reply = stage.replied().await;
    stage.times_out();
    let _ = stage.kick(&reply.conversation).await;
    // The person's other conversation, under an identity without a number, says the same meanwhile.
    let other = Scene {
        address: ContactAddress::parse("99001@lid").unwrap(),
        ..stage.scene.clone()
    };
    let mut conversation = other.conversation(1);
    let answer = other.answer(&mut conversation);
    store.commit_message(&conversation, &answer, None).await.unwrap();
    stage.pass(60);
    let own = store.list_in_flight(&reply.instance).await.unwrap().remove(0);
    let (claimed, flight) = claimed(&answer);
    let flight = InFlightSend {
        claimed_at: stage.world.system.now(),
        until: stage.world.system.now() + Duration::from_secs(35),
        text_hash: own.text_hash,
        ..flight
    };
    store.claim_message(&claimed, None, &flight).await.unwrap();
    tells(
        &stage,
        SendEvidence::Sent {
            provider_message_id: Some("P9".to_owned()),
        },
    );
    let _ = stage.kick(&reply.conversation).await;
    assert!(matches!(
        out(&stage, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    stage.pass(36);
    let _ = stage.kick(&reply.conversation).await;
    assert!(matches!(
        out(&stage, &reply).await.state,
        OutboxState::Sent { .. }
    ));
}

#[tokio::test]
async fn a_provider_that_cannot_be_asked_has_three_days_from_the_attempt_on() {
    let stage = Stage::set(Scene::new()).await;
    let reply = stage.replied().await;
    // It waited for long before it left.
    stage.pass(71 * 3_600);
    stage.times_out();
    tells(&stage, SendEvidence::Unclear);
    let _ = stage.kick(&reply.conversation).await;
    stage.pass(71 * 3_600);
    let _ = stage.kick(&reply.conversation).await;
    assert!(matches!(
        out(&stage, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    stage.pass(3_600);
    let _ = stage.kick(&reply.conversation).await;
    let given_up = out(&stage, &reply).await;
    assert!(matches!(
        given_up.state,
        OutboxState::Dead {
            reason: Reason::UnknownOutcome,
            ..
        }
    ));
    assert!(given_up.maybe_sent);
    assert_eq!(
        stage.world.providers.sent(),
        1,
        "without evidence nothing is repeated"
    );
}
