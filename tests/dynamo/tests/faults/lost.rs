//! Answers that are lost: what was asked is done.

use crate::world::{World, unavailable};
use futures::executor::block_on;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{InstanceId, Ordinal};
use recado_domain::instance::{
    ChangedInstance, ConnectionStatus, Echo, InFlightSend, InstanceChange, UnansweredAttempt,
};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_dynamo_simulation::{Fault, Verb};
use recado_pipeline::ports::{
    CommitOutcome, Conversations, EventChange, InboundWrite, Inbox, Instances, NoteChange, OutboxStore,
    RecordEventOutcome, StoreInboundOutcome, System,
};
use recado_pipeline::records::dead_letters::{put_dead_letter, remove_dead_letter};
use recado_testkit::builders::{BASE, Fixture, claimed, seen};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// An event that is recorded, and what it brings.
fn arrived(world: &World) -> (InboundJob, Conversation, Message) {
    let fixture = Fixture::new();
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
    let message = fixture.inbound(&mut conversation, &job);
    (job, conversation, message)
}

fn stored(
    world: &World,
    job: &InboundJob,
    conversation: &Conversation,
    message: &Message,
) -> Result<StoreInboundOutcome, recado_pipeline::ports::PortError> {
    block_on(world.store.store_inbound(InboundWrite {
        event: &job.event,
        conversation,
        message,
        finish: None,
    }))
}

#[test]
fn a_write_whose_answer_is_lost_is_unavailable_and_was_done() {
    let (world, job) = (World::new(), Fixture::new().job());
    world.fails_times(1, Fault::FailAfter);
    assert_eq!(
        unavailable(block_on(world.store.record_event(&job))),
        "connection"
    );
    assert_eq!(world.dynamo.records().unwrap().len(), 1);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::Pending
    );
}

#[test]
fn a_transaction_whose_answer_is_lost_is_unavailable_and_was_done_whole() {
    let world = World::new();
    let (job, conversation, message) = arrived(&world);
    world.fails_times(1, Fault::FailAfter);
    let outcome = stored(&world, &job, &conversation, &message);
    assert_eq!(unavailable(outcome), "connection");
    let found = block_on(world.store.find_message(&message.message_id())).unwrap();
    assert_eq!(found, Some(message.clone()));
    let again = stored(&world, &job, &conversation, &message).unwrap();
    assert!(
        matches!(again, StoreInboundOutcome::AlreadyStored(_)),
        "{again:?}"
    );
}

#[test]
fn a_refusal_that_is_lost_is_unavailable_and_nothing_was_done() {
    let (world, job) = (World::new(), Fixture::new().job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let records = world.dynamo.records().unwrap();
    world.fails(|_| Fault::FailAfter);
    assert_eq!(
        unavailable(block_on(world.store.record_event(&job))),
        "connection"
    );
    assert_eq!(world.dynamo.records().unwrap(), records);
}

#[test]
fn a_write_that_the_sdk_repeats_after_a_lost_answer_is_known_as_its_own() {
    let (world, job) = (World::with_attempts(3), Fixture::new().job());
    world.fails_times(1, Fault::FailAfter);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
    assert_eq!(world.dynamo.requests(), 2);
}

#[test]
fn a_transaction_that_the_sdk_repeats_after_a_lost_answer_takes_effect_once() {
    let world = World::with_attempts(3);
    let (job, conversation, message) = arrived(&world);
    world.fails_times(2, Fault::FailAfter);
    let outcome = stored(&world, &job, &conversation, &message).unwrap();
    assert_eq!(outcome, StoreInboundOutcome::Stored);
    let transactions = world
        .trace()
        .iter()
        .filter(|line| line.contains("Transact"))
        .count();
    assert_eq!(transactions, 3);
}

#[test]
fn a_read_whose_answer_is_lost_is_unavailable() {
    let (world, job) = (World::new(), Fixture::new().job());
    world.fails(|operation| match operation.verb {
        Verb::Get => Fault::FailAfter,
        _ => Fault::None,
    });
    let _ = block_on(world.store.record_event(&job)).unwrap();
    assert_eq!(
        unavailable(block_on(world.store.find_event(&job.event))),
        "connection"
    );
    world.recovers();
    assert!(block_on(world.store.find_event(&job.event)).unwrap().is_some());
}

/// A claimed reply and its note.
fn sending(world: &World) -> (Fixture, InFlightSend) {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let job = fixture.job();
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let message = fixture.inbound(&mut conversation, &job);
    let _ = stored(world, &job, &conversation, &message).unwrap();
    let reply = fixture.reply(&mut conversation);
    let parts = std::slice::from_ref(&reply);
    let _ = block_on(world.store.commit_messages(&conversation, parts, &[])).unwrap();
    let (sending, flight) = claimed(&reply);
    let _ = block_on(world.store.claim_message(&sending, None, &flight)).unwrap();
    (fixture, flight)
}

/// The AWS SDK repeats a request whose answer was lost. The repeat recognizes its own effect.
#[test]
fn an_echo_that_is_noted_again_after_a_lost_answer_is_the_one_that_was_noted() {
    let world = World::with_attempts(3);
    let (fixture, flight) = sending(&world);
    world.fails_times(1, Fault::FailAfter);
    assert!(
        block_on(world.store.change_in_flight(
            fixture.instance(),
            &flight,
            NoteChange::Echo("A", Echo::Sure)
        ))
        .unwrap()
    );
    assert!(
        !block_on(world.store.change_in_flight(
            fixture.instance(),
            &flight,
            NoteChange::Echo("B", Echo::Sure)
        ))
        .unwrap()
    );
}

/// Makes a change of an instance's state whose first `lost` answers are lost.
fn change_with_lost_answers(
    world: &World,
    id: &InstanceId,
    lost: i64,
    change: &InstanceChange,
) -> ChangedInstance {
    let seen = block_on(world.store.read_instance_state(id)).unwrap();
    world.fails_times(lost, Fault::FailAfter);
    block_on(world.store.change_instance_state(id, &seen, change)).unwrap()
}

#[test]
fn a_count_that_is_repeated_after_a_lost_answer_counts_once() {
    let world = World::with_attempts(3);
    let (fixture, job) = (Fixture::new(), Fixture::new().job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    for expected in 1..=3 {
        world.fails_times(2, Fault::FailAfter);
        assert!(
            block_on(world.store.change_event(
                &job.event,
                EventChange::SetAttempts {
                    seen: expected - 1,
                    attempts: expected
                }
            ))
            .unwrap()
        );
        let unreached = InstanceChange::Unanswered(UnansweredAttempt::Unreached);
        let counted = change_with_lost_answers(&world, fixture.instance(), 2, &unreached);
        assert_eq!(counted.state.timeouts, expected);
        world.fails_times(2, Fault::FailAfter);
        let noted = block_on(world.store.record_reenqueue(&job.event, world.time.now())).unwrap();
        assert_eq!(noted.map(|record| record.again), Some(expected));
        world.time.pass(Duration::from_secs(1));
    }
    let record = block_on(world.store.find_event(&job.event)).unwrap().unwrap();
    assert_eq!((record.attempts, record.again), (3, 3));
    let timed_out = UnansweredAttempt::TimedOut(fixture.conversation(1).id.message_id(Ordinal(1)));
    let timed_out = InstanceChange::Unanswered(timed_out);
    let counted = change_with_lost_answers(&world, fixture.instance(), 2, &timed_out);
    assert_eq!(counted.state.timeouts, 4);
}

#[test]
fn a_change_of_connection_whose_answer_is_lost_is_a_change_and_a_probe_is_one_probe() {
    let (world, fixture) = (World::with_attempts(3), Fixture::new());
    let id = fixture.instance();
    for (at, changed) in [(1, true), (2, false), (3, false)] {
        let closed = seen(ConnectionStatus::Closed, add_millis(BASE, at), None);
        let told = change_with_lost_answers(&world, id, 2, &InstanceChange::Connection(closed));
        assert_eq!(told.done, changed);
    }
    assert_eq!(block_on(world.store.read_instance_state(id)).unwrap().probes, 2);
}

#[test]
fn a_claim_whose_answer_is_lost_is_the_claimants() {
    let (world, fixture) = (World::with_attempts(3), Fixture::new());
    let (id, now) = (fixture.instance(), world.time.now());
    let before = add_millis(now, -60_000);
    let later = add_millis(now, 1);
    for (first, second) in [
        (
            InstanceChange::ClaimCheck { now, before },
            InstanceChange::ClaimCheck { now: later, before },
        ),
        (
            InstanceChange::ClaimCatchUp { now, before },
            InstanceChange::ClaimCatchUp { now: later, before },
        ),
        (
            InstanceChange::ModelKeyMissing(true),
            InstanceChange::ModelKeyMissing(true),
        ),
    ] {
        assert!(change_with_lost_answers(&world, id, 1, &first).done);
        assert!(!change_with_lost_answers(&world, id, 0, &second).done);
    }
}

#[test]
fn a_removal_whose_answer_is_lost_has_removed_it() {
    let (world, fixture) = (World::with_attempts(3), Fixture::new());
    let dead_letter = fixture.dead_letter();
    block_on(put_dead_letter(&world.store, &dead_letter)).unwrap();
    let left = AtomicI64::new(1);
    world.fails(move |operation| {
        let is_lost = operation.verb.writes() && left.fetch_sub(1, Ordering::SeqCst) > 0;
        if is_lost { Fault::FailAfter } else { Fault::None }
    });
    assert!(block_on(remove_dead_letter(&world.store, &dead_letter.id, dead_letter.at)).unwrap());
    assert!(!block_on(remove_dead_letter(&world.store, &dead_letter.id, dead_letter.at)).unwrap());
}

#[test]
fn a_revival_and_a_purge_whose_answers_are_lost_have_been_done() {
    let (world, fixture) = (World::with_attempts(3), Fixture::new());
    let (job, failed_at) = (fixture.job(), world.time.now());
    let (dead_letter, expires) = (fixture.dead_letter_of(&job, failed_at), add_millis(BASE, 60_000));
    let give_up = || {
        let settles = world.store.change_event(
            &job.event,
            EventChange::GiveUp {
                dead_letter: &dead_letter,
                expires,
            },
        );
        assert!(block_on(settles).unwrap());
    };
    let _ = block_on(world.store.record_event(&job)).unwrap();
    give_up();
    world.fails_times(1, Fault::FailAfter);
    assert!(
        block_on(
            world
                .store
                .change_event(&job.event, EventChange::Revive { failed_at })
        )
        .unwrap()
    );
    assert!(
        !block_on(
            world
                .store
                .change_event(&job.event, EventChange::Revive { failed_at })
        )
        .unwrap()
    );
    give_up();
    world.fails_times(1, Fault::FailAfter);
    let purged = add_millis(failed_at, 1_000);
    assert!(
        block_on(world.store.change_event(
            &job.event,
            EventChange::Purge {
                failed_at,
                at: purged,
                expires
            }
        ))
        .unwrap()
    );
    assert!(
        !block_on(world.store.change_event(
            &job.event,
            EventChange::Purge {
                failed_at,
                at: purged,
                expires
            }
        ))
        .unwrap()
    );
}

/// All tries of a transaction have one token.
#[test]
fn a_transaction_that_was_said_to_be_in_progress_and_was_done_takes_effect_once() {
    for attempts in [1, 3] {
        let world = World::with_attempts(attempts);
        let (job, conversation, message) = arrived(&world);
        let _ = stored(&world, &job, &conversation, &message).unwrap();
        let fixture = Fixture::new();
        let mut conversation = conversation;
        let answer = fixture.answer(&mut conversation);
        world.fails_times(i64::from(attempts), Fault::StillInProgress);
        // Without a client's key: only the transaction's own token tells its repetition.
        let committed = block_on(world.store.commit_messages(
            &conversation,
            std::slice::from_ref(&answer),
            &[],
        ))
        .unwrap();
        assert_eq!(committed, CommitOutcome::Committed);
    }
}
