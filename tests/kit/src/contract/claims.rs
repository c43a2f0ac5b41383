//! Claiming: one attempt at a time, and none of the agent's once a person took over.

use super::given::{
    assert_conflict, assert_written, begun, claim, committed, find_stored, list_open, replied, updated,
    with_reply,
};
use crate::builders::{Fixture, accepted, at, claimed, nonce, out};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::conversation::Conversation;
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use recado_ports::ports::{ClaimGuard, ClaimOutcome, NoteChange, Store, WriteOutcome};

fn guard(conversation: &Conversation) -> ClaimGuard {
    ClaimGuard {
        conversation: conversation.id.clone(),
        epoch: conversation.epoch,
    }
}

async fn flights<S: Store>(store: &S, fixture: &Fixture) -> Vec<InFlightSend> {
    succeed(store.list_in_flight(fixture.instance())).await
}

pub async fn a_claim_makes_it_sending_and_notes_it_in_flight<S: Store>(store: &S) {
    let (fixture, conversation, message) = with_reply(store).await;
    assert!(flights(store, &fixture).await.is_empty());
    let (sending, flight) = claimed(&message);
    let found = succeed(store.claim_message(&sending, Some(&guard(&conversation)), &flight)).await;
    assert_eq!(found, ClaimOutcome::Claimed);
    assert_eq!(
        list_open(store, &conversation.id).await,
        *std::slice::from_ref(&sending)
    );
    assert_eq!(find_stored(store, &sending).await, Some(sending));
    assert_eq!(flights(store, &fixture).await, [flight]);
    assert_eq!(
        succeed(store.find_conversation(&conversation.id)).await,
        Some(conversation),
        "only looked at"
    );
}

pub async fn a_claim_repeated_with_its_own_nonce_is_ours<S: Store>(store: &S) {
    let (fixture, conversation, message) = with_reply(store).await;
    let (sending, flight) = claimed(&message);
    for _ in 0..3 {
        let found = succeed(store.claim_message(&sending, Some(&guard(&conversation)), &flight)).await;
        assert_eq!(found, ClaimOutcome::Claimed);
    }
    assert_eq!(list_open(store, &conversation.id).await, [sending]);
    assert_eq!(flights(store, &fixture).await, [flight]);
}

pub async fn another_attempt_meanwhile_is_a_conflict_and_leaves_no_note<S: Store>(store: &S) {
    let (fixture, conversation, message) = with_reply(store).await;
    let ((ours, our_flight), (theirs, their_flight)) = (claimed(&message), claimed(&message));
    let guard = guard(&conversation);
    assert_eq!(
        succeed(store.claim_message(&ours, Some(&guard), &our_flight)).await,
        ClaimOutcome::Claimed
    );
    assert_eq!(
        succeed(store.claim_message(&theirs, Some(&guard), &their_flight)).await,
        ClaimOutcome::Conflict
    );
    assert_eq!(list_open(store, &conversation.id).await, [ours]);
    assert_eq!(flights(store, &fixture).await, [our_flight]);
}

pub async fn of_twenty_claims_at_once_one_wins<S: Store>(store: &S) {
    let (fixture, conversation, message) = with_reply(store).await;
    let (attempts, guard) = (
        (0..20).map(|_| claimed(&message)).collect::<Vec<_>>(),
        guard(&conversation),
    );
    let found = join_all(
        attempts
            .iter()
            .map(|(m, flight)| store.claim_message(m, Some(&guard), flight)),
    )
    .await;
    let found: Vec<ClaimOutcome> = found.into_iter().map(Result::unwrap).collect();
    let won: Vec<usize> = (0..20)
        .filter(|index| found[*index] == ClaimOutcome::Claimed)
        .collect();
    assert_eq!(won.len(), 1);
    assert_eq!(
        found
            .iter()
            .filter(|found| **found == ClaimOutcome::Conflict)
            .count(),
        19
    );
    let (sending, flight) = &attempts[won[0]];
    assert_eq!(
        list_open(store, &conversation.id).await,
        *std::slice::from_ref(sending)
    );
    assert_eq!(flights(store, &fixture).await, *std::slice::from_ref(flight));
}

pub async fn a_stale_message_is_not_claimed<S: Store>(store: &S) {
    let (fixture, conversation, mut message) = with_reply(store).await;
    let (sending, flight) = claimed(&message);
    out(&mut message).record_slot(at(4_000));
    assert_written(store.save_open_message(&message, None)).await;
    assert_eq!(
        succeed(store.claim_message(&sending, None, &flight)).await,
        ClaimOutcome::Conflict
    );
    assert_eq!(list_open(store, &conversation.id).await, [message]);
    assert!(flights(store, &fixture).await.is_empty());
}

async fn assert_stopped<S: Store>(store: &S, fixture: &Fixture, message: &Message, guard: &ClaimGuard) {
    let (sending, flight) = claimed(message);
    assert_eq!(
        succeed(store.claim_message(&sending, Some(guard), &flight)).await,
        ClaimOutcome::Stopped
    );
    assert_eq!(
        list_open(store, &message.conversation).await,
        *std::slice::from_ref(message)
    );
    assert!(flights(store, fixture).await.is_empty());
}

pub async fn a_takeover_stops_the_agents_message<S: Store>(store: &S) {
    let (fixture, mut conversation, message) = with_reply(store).await;
    let before = guard(&conversation);
    conversation.take_over();
    updated(store, &mut conversation).await;
    assert_stopped(store, &fixture, &message, &before).await;
    // Manual in the very same epoch stops it too.
    assert_stopped(store, &fixture, &message, &guard(&conversation)).await;
}

pub async fn another_epoch_stops_the_agents_message<S: Store>(store: &S) {
    let (fixture, mut conversation, message) = with_reply(store).await;
    let before = guard(&conversation);
    conversation.take_over();
    updated(store, &mut conversation).await;
    conversation.give_back_to_agent(conversation.last, at(1));
    updated(store, &mut conversation).await;
    assert_stopped(store, &fixture, &message, &before).await;
    let (sending, flight) = claimed(&message);
    let found = succeed(store.claim_message(&sending, Some(&guard(&conversation)), &flight)).await;
    assert_eq!(found, ClaimOutcome::Claimed, "the epoch it is in now");
}

pub async fn a_guard_needs_its_conversation<S: Store>(store: &S) {
    let (fixture, _, message) = with_reply(store).await;
    let elsewhere = guard(&Fixture::new().conversation(1));
    assert_stopped(store, &fixture, &message, &elsewhere).await;
}

pub async fn a_newer_message_of_the_contact_does_not_stop_it<S: Store>(store: &S) {
    let (fixture, mut conversation, message) = with_reply(store).await;
    let before = guard(&conversation);
    super::given::received(store, &fixture, &mut conversation, &fixture.job()).await;
    let (sending, flight) = claimed(&message);
    assert_eq!(
        succeed(store.claim_message(&sending, Some(&before), &flight)).await,
        ClaimOutcome::Claimed
    );
}

pub async fn a_persons_message_is_claimed_in_whatever_mode<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    conversation.take_over();
    updated(store, &mut conversation).await;
    let message = fixture.answer(&mut conversation);
    committed(store, &conversation, &message).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    assert_eq!(flights(store, &fixture).await, [flight]);
}

pub async fn a_saved_outcome_removes_the_note_of_its_attempt_only<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let first = replied(store, &fixture, &mut conversation).await;
    let second = replied(store, &fixture, &mut conversation).await;
    let ((mut first, first_flight), (second, second_flight)) = (claimed(&first), claimed(&second));
    for (message, flight) in [(&first, &first_flight), (&second, &second_flight)] {
        claim(store, message, flight).await;
    }
    assert_eq!(flights(store, &fixture).await.len(), 2);
    out(&mut first)
        .return_to_queue(at(2), false, "connection refused")
        .unwrap();
    assert_written(store.save_open_message(&first, Some(&first_flight))).await;
    assert_eq!(flights(store, &fixture).await, [second_flight]);
    let (again, flight) = claimed(&first);
    claim(store, &again, &flight).await;
    assert_eq!(
        flights(store, &fixture).await.len(),
        2,
        "a new attempt has a note of its own"
    );
}

pub async fn a_lost_save_removes_no_note<S: Store>(store: &S) {
    let (fixture, conversation, message) = with_reply(store).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    let mut stale = message;
    out(&mut stale).record_slot(at(4_000));
    assert_conflict(store.save_open_message(&stale, Some(&flight))).await;
    assert_eq!(flights(store, &fixture).await, [flight]);
    assert_eq!(list_open(store, &conversation.id).await, [sending]);
}

pub async fn a_note_takes_one_echo<S: Store>(store: &S) {
    let (fixture, _, message) = with_reply(store).await;
    let (sending, flight) = claimed(&message);
    let id = fixture.instance();
    assert!(
        !succeed(store.change_in_flight(id, &flight, NoteChange::Echo("A", Echo::Sure))).await,
        "there is no note yet"
    );
    assert!(flights(store, &fixture).await.is_empty(), "and none was made");
    claim(store, &sending, &flight).await;
    let of_another_attempt = InFlightSend {
        nonce: nonce(),
        ..flight.clone()
    };
    let of_another = store
        .change_in_flight(id, &of_another_attempt, NoteChange::Echo("A", Echo::Sure))
        .await;
    assert!(!of_another.unwrap());
    let recorded = join_all(
        ["A", "B", "C"].map(|echo| store.change_in_flight(id, &flight, NoteChange::Echo(echo, Echo::Sure))),
    )
    .await;
    let recorded: Vec<bool> = recorded.into_iter().map(Result::unwrap).collect();
    assert_eq!(recorded.iter().filter(|recorded| **recorded).count(), 1);
    let first = ["A", "B", "C"][recorded.iter().position(|recorded| *recorded).unwrap()];
    let noted = InFlightSend {
        echo: Some(first.to_owned()),
        ..flight.clone()
    };
    assert!(
        succeed(store.change_in_flight(id, &flight, NoteChange::Echo(first, Echo::Sure))).await,
        "the same echo again is the one that was noted"
    );
    assert_eq!(flights(store, &fixture).await, [noted]);
    let sent = accepted(&sending);
    let settled = succeed(store.settle_message(&sent, Some(&flight), None, None)).await;
    assert_eq!(settled, WriteOutcome::Written);
    assert!(
        flights(store, &fixture).await.is_empty(),
        "an attempt that lands takes its note with it, recorded or not"
    );
}

pub async fn a_note_takes_one_that_may_be_its_echo_beside_its_echo<S: Store>(store: &S) {
    let (fixture, _, message) = with_reply(store).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    for (echo, first, other) in [(Echo::Maybe, "A", "B"), (Echo::Sure, "B", "A")] {
        for (id, noted) in [(first, true), (other, false), (first, true)] {
            let recorded = store
                .change_in_flight(fixture.instance(), &flight, NoteChange::Echo(id, echo))
                .await;
            assert_eq!(recorded.unwrap(), noted, "{echo:?} {id}");
        }
    }
    let noted = InFlightSend {
        echo: Some("B".to_owned()),
        maybe_echo: Some("A".to_owned()),
        ..flight
    };
    assert_eq!(flights(store, &fixture).await, [noted]);
}

pub async fn notes_are_kept_by_instance<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let mut conversation = begun(store, &fixture).await;
    let message = replied(store, &fixture, &mut conversation).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    assert!(flights(store, &other).await.is_empty());
    let recorded = store
        .change_in_flight(other.instance(), &flight, NoteChange::Echo("A", Echo::Sure))
        .await;
    assert!(!recorded.unwrap());
    assert_eq!(flights(store, &fixture).await, [flight]);
}
