//! A first message that Evolution accepted for the number and WhatsApp never acknowledged: it goes once more, to the linked identity.

use crate::identities::{LID, known};
use crate::unknown::failed;
use crate::waiting::{connection, dead_letter, out, state, stored};
use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::instance::InstanceChange;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_operators::list_unacknowledged;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    ConnectionAnswer, Conversations, Instances, OutboxStore, PageRequest, SendOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::{Fixture, far_ahead};
use recado_testkit::ports::succeed;
use std::sync::atomic::Ordering;

/// A provider that knows everybody's linked identity.
async fn setup() -> Setup {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.providers.identity.lock().unwrap() = Some(known(LID));
    setup
}

/// A client's message to somebody who never wrote, as it is after the provider accepted it under the id `P0`.
async fn first_message(setup: &Setup, phone: &str) -> Message {
    let accepted = setup.client_writes(phone).await;
    setup.due_sends().await;
    let message = succeed(setup.world.store.find_message(&accepted.id))
        .await
        .unwrap();
    setup.send(&message.conversation).await;
    stored(setup, &message).await
}

/// Ten minutes pass and some seconds, and `reconcile` looks.
async fn pass_wait(setup: &Setup) {
    setup.pass(610);
    reconcile(&setup.world).await.unwrap();
}

fn key(setup: &Setup, id: &str) -> DeliveryKey {
    DeliveryKey::from_provider_id(
        setup.fixture.bound.instance.provider,
        &setup.fixture.external(),
        id,
    )
}

/// WhatsApp acknowledges the attempt that the provider accepted under this id.
async fn acknowledge(setup: &Setup, id: &str) {
    let update = StatusUpdate {
        key: key(setup, id),
        status: DeliveryStatus::Sent,
        at: setup.now(),
        provider_message_id: None,
        detail: None,
    };
    succeed(setup.world.store.record_status(&update, far_ahead(), None)).await;
}

async fn count_listed(setup: &Setup) -> usize {
    let page = PageRequest::first(50);
    let all = Caller::installation();
    let found = list_unacknowledged(&setup.world, &all, None, &page);
    succeed(found).await.items.len()
}

/// The message counts as sent to the number, and the provider got it this often.
async fn assert_kept(setup: &Setup, message: &Message, sent: u64, is_marked: bool) {
    let found = stored(setup, message).await;
    assert_eq!(found.provider_message_id.as_deref(), Some("P0"));
    let out = found.out.unwrap();
    assert!(matches!(out.state, OutboxState::Sent { .. }), "{out:?}");
    assert_eq!((setup.world.providers.sent(), out.maybe_sent), (sent, is_marked));
    assert!(!out.is_identity_attempt());
    assert!(dead_letter(setup, message).await.is_none());
}

#[tokio::test]
async fn a_first_message_that_is_never_acknowledged_goes_once_more_to_the_linked_identity_and_is_marked() {
    let setup = setup().await;
    let first = first_message(&setup, "+5511900000101").await;
    setup.pass(590);
    reconcile(&setup.world).await.unwrap();
    assert_eq!(
        out(&setup, &first).await,
        first.out.clone().unwrap(),
        "not before"
    );
    setup.pass(20);
    reconcile(&setup.world).await.unwrap();
    setup.send(&first.conversation).await;
    let recipients = setup.world.providers.recipients();
    assert_eq!(recipients, [first.out.clone().unwrap().to, known(LID)]);
    let sent = out(&setup, &first).await;
    assert!(matches!(sent.state, OutboxState::Sent { .. }) && sent.maybe_sent);
    assert_eq!((sent.attempts, sent.to), (2, first.out.clone().unwrap().to));
    assert_eq!(sent.identity_attempt.unwrap().to, known(LID));
    // Both attempts are known by their ids, and the number's is not waited for any more.
    for id in ["P0", "P1"] {
        let delivery = succeed(setup.world.store.find_delivery(&key(&setup, id))).await;
        assert_eq!(delivery.unwrap().message, Some(first.message_id()), "{id}");
    }
    assert_eq!(count_listed(&setup).await, 0);
    // Once, whatever becomes of it.
    pass_wait(&setup).await;
    assert_eq!(count_listed(&setup).await, 1);
    setup.send(&first.conversation).await;
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn what_is_acknowledged_or_may_not_begin_a_chat_stays_as_it_is() {
    for case in [
        "acknowledged",
        "answered",
        "no identity",
        "switched off",
        "connection lost",
        "first contacts stopped",
        "too late",
    ] {
        let mut setup = setup().await;
        let phone = setup.fixture.address.phone_number().unwrap();
        let first = first_message(&setup, &phone).await;
        match case {
            "acknowledged" => acknowledge(&setup, "P0").await,
            "answered" => setup.message(&setup.fixture, "W1", "oi", false).await,
            "no identity" => *setup.world.providers.identity.lock().unwrap() = None,
            "switched off" => setup.world.deps_mut().settings_mut().identity_attempts = false,
            "connection lost" => {
                setup.pass(60);
                connection(&setup, ConnectionAnswer::Closed).await;
                setup.pass(60);
                connection(&setup, ConnectionAnswer::Open).await;
            }
            "first contacts stopped" => {
                let stop = InstanceChange::StopFirstContacts(add_millis(setup.now(), 6 * 3_600_000));
                let (store, seen) = (&setup.world.store, state(&setup).await);
                let changed = store.change_instance_state(setup.fixture.instance(), &seen, &stop);
                assert!(succeed(changed).await.done);
            }
            "too late" => setup.pass(3_600),
            _ => {}
        }
        let before = stored(&setup, &first).await;
        for _ in 0..5 {
            setup.pass(150);
            reconcile(&setup.world).await.unwrap();
        }
        assert_eq!(stored(&setup, &first).await.out, before.out, "{case}");
        let asked = setup.world.providers.identities_asked.load(Ordering::SeqCst);
        assert_eq!(asked > 0, case == "no identity", "{case}");
    }
}

#[tokio::test]
async fn each_instance_gets_one_attempt_in_a_minute() {
    let setup = setup().await;
    let mut all = Vec::new();
    for phone in ["+5511900000101", "+5511900000102", "+5511900000103"] {
        all.push(first_message(&setup, phone).await);
    }
    setup.pass(610);
    for minute in 1..=2 {
        reconcile(&setup.world).await.unwrap();
        let mut begun = 0;
        for message in &all {
            begun += usize::from(out(&setup, message).await.identity_attempt.is_some());
        }
        assert_eq!(begun, minute);
        setup.pass(60);
    }
}

#[tokio::test]
async fn what_whatsapp_or_the_person_says_before_it_leaves_ends_the_attempt() {
    for case in ["acknowledged", "answered", "closed", "late"] {
        let setup = setup().await;
        let phone = setup.fixture.address.phone_number().unwrap();
        let first = first_message(&setup, &phone).await;
        pass_wait(&setup).await;
        assert!(out(&setup, &first).await.is_identity_attempt(), "{case}");
        match case {
            "acknowledged" => acknowledge(&setup, "P0").await,
            "answered" => setup.message(&setup.fixture, "W1", "oi", false).await,
            "closed" => connection(&setup, ConnectionAnswer::Closed).await,
            // The process that had the send job is gone.
            _ => {
                setup.due_sends().await;
                setup.pass(16 * 60);
            }
        }
        setup.send(&first.conversation).await;
        assert_kept(&setup, &first, 1, false).await;
    }
}

#[tokio::test]
async fn a_failure_for_the_number_before_it_leaves_is_the_end_and_stops_first_contacts() {
    let setup = setup().await;
    let first = first_message(&setup, "+5511900000101").await;
    pass_wait(&setup).await;
    let job = failed(&setup, &first, "P0").await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    assert!(state(&setup).await.first_contacts_from.is_some());
    setup.send(&first.conversation).await;
    let letter = dead_letter(&setup, &first).await.unwrap();
    assert_eq!(letter.reason, Reason::WhatsappPermanentError);
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn an_attempt_that_is_refused_or_whose_outcome_is_unknown_is_not_repeated() {
    let setup = setup().await;
    let first = first_message(&setup, "+5511900000101").await;
    pass_wait(&setup).await;
    setup.answers(SendOutcome::Permanent {
        reason: Reason::WhatsappPermanentError,
        why: "HTTP 400".to_owned(),
    });
    setup.send(&first.conversation).await;
    assert_kept(&setup, &first, 2, false).await;

    let setup = self::setup().await;
    let first = first_message(&setup, "+5511900000101").await;
    pass_wait(&setup).await;
    setup.times_out();
    setup.send(&first.conversation).await;
    assert_kept(&setup, &first, 2, true).await;
}

#[tokio::test]
async fn a_crash_before_the_send_job_loses_no_attempt_and_makes_no_second_one() {
    let setup = setup().await;
    let first = first_message(&setup, "+5511900000101").await;
    pass_wait(&setup).await;
    assert_eq!(setup.due_sends().await.len(), 1);
    setup.pass(60);
    reconcile(&setup.world).await.unwrap();
    let jobs = setup.due_sends().await;
    assert_eq!(jobs.len(), 1);
    for _ in 0..2 {
        setup.send(&jobs[0].conversation).await;
    }
    assert_eq!(setup.world.providers.sent(), 2);
    assert!(out(&setup, &first).await.maybe_sent);
}
