//! What waits, and for how long; what counts as an attempt, and how many there are.

use crate::world::Stage;
use recado_domain::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::EventKind;
use recado_domain::instance::{
    ConnectionStatus, DEFAULT_PATIENCE_MS, InFlightSend, InstanceState, ParkedConversation,
};
use recado_domain::message::{Message, MessageStatus};
use recado_domain::millis::add_millis;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    ClaimOutcome, ConnectionAnswer, Conversations, DeadLetters, InstanceStates, OutboxStore, OverdueIndex,
    OverdueWork, SendOutcome, System, WriteOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::{Scene, nonce};
use serde_json::Value;
use std::time::Duration;

async fn stage() -> Stage {
    Stage::set(Scene::new()).await
}

pub(crate) async fn state(stage: &Stage) -> InstanceState {
    let id = stage.scene.instance();
    stage.world.store.read_instance_state(id).await.unwrap()
}

pub(crate) async fn stored(stage: &Stage, message: &Message) -> Message {
    stage
        .world
        .store
        .find_message(&message.message_id())
        .await
        .unwrap()
        .unwrap()
}

pub(crate) async fn out(stage: &Stage, message: &Message) -> Outbox {
    stored(stage, message).await.out.unwrap()
}

async fn letter(stage: &Stage, message: &Message) -> Option<DeadLetter> {
    let id = message.message_id();
    stage.world.store.find_dead_letter(id.as_str()).await.unwrap()
}

fn unreached() -> SendOutcome {
    SendOutcome::Unreached {
        why: "no connection to the provider".to_owned(),
    }
}

fn failed(after: Option<Duration>) -> SendOutcome {
    SendOutcome::Retryable {
        why: "busy".to_owned(),
        after,
    }
}

#[tokio::test]
async fn a_provider_that_is_not_reached_twice_is_unreachable_and_nothing_is_counted() {
    // Where a contact's 24 hours count, they go on meanwhile.
    for (provider, hours) in [
        ("evolution", 71),
        ("meta", 20),
        ("360dialog", 20),
        ("aws-social", 20),
    ] {
        let stage = Stage::set(Scene::on(Provider::parse(provider).unwrap())).await;
        let reply = stage.replied().await;
        for expected in [ConnectionStatus::Open, ConnectionStatus::Unreachable] {
            stage.answers(unreached());
            assert_eq!(stage.kick(&reply.conversation).await, Verdict::RETRY_SOON);
            assert_eq!(state(&stage).await.connection, expected, "{provider}");
            assert_eq!(out(&stage, &reply).await.attempts, 0);
        }
        assert_eq!(stage.kick(&reply.conversation).await, Verdict::Done, "parked");
        assert_eq!(stage.world.providers.sent(), 2);
        // For hours it stays so: probes come further and further apart, and nothing dies.
        stage.world.providers.is(ConnectionAnswer::Unclear);
        for _ in 0..(hours * 6) {
            stage.pass(600);
            reconcile(&stage.world).await.unwrap();
        }
        let probes = stage.world.providers.asked();
        assert!((hours * 4..=hours * 6).contains(&probes), "{probes}");
        assert_eq!(letter(&stage, &reply).await, None);
        stage.world.providers.is(ConnectionAnswer::Open);
        stage.pass(600);
        reconcile(&stage.world).await.unwrap();
        assert_eq!(state(&stage).await.connection, ConnectionStatus::Open);
        stage.send(&reply.conversation).await;
        assert_eq!(
            stored(&stage, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert_eq!(out(&stage, &reply).await.attempts, 1);
    }
}

#[tokio::test]
async fn a_provider_that_is_not_reached_once_is_tried_again_at_once() {
    let stage = stage().await;
    for _ in 0..3 {
        stage.answers(unreached());
        let reply = stage.replied().await;
        stage.send(&reply.conversation).await;
        assert_eq!(
            stored(&stage, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert_eq!(state(&stage).await.timeouts, 0, "not in a row");
    }
}

#[tokio::test]
async fn the_first_probe_comes_after_half_a_minute_also_after_many_questions_while_it_was_open() {
    let stage = stage().await;
    for _ in 0..6 {
        let job = stage.event(EventKind::Connection, Value::Null).await;
        assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
        stage.pass(60);
    }
    let reply = stage.replied().await;
    stage.answers(unreached());
    stage.answers(unreached());
    stage.send(&reply.conversation).await;
    let found = state(&stage).await;
    assert_eq!(found.connection, ConnectionStatus::Unreachable);
    let wait = found.probe_at.unwrap().as_millisecond() - found.since.unwrap().as_millisecond();
    assert_eq!(wait, 30_000);
}

#[tokio::test]
async fn a_retry_waits_and_the_fifth_failure_is_the_last() {
    let stage = stage().await;
    let reply = stage.replied().await;
    for attempt in 1..=5u32 {
        // Once it asks for longer than the backoff would be.
        let asked = (attempt == 3).then_some(Duration::from_secs(120));
        stage.answers(failed(asked));
        let verdict = stage.kick(&reply.conversation).await;
        assert_eq!(stage.world.providers.sent(), u64::from(attempt));
        assert_eq!(out(&stage, &reply).await.attempts, attempt);
        if attempt == 5 {
            assert_eq!(verdict, Verdict::Done);
            break;
        }
        // Whoever kicks, and however often: no attempt before its time.
        let not_before = out(&stage, &reply).await.not_before.unwrap();
        let wait = not_before.as_millisecond() - stage.now().as_millisecond();
        let least = asked.map_or(1_000 << (attempt - 1), |_| 120_000);
        let most = asked.map_or(3_000 << (attempt - 1), |_| 120_000);
        assert!(
            (least..=most).contains(&wait),
            "after attempt {attempt}: {wait} ms"
        );
        assert!(matches!(
            stage.kick(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        stage.world.system.pass(wait - 1);
        assert!(matches!(
            stage.kick(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        assert_eq!(stage.world.providers.sent(), u64::from(attempt), "not yet");
        stage.world.system.pass(1);
    }
    let letter = letter(&stage, &reply).await.unwrap();
    assert_eq!(letter.reason, Reason::MaxRetriesExceeded);
    stage.pass(7_200);
    reconcile(&stage.world).await.unwrap();
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.sent(), 5, "there is no sixth");
}

#[tokio::test]
async fn what_waits_for_its_instance_is_given_up_after_three_days_and_not_before() {
    let stage = stage().await;
    let begun = stage.now();
    stage.world.providers.is(ConnectionAnswer::Closed);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
    let reply = stage.replied().await;
    stage.send(&reply.conversation).await;
    let hours = |begun: Timestamp, now: Timestamp| (now.as_second() - begun.as_second()) / 3600;
    while letter(&stage, &reply).await.is_none() {
        stage.pass(600);
        reconcile(&stage.world).await.unwrap();
        assert!(hours(begun, stage.now()) < 80, "it never ends");
    }
    assert_eq!(hours(begun, stage.now()), 72);
    assert_eq!(
        letter(&stage, &reply).await.unwrap().reason,
        Reason::InstanceDisconnected
    );
    assert_eq!(stage.world.providers.sent(), 0);
}

/// What is overdue of messages on their way out.
async fn overdue(stage: &Stage) -> usize {
    let found = stage.world.store.list_overdue(stage.now(), 1_000).await.unwrap();
    let outgoing = |work: &&OverdueWork| matches!(work, OverdueWork::Outgoing { .. });
    found.iter().filter(outgoing).count()
}

#[tokio::test]
async fn what_was_kicked_hides_no_others_for_five_minutes() {
    let stage = stage().await;
    let reply = stage.replied().await;
    stage.pass(360);
    assert_eq!(overdue(&stage).await, 1);
    assert_eq!(reconcile(&stage.world).await.unwrap().kicked, 1);
    assert_eq!(overdue(&stage).await, 0);
    stage.pass(299);
    assert_eq!(overdue(&stage).await, 0);
    stage.pass(1);
    assert_eq!(
        reconcile(&stage.world).await.unwrap().kicked,
        1,
        "it is not forgotten"
    );
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.sent(), 1);
}

#[tokio::test]
async fn a_dead_message_without_its_letter_gets_it_also_while_its_instance_is_closed() {
    let stage = stage().await;
    let scene = stage.scene.other_contact();
    let reply = stage.replied_to(&scene).await;
    stage.message(&scene, "B", "alô?", false).await;
    let behind = stage.turn(&scene).await;
    assert_eq!(behind.conversation, reply.conversation);
    stage.world.providers.is(ConnectionAnswer::Closed);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
    assert_eq!(stage.kick(&reply.conversation).await, Verdict::Done);
    // The function that gave it up died before the letter.
    let mut dead = stored(&stage, &reply).await;
    dead.out
        .as_mut()
        .unwrap()
        .mark_dead(stage.now(), Reason::InstanceDisconnected, None)
        .unwrap();
    let written = stage.world.store.save_open_message(&dead, None).await.unwrap();
    assert_eq!(written, WriteOutcome::Written);
    stage.pass(600);
    reconcile(&stage.world).await.unwrap();
    assert!(letter(&stage, &reply).await.is_some());
    assert_eq!(letter(&stage, &behind).await, None);
    // It keeps nothing behind it from being given up in time.
    stage.pass(72 * 3_600);
    reconcile(&stage.world).await.unwrap();
    assert_eq!(
        letter(&stage, &behind).await.unwrap().reason,
        Reason::InstanceDisconnected
    );
}

#[tokio::test]
async fn what_is_being_sent_is_not_given_up_for_its_age() {
    let stage = stage().await;
    let reply = stage.replied().await;
    let parked = ParkedConversation {
        instance: stage.scene.instance().clone(),
        conversation: reply.conversation.clone(),
        version: nonce(),
        since: stage.now(),
        not_before: None,
        patience_ms: DEFAULT_PATIENCE_MS,
        reply: None,
    };
    stage.world.store.put_parked(&parked).await.unwrap();
    stage.pass(73 * 3_600);
    let mut sending = stored(&stage, &reply).await;
    let (nonce, lease_until) = (nonce(), add_millis(stage.now(), 60_000));
    let out_of = sending.out.as_mut().unwrap();
    out_of
        .claim_attempt(nonce.clone(), stage.now(), lease_until)
        .unwrap();
    let flight = InFlightSend {
        message: reply.message_id(),
        to: out_of.to.clone(),
        nonce,
        claimed_at: stage.now(),
        until: lease_until,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
    };
    let taken = stage
        .world
        .store
        .claim_message(&sending, None, &flight)
        .await
        .unwrap();
    assert_eq!(taken, ClaimOutcome::Claimed);
    stage.world.providers.is(ConnectionAnswer::Closed);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
    reconcile(&stage.world).await.unwrap();
    assert_eq!(out(&stage, &reply).await.state, sending.out.unwrap().state);
    assert_eq!(letter(&stage, &reply).await, None);
    // Its lease ends without an outcome: then it may have been sent, and is given up as that.
    stage.pass(600);
    reconcile(&stage.world).await.unwrap();
    assert!(matches!(
        out(&stage, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    for _ in 0..2 {
        reconcile(&stage.world).await.unwrap();
    }
    let given_up = letter(&stage, &reply).await.unwrap();
    assert_eq!(given_up.reason, Reason::InstanceDisconnected);
    assert!(out(&stage, &reply).await.maybe_sent);
}

async fn connection(stage: &Stage, answer: ConnectionAnswer) {
    stage.world.providers.is(answer);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    while stage.receive(&job, 1).await != Verdict::Done {
        stage.pass(1);
    }
}

async fn parked(stage: &Stage) -> usize {
    let id = stage.scene.instance();
    stage.world.store.list_parked(id, 10).await.unwrap().len()
}

#[tokio::test]
async fn what_waits_for_its_slot_does_not_leave_once_the_instance_is_closed() {
    let mut scene = Scene::new();
    scene.bound.instance.rate = Some(Rate {
        per_second: 0.1,
        burst: 1,
    });
    let stage = Stage::set(scene).await;
    let (first, second) = (stage.replied().await, stage.replied().await);
    stage.send(&first.conversation).await;
    let Verdict::Retry { after } = stage.kick(&second.conversation).await else {
        panic!("its slot is seconds away")
    };
    connection(&stage, ConnectionAnswer::Closed).await;
    stage.world.system.sleep(after).await;
    assert_eq!(stage.kick(&second.conversation).await, Verdict::Done);
    assert_eq!((stage.world.providers.sent(), parked(&stage).await), (1, 1));
    stage.pass(60);
    connection(&stage, ConnectionAnswer::Open).await;
    stage.send(&second.conversation).await;
    assert_eq!(stage.world.providers.sent(), 2);
}

#[tokio::test]
async fn what_closed_and_opened_again_within_seconds_releases_what_waits_all_the_same() {
    let stage = stage().await;
    connection(&stage, ConnectionAnswer::Closed).await;
    connection(&stage, ConnectionAnswer::Open).await;
    let released = state(&stage).await.released_at;
    assert!(released.is_some());
    connection(&stage, ConnectionAnswer::Closed).await;
    let reply = stage.replied().await;
    stage.send(&reply.conversation).await;
    connection(&stage, ConnectionAnswer::Open).await;
    let put_off = state(&stage).await;
    assert_eq!(
        (put_off.connection, put_off.released_at),
        (ConnectionStatus::Open, released)
    );
    assert_eq!(parked(&stage).await, 1, "the last release was a moment ago");
    stage.pass(60);
    reconcile(&stage.world).await.unwrap();
    assert_eq!(parked(&stage).await, 0);
}

#[tokio::test]
async fn of_a_contacts_messages_each_is_given_up_by_its_own_age() {
    let stage = stage().await;
    connection(&stage, ConnectionAnswer::Closed).await;
    let begun = stage.now();
    let first = stage.client_writes("5511900000077").await;
    stage.send(first.conversation.as_ref().unwrap()).await;
    stage.pass(24 * 3_600);
    let second = stage.client_writes("5511900000077").await;
    let mut given_up = Vec::new();
    for _ in 0..(80 * 6) {
        stage.pass(600);
        reconcile(&stage.world).await.unwrap();
        for id in [&first.id, &second.id] {
            let letter = stage.world.store.find_dead_letter(id.as_str()).await.unwrap();
            if letter.is_some() && !given_up.iter().any(|(known, _)| *known == id) {
                given_up.push((id, (stage.now().as_second() - begun.as_second()) / 3_600));
            }
        }
    }
    assert_eq!(given_up, [(&first.id, 72), (&second.id, 96)]);
}
