//! A machine whose clock ran ahead and is set back.

use crate::batches::{self, expand, leave, progress};
use crate::effects::with_effect;
use crate::invitations::{self, try_invite};
use crate::phone::written;
use crate::world::Setup;
use recado_domain::access::Caller;
use recado_domain::conversation::ConversationMode;
use recado_domain::dead_letter::QueueName;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::effects::EntryEnd;
use recado_domain::event::EventKind;
use recado_domain::ids::MessageId;
use recado_domain::instance::ConnectionStatus;
use recado_domain::invitations::{BatchState, InvitationState};
use recado_domain::message::{MessageStatus, Role};
use recado_domain::millis::add_millis;
use recado_pipeline::ports::{
    ClaimOutcome, ConnectionAnswer, Conversations, Instances, OutboxStore, SendOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message, process};
use recado_sends::AcceptedMessage;
use recado_testkit::builders::{Fixture, claimed, correlation, far_ahead};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::read_journal;
use serde_json::json;
use std::time::Duration;

/// Seconds by which the clock runs ahead.
const TWO_DAYS: i64 = 2 * 86_400;

/// Seconds by which the clock runs ahead of the provider's, where it is not set back.
const AHEAD: i64 = 600;

/// Works on what the queues hand out now, until they hand out no more.
async fn work(setup: &Setup) {
    let (world, queues) = (&setup.world, &setup.world.queues);
    loop {
        let mut received = Vec::new();
        for queue in QueueName::ALL {
            received.extend(succeed(queues.receive_messages(queue, 100, Duration::from_secs(120))).await);
        }
        if received.is_empty() {
            return;
        }
        for message in received {
            let (body, times) = (&message.body, message.receives);
            let verdict = match message.queue {
                QueueName::Inbound => process::process(world, body, times).await,
                QueueName::Turns => handle_turns_message(world, body, times, None).await,
                QueueName::Outbound => handle_outbound_message(world, &Idle, body, times, None).await,
            };
            match verdict {
                Verdict::Done => queues.delete_received(&message.receipt).await,
                Verdict::Retry { after } => {
                    queues
                        .change_visibility(&message.receipt, after.unsigned_abs())
                        .await
                }
            }
            .unwrap();
        }
    }
}

/// Minutes as they pass on a machine: the queues every second, `reconcile` in between.
async fn minutes(setup: &Setup, minutes: usize) {
    for _ in 0..minutes {
        for _ in 0..60 {
            work(setup).await;
            setup.pass(1);
        }
        reconcile(&setup.world).await.unwrap();
    }
}

async fn status(setup: &Setup, message: &MessageId) -> MessageStatus {
    let stored = setup.world.store.find_message(message).await.unwrap();
    stored.unwrap().status_with_delivery(None)
}

async fn open_of(setup: &Setup, contact: &Fixture) -> usize {
    succeed(setup.world.store.list_open_messages(&contact.thread()))
        .await
        .len()
}

/// What waits since the clock was so many seconds ahead: an event that was not enqueued, a turn, an outcome, retries sooner and
/// later, slots. The clock is right again.
async fn waits_ahead(ahead: i64) -> (Setup, Fixture, Vec<AcceptedMessage>) {
    let setup = Setup::set(Fixture::new()).await;
    *setup.world.llm.says.lock().unwrap() = Some("Olá!".to_owned());
    setup.pass(ahead);
    let contact = setup.fixture.other_contact();
    setup.message(&contact, "W1", "Oi", false).await;
    let lost = json!({"address": contact.address.as_str(), "id": "W2", "text": "Alô?", "from_me": false});
    setup.event(EventKind::Message, lost).await;
    setup.answers(SendOutcome::Unknown {
        why: "server error".to_owned(),
        timed_out: false,
    });
    for after in [60, 3600] {
        setup.answers(SendOutcome::Retryable {
            why: "busy".to_owned(),
            after: Some(Duration::from_secs(after)),
        });
    }
    let mut sent = Vec::new();
    for number in 10..30 {
        // The rate lets the first leave at once.
        sent.push(setup.client_writes(&format!("+55 11 90000-00{number}")).await);
        work(&setup).await;
    }
    setup.pass(-ahead);
    (setup, contact, sent)
}

#[tokio::test]
async fn what_waits_for_a_clock_that_ran_ahead_goes_on_once_it_is_set_back() {
    for ahead in [600, 3 * 3600, 40 * 86_400] {
        let (setup, contact, sent) = Box::pin(waits_ahead(ahead)).await;
        assert!(setup.world.store.measure_clock_lag().await.unwrap() >= Duration::from_secs(590));
        setup.pass(60);
        assert!(setup.world.store.adjust_to_set_back_clock().await.unwrap() > 0);
        assert_eq!(
            setup.world.store.measure_clock_lag().await.unwrap(),
            Duration::ZERO
        );
        assert_eq!(
            setup.world.store.adjust_to_set_back_clock().await.unwrap(),
            0,
            "nothing is ahead any more"
        );
        minutes(&setup, 2).await;
        let mut waiting = 0;
        for message in &sent {
            waiting += usize::from(status(&setup, &message.id).await != MessageStatus::Sent);
        }
        assert_eq!(waiting, 1, "what nobody knows of is still to be looked for");
        minutes(&setup, 6).await;
        for message in &sent {
            let found = status(&setup, &message.id).await;
            assert_eq!(found, MessageStatus::Sent, "{ahead} s ahead");
        }
        let (_, said) = succeed(
            setup
                .world
                .store
                .find_with_history(&setup.turns(&contact).await, 10),
        )
        .await
        .unwrap();
        let roles: Vec<Role> = said.iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
        assert_eq!(open_of(&setup, &contact).await, 0);
        assert_eq!(
            setup.world.providers.sent(),
            25,
            "with two retries, a repeat and two replies"
        );
    }
}

/// A running program notes the time every minute.
#[tokio::test]
async fn a_start_sees_that_the_clock_was_set_back_though_no_message_came_while_it_ran_ahead() {
    let setup = Setup::set(Fixture::new()).await;
    let store = &setup.world.store;
    setup.pass(48 * 3600);
    store.note_clock().await.unwrap();
    setup.pass(-48 * 3600);
    // The minute in which a running program sees it, before the times are corrected.
    store.note_clock().await.unwrap();
    assert_eq!(
        store.measure_clock_lag().await.unwrap(),
        Duration::from_secs(48 * 3600)
    );
    store.adjust_to_set_back_clock().await.unwrap();
    assert_eq!(store.measure_clock_lag().await.unwrap(), Duration::ZERO);
}

#[tokio::test]
async fn the_echo_of_a_send_from_ahead_of_time_is_still_ours() {
    let setup = Setup::set(Fixture::new()).await;
    let contact = setup.fixture.other_contact();
    setup.pass(3 * 3600);
    setup.answers(SendOutcome::Unknown {
        why: "server error".to_owned(),
        timed_out: false,
    });
    let reply = setup.replied_to(&contact).await;
    assert_ne!(setup.job(&reply.conversation).await, Verdict::Done);
    setup.pass(-3 * 3600);
    setup.world.store.adjust_to_set_back_clock().await.unwrap();
    setup
        .message(&contact, "ECHO", &reply.content.render_text(), true)
        .await;
    setup.send(&reply.conversation).await;
    let conversation = succeed(setup.world.store.find_conversation(&reply.conversation)).await;
    assert_eq!(conversation.unwrap().mode, ConversationMode::Ai);
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn an_echo_that_came_before_the_clock_was_corrected_is_still_ours() {
    for (comes_ahead, is_tried_before) in [(false, true), (false, false), (true, false)] {
        let setup = Setup::set(Fixture::new()).await;
        let contact = setup.fixture.other_contact();
        setup.pass(48 * 3600);
        setup.times_out();
        let reply = setup.replied_to(&contact).await;
        assert_ne!(setup.job(&reply.conversation).await, Verdict::Done);
        let (address, text) = (contact.address.as_str(), reply.content.render_text());
        let said = json!({"address": address, "id": "ECHO", "text": text, "from_me": true});
        let back = if comes_ahead { 0 } else { -48 * 3600 };
        setup.pass(back);
        let echo = setup.event(EventKind::Message, said).await;
        setup.pass(-48 * 3600 - back);
        if is_tried_before {
            // It may wait for the end of the attempt.
            let _ = setup.receive(&echo, 1).await;
        }
        setup.pass(600);
        setup.world.store.adjust_to_set_back_clock().await.unwrap();
        assert_eq!(setup.receive(&echo, 2).await, Verdict::Done);
        setup.send(&reply.conversation).await;
        let conversation = succeed(setup.world.store.find_conversation(&reply.conversation)).await;
        assert_eq!(conversation.unwrap().mode, ConversationMode::Ai);
        assert_eq!(setup.world.providers.sent(), 1);
    }
}

/// The contact's newest message tells how far the clock is ahead at most.
#[tokio::test]
async fn while_the_clock_runs_ahead_an_echo_is_ours_and_equal_words_from_before_the_send_are_a_persons() {
    for (seconds_ago, typed) in [(619, 0), (800, 1)] {
        let setup = Setup::set(Fixture::new()).await;
        let reply = setup.replied_to(&setup.fixture).await;
        setup.times_out();
        assert_ne!(setup.job(&reply.conversation).await, Verdict::Done);
        setup.pass(20);
        written(&setup, "Alô?", false, AHEAD).await;
        written(&setup, &reply.content.render_text(), true, seconds_ago).await;
        let found = succeed(setup.world.store.find_with_history(&reply.conversation, 10)).await;
        let (conversation, history) = found.unwrap();
        let of_phone = history.iter().filter(|message| message.role == Role::Operator);
        assert_eq!(of_phone.count(), typed, "{seconds_ago} s ago by our clock");
        assert!(typed > 0 || conversation.mode == ConversationMode::Ai);
    }
}

/// With one attempt alone, no clocks are compared.
#[tokio::test]
async fn while_the_clock_runs_ahead_the_failure_of_a_first_attempt_counts() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    setup.times_out();
    let _ = setup.job(&reply.conversation).await;
    let (provider, external) = (setup.fixture.bound.instance.provider, setup.fixture.external());
    let failed = StatusUpdate {
        key: DeliveryKey::from_own_id(provider, &external, &reply.message_id()),
        status: DeliveryStatus::Failed,
        at: add_millis(setup.now(), -AHEAD * 1_000),
        provider_message_id: None,
        detail: None,
    };
    succeed(setup.world.store.record_status(&failed, far_ahead(), None)).await;
    setup.pass(60);
    let _ = setup.job(&reply.conversation).await;
    assert_eq!(status(&setup, &reply.message_id()).await, MessageStatus::Failed);
    assert_eq!(setup.world.providers.sent(), 1);
}

/// Claims and keys are deleted 7 days after their end.
#[tokio::test]
async fn an_invitation_is_not_sent_again_because_the_clock_ran_ahead_for_a_while() {
    let setup = invitations::setup().await;
    let invite = |key| try_invite(&setup, invitations::request(&setup, key));
    let first = invite(Some("k1")).await.unwrap().invitation;
    setup.pass(3 * 86_400);
    succeed(setup.world.store.delete_expired(setup.now())).await;
    setup.pass(-3 * 86_400);
    setup.world.store.adjust_to_set_back_clock().await.unwrap();
    let again = invite(Some("k1")).await.unwrap();
    assert_eq!((again.repeated, &again.invitation.id), (true, &first.id));
    let other = invite(None).await.unwrap().invitation;
    assert_eq!(other.state, InvitationState::Duplicate { of: first.id });
}

#[tokio::test]
async fn an_attempt_that_runs_while_the_clock_is_set_back_keeps_its_outcome() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    let (sending, flight) = claimed(&reply);
    let was = succeed(setup.world.store.claim_message(&sending, None, &flight)).await;
    assert_eq!(was, ClaimOutcome::Claimed);
    setup.world.store.adjust_to_set_back_clock().await.unwrap();
    let stored = setup.world.store.find_message(&reply.message_id()).await.unwrap();
    assert_eq!(stored.unwrap(), sending);
}

#[tokio::test]
async fn an_instance_that_was_closed_ahead_of_time_is_asked_and_opens() {
    let setup = Setup::set(Fixture::new()).await;
    setup.pass(3 * 3600);
    let reply = setup.replied().await;
    for _ in 0..2 {
        setup.answers(SendOutcome::Unreached {
            why: "no connection".to_owned(),
        });
    }
    setup.send(&reply.conversation).await;
    setup.world.providers.is(ConnectionAnswer::Open);
    setup.pass(-3 * 3600);
    setup.world.store.adjust_to_set_back_clock().await.unwrap();
    minutes(&setup, 3).await;
    let found = succeed(setup.world.store.read_instance_state(setup.fixture.instance())).await;
    assert_eq!(found.connection, ConnectionStatus::Open);
    assert_eq!(status(&setup, &reply.message_id()).await, MessageStatus::Sent);
}

#[tokio::test]
async fn people_keep_what_they_took_over_while_the_clock_was_ahead() {
    let (setup, contact, _) = Box::pin(waits_ahead(3 * 3600)).await;
    let latest = succeed(setup.world.store.find_latest_conversation(&contact.thread()))
        .await
        .unwrap();
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        &latest.id,
        ConversationMode::Manual,
        &correlation(),
    ))
    .await;
    setup.world.store.adjust_to_set_back_clock().await.unwrap();
    minutes(&setup, 8).await;
    let after = succeed(setup.world.store.find_conversation(&latest.id))
        .await
        .unwrap();
    assert_eq!(
        (after.mode, after.answered),
        (ConversationMode::Manual, latest.answered)
    );
}

#[tokio::test]
async fn a_batch_of_a_clock_that_ran_ahead_goes_on_and_ends_once_it_is_set_back() {
    for made in [1, 2] {
        let setup = batches::with_guests(2).await;
        setup.pass(TWO_DAYS);
        let taken = batches::take(&setup, batches::request(0..2, None)).await;
        let id = taken.unwrap().batch.id;
        let batch = batches::stored(&setup, &id).await;
        if made == 2 {
            expand(&setup, &id).await;
        } else {
            assert_eq!(batches::run(&setup, &batch.make_job(0), 1).await, Verdict::Done);
        }
        leave(&setup, &batch, 0..1).await;
        // Its statuses are looked at, and its jobs are lost.
        assert_eq!(progress(&setup, &id).await.counts.sent, 1);
        setup.due_turns().await;
        setup.pass(-TWO_DAYS);
        assert!(setup.world.store.adjust_to_set_back_clock().await.unwrap() > 0);
        minutes(&setup, 10).await;
        let ended = batches::stored(&setup, &id).await;
        assert_eq!(ended.state, BatchState::Finished, "{made}");
        assert_eq!(ended.end.unwrap().counts.sent, 2, "{made}");
    }
}

#[tokio::test]
async fn effects_and_bookings_of_a_clock_that_ran_ahead_are_looked_at_once_it_is_set_back() {
    for end in [None, Some(EntryEnd::Done)] {
        let setup = Setup::set(Fixture::new()).await;
        setup.pass(TWO_DAYS);
        setup.message(&setup.fixture, "A1", "Quero marcar", false).await;
        let is_open = end.is_none();
        let journal = with_effect(&setup, end).await;
        setup.pass(-TWO_DAYS + 120);
        assert!(journal.journal_due_at().unwrap() > setup.now());
        assert!(setup.world.store.adjust_to_set_back_clock().await.unwrap() > 0);
        setup.pass(120);
        let found = read_journal(&setup.world.store, &journal.tenant, &journal.thread).await;
        let found = found.unwrap();
        let due = (
            found.entries_to_settle(setup.now()).len(),
            found.bookings_to_look_at(setup.now()).len(),
        );
        assert_eq!(due, if is_open { (1, 0) } else { (0, 1) });
    }
}
