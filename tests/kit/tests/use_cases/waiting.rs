//! What waits, and for how long; what counts as an attempt, and how many there are.

use crate::world::Setup;
use recado_domain::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::EventKind;
use recado_domain::instance::{
    ConnectionStatus, DEFAULT_PATIENCE, InFlightSend, InstanceState, ParkedConversation,
};
use recado_domain::message::{Message, MessageStatus};
use recado_domain::millis::add_millis;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    ClaimOutcome, ConnectionAnswer, Conversations, Instances, OutboxStore, OverdueWork, Overviews,
    SendOutcome, System, WriteOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_testkit::builders::{Fixture, nonce};
use recado_testkit::ports::succeed;
use serde_json::Value;
use std::time::Duration;

async fn setup() -> Setup {
    Setup::set(Fixture::new()).await
}

pub(crate) async fn state(setup: &Setup) -> InstanceState {
    let id = setup.fixture.instance();
    setup.world.store.read_instance_state(id).await.unwrap()
}

pub(crate) async fn stored(setup: &Setup, message: &Message) -> Message {
    succeed(setup.world.store.find_message(&message.message_id()))
        .await
        .unwrap()
}

pub(crate) async fn out(setup: &Setup, message: &Message) -> Outbox {
    stored(setup, message).await.out.unwrap()
}

pub(crate) async fn dead_letter(setup: &Setup, message: &Message) -> Option<DeadLetter> {
    let id = message.message_id();
    find_dead_letter(&setup.world.store, id.as_str()).await.unwrap()
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

/// The messages wait in order for up to 72 hours, and a probe releases them.
#[tokio::test]
async fn a_provider_that_is_not_reached_twice_is_unreachable_and_nothing_is_counted() {
    // Where a contact's 24 hours count, they go on meanwhile.
    for (provider, hours) in [
        ("evolution", 71),
        ("meta", 20),
        ("360dialog", 20),
        ("aws-social", 20),
    ] {
        let setup = Setup::set(Fixture::on(Provider::parse(provider).unwrap())).await;
        let reply = setup.replied().await;
        for expected in [ConnectionStatus::Open, ConnectionStatus::Unreachable] {
            setup.answers(unreached());
            assert_eq!(setup.job(&reply.conversation).await, Verdict::RETRY_SOON);
            assert_eq!(state(&setup).await.connection, expected, "{provider}");
            assert_eq!(out(&setup, &reply).await.attempts, 0);
        }
        assert_eq!(setup.job(&reply.conversation).await, Verdict::Done, "parked");
        assert_eq!(setup.world.providers.sent(), 2);
        // For hours it stays so: probes come further and further apart, and nothing dies.
        setup.world.providers.is(ConnectionAnswer::Unclear);
        for _ in 0..(hours * 6) {
            setup.pass(600);
            reconcile(&setup.world).await.unwrap();
        }
        let probes = setup.world.providers.asked();
        assert!((hours * 4..=hours * 6).contains(&probes), "{probes}");
        assert_eq!(dead_letter(&setup, &reply).await, None);
        setup.world.providers.is(ConnectionAnswer::Open);
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        assert_eq!(state(&setup).await.connection, ConnectionStatus::Open);
        setup.send(&reply.conversation).await;
        assert_eq!(
            stored(&setup, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert_eq!(out(&setup, &reply).await.attempts, 1);
    }
}

#[tokio::test]
async fn a_provider_that_is_not_reached_once_is_tried_again_at_once() {
    let setup = setup().await;
    for _ in 0..3 {
        setup.answers(unreached());
        let reply = setup.replied().await;
        setup.send(&reply.conversation).await;
        assert_eq!(
            stored(&setup, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert_eq!(state(&setup).await.timeouts, 0, "not in a row");
    }
}

#[tokio::test]
async fn the_first_probe_comes_after_half_a_minute_also_after_many_questions_while_it_was_open() {
    let setup = setup().await;
    for _ in 0..6 {
        let job = setup.event(EventKind::Connection, Value::Null).await;
        assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
        setup.pass(60);
    }
    let reply = setup.replied().await;
    setup.answers(unreached());
    setup.answers(unreached());
    setup.send(&reply.conversation).await;
    let found = state(&setup).await;
    assert_eq!(found.connection, ConnectionStatus::Unreachable);
    let wait = found.probe_at.unwrap().as_millisecond() - found.since.unwrap().as_millisecond();
    assert_eq!(wait, 30_000);
}

#[tokio::test]
async fn a_retry_waits_and_the_fifth_failure_is_the_last() {
    let setup = setup().await;
    let reply = setup.replied().await;
    for attempt in 1..=5u32 {
        // Once it asks for longer than the backoff would be.
        let asked = (attempt == 3).then_some(Duration::from_secs(120));
        setup.answers(failed(asked));
        let verdict = setup.job(&reply.conversation).await;
        assert_eq!(setup.world.providers.sent(), u64::from(attempt));
        assert_eq!(out(&setup, &reply).await.attempts, attempt);
        if attempt == 5 {
            assert_eq!(verdict, Verdict::Done);
            break;
        }
        // However many send jobs come: no attempt before its time.
        let not_before = out(&setup, &reply).await.not_before.unwrap();
        let wait = not_before.as_millisecond() - setup.now().as_millisecond();
        let least = asked.map_or(1_000 << (attempt - 1), |_| 120_000);
        let most = asked.map_or(3_000 << (attempt - 1), |_| 120_000);
        assert!(
            (least..=most).contains(&wait),
            "after attempt {attempt}: {wait} ms"
        );
        assert!(matches!(
            setup.job(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        setup.world.system.pass(wait - 1);
        assert!(matches!(
            setup.job(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        assert_eq!(setup.world.providers.sent(), u64::from(attempt), "not yet");
        setup.world.system.pass(1);
    }
    let dead_letter = dead_letter(&setup, &reply).await.unwrap();
    assert_eq!(dead_letter.reason, Reason::MaxRetriesExceeded);
    setup.pass(7_200);
    reconcile(&setup.world).await.unwrap();
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 5, "there is no sixth");
}

#[tokio::test]
async fn what_waits_for_its_instance_is_given_up_after_three_days_and_not_before() {
    let setup = setup().await;
    let begun = setup.now();
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    let hours = |begun: Timestamp, now: Timestamp| (now.as_second() - begun.as_second()) / 3600;
    while dead_letter(&setup, &reply).await.is_none() {
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        assert!(hours(begun, setup.now()) < 80, "it never ends");
    }
    assert_eq!(hours(begun, setup.now()), 72);
    assert_eq!(
        dead_letter(&setup, &reply).await.unwrap().reason,
        Reason::InstanceDisconnected
    );
    assert_eq!(setup.world.providers.sent(), 0);
}

/// What is overdue of messages on their way out.
async fn overdue(setup: &Setup) -> usize {
    let found = setup.world.store.list_overdue(setup.now(), 1_000).await.unwrap();
    let outgoing = |work: &&OverdueWork| matches!(work, OverdueWork::Outgoing { .. });
    found.iter().filter(outgoing).count()
}

/// Otherwise one tenant's thousand queued messages hide what a crash left of others.
#[tokio::test]
async fn messages_whose_send_job_was_enqueued_hide_no_others_for_five_minutes() {
    let setup = setup().await;
    let reply = setup.replied().await;
    setup.pass(360);
    assert_eq!(overdue(&setup).await, 1);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("send_jobs"), 1);
    assert_eq!(overdue(&setup).await, 0);
    setup.pass(299);
    assert_eq!(overdue(&setup).await, 0);
    setup.pass(1);
    assert_eq!(
        reconcile(&setup.world).await.unwrap().count_of("send_jobs"),
        1,
        "it is not forgotten"
    );
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn a_dead_message_without_its_dead_letter_gets_it_also_while_its_instance_is_closed() {
    let setup = setup().await;
    let fixture = setup.fixture.other_contact();
    let reply = setup.replied_to(&fixture).await;
    setup.message(&fixture, "B", "alô?", false).await;
    let behind = setup.turn(&fixture).await;
    assert_eq!(behind.conversation, reply.conversation);
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert_eq!(setup.job(&reply.conversation).await, Verdict::Done);
    // The function that gave it up died before the dead letter.
    let mut dead = stored(&setup, &reply).await;
    dead.out
        .as_mut()
        .unwrap()
        .mark_dead(setup.now(), Reason::InstanceDisconnected, None)
        .unwrap();
    let written = setup.world.store.save_open_message(&dead, None).await.unwrap();
    assert_eq!(written, WriteOutcome::Written);
    setup.pass(600);
    reconcile(&setup.world).await.unwrap();
    assert!(dead_letter(&setup, &reply).await.is_some());
    assert_eq!(dead_letter(&setup, &behind).await, None);
    // It keeps nothing behind it from being given up in time.
    setup.pass(72 * 3_600);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(
        dead_letter(&setup, &behind).await.unwrap().reason,
        Reason::InstanceDisconnected
    );
}

/// Its echo would count as typed on the phone.
#[tokio::test]
async fn what_is_being_sent_is_not_given_up_for_its_age() {
    let setup = setup().await;
    let reply = setup.replied().await;
    let parked = ParkedConversation {
        instance: setup.fixture.instance().clone(),
        conversation: reply.conversation.clone(),
        version: nonce(),
        since: setup.now(),
        not_before: None,
        patience: DEFAULT_PATIENCE,
        reply: None,
    };
    setup.world.store.put_parked(&parked).await.unwrap();
    setup.pass(73 * 3_600);
    let mut sending = stored(&setup, &reply).await;
    let (nonce, lease_until) = (nonce(), add_millis(setup.now(), 60_000));
    let out_of = sending.out.as_mut().unwrap();
    out_of
        .claim_attempt(nonce.clone(), setup.now(), lease_until)
        .unwrap();
    let flight = InFlightSend {
        message: reply.message_id(),
        to: out_of.to.clone(),
        nonce,
        claimed_at: setup.now(),
        until: lease_until,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    };
    let taken = succeed(setup.world.store.claim_message(&sending, None, &flight)).await;
    assert_eq!(taken, ClaimOutcome::Claimed);
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(out(&setup, &reply).await.state, sending.out.unwrap().state);
    assert_eq!(dead_letter(&setup, &reply).await, None);
    // Its lease ends without an outcome: then it may have been sent, and is given up as that.
    setup.pass(600);
    reconcile(&setup.world).await.unwrap();
    assert!(matches!(
        out(&setup, &reply).await.state,
        OutboxState::Unknown { .. }
    ));
    for _ in 0..2 {
        reconcile(&setup.world).await.unwrap();
    }
    let given_up = dead_letter(&setup, &reply).await.unwrap();
    assert_eq!(given_up.reason, Reason::InstanceDisconnected);
    assert!(out(&setup, &reply).await.maybe_sent);
}

pub(crate) async fn connection(setup: &Setup, answer: ConnectionAnswer) {
    setup.world.providers.is(answer);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    while setup.receive(&job, 1).await != Verdict::Done {
        setup.pass(1);
    }
}

async fn parked(setup: &Setup) -> usize {
    let id = setup.fixture.instance();
    setup.world.store.list_parked(id, 10).await.unwrap().len()
}

#[tokio::test]
async fn what_waits_for_its_slot_does_not_leave_once_the_instance_is_closed() {
    let mut fixture = Fixture::new();
    fixture.bound.instance.rate = Some(Rate {
        per_second: 0.1,
        burst: 1,
    });
    let setup = Setup::set(fixture).await;
    let (first, second) = (setup.replied().await, setup.replied().await);
    setup.send(&first.conversation).await;
    let Verdict::Retry { after } = setup.job(&second.conversation).await else {
        panic!("its slot is seconds away")
    };
    connection(&setup, ConnectionAnswer::Closed).await;
    setup.world.system.sleep(after.unsigned_abs()).await;
    assert_eq!(setup.job(&second.conversation).await, Verdict::Done);
    assert_eq!((setup.world.providers.sent(), parked(&setup).await), (1, 1));
    setup.pass(60);
    connection(&setup, ConnectionAnswer::Open).await;
    setup.send(&second.conversation).await;
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn what_closed_and_opened_again_within_seconds_releases_what_waits_all_the_same() {
    let setup = setup().await;
    connection(&setup, ConnectionAnswer::Closed).await;
    connection(&setup, ConnectionAnswer::Open).await;
    let released = state(&setup).await.released_at;
    assert!(released.is_some());
    connection(&setup, ConnectionAnswer::Closed).await;
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    connection(&setup, ConnectionAnswer::Open).await;
    let put_off = state(&setup).await;
    assert_eq!(
        (put_off.connection, put_off.released_at),
        (ConnectionStatus::Open, released)
    );
    assert_eq!(parked(&setup).await, 1, "the last release was a moment ago");
    setup.pass(60);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(parked(&setup).await, 0);
}

#[tokio::test]
async fn of_a_contacts_messages_each_is_given_up_by_its_own_age() {
    let setup = setup().await;
    connection(&setup, ConnectionAnswer::Closed).await;
    let begun = setup.now();
    let first = setup.client_writes("5511900000077").await;
    setup.send(first.conversation.as_ref().unwrap()).await;
    setup.pass(24 * 3_600);
    let second = setup.client_writes("5511900000077").await;
    let mut given_up = Vec::new();
    for _ in 0..(80 * 6) {
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        for id in [&first.id, &second.id] {
            let dead_letter = find_dead_letter(&setup.world.store, id.as_str()).await.unwrap();
            if dead_letter.is_some() && !given_up.iter().any(|(known, _)| *known == id) {
                given_up.push((id, (setup.now().as_second() - begun.as_second()) / 3_600));
            }
        }
    }
    assert_eq!(given_up, [(&first.id, 72), (&second.id, 96)]);
}
