use super::*;
use crate::millis::from_unix_millis;
use crate::reason::Reason;
use proptest::prelude::*;

fn message() -> Outbox {
    let to = ContactAddress::parse("5511999998888").unwrap();
    Outbox::new_queued(to, Author::Ai, 0, Ordinal(1), from_unix_millis(0))
}

fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

#[test]
fn a_message_goes_out_once() {
    let mut message = message();
    message
        .claim_attempt(nonce("a"), from_unix_millis(1), from_unix_millis(36_000))
        .unwrap();
    assert!(
        message
            .claim_attempt(nonce("b"), from_unix_millis(2), from_unix_millis(36_000))
            .is_err()
    );
    assert!(message.is_held_by(&nonce("a")) && !message.is_held_by(&nonce("b")));
    message.mark_sent(from_unix_millis(3), None).unwrap();
    assert!(message.mark_sent(from_unix_millis(4), None).is_err());
    assert!(message.return_to_queue(from_unix_millis(4), true, "x").is_err());
    assert_eq!(message.attempts, 1);
}

#[test]
fn an_attempt_that_never_reached_the_provider_is_not_counted() {
    let mut message = message();
    message
        .claim_attempt(nonce("a"), from_unix_millis(1), from_unix_millis(2))
        .unwrap();
    message
        .return_to_queue(from_unix_millis(3), false, "connection closed")
        .unwrap();
    assert_eq!(message.attempts, 0);
    assert!(message.is_certainly_unsent());
}

#[test]
fn a_failure_may_be_of_an_earlier_attempt_only_where_there_was_one() {
    let (mut message, at) = (message(), from_unix_millis);
    message.claim_attempt(nonce("a"), at(1), at(2)).unwrap();
    message.mark_unknown(at(3), "timeout").unwrap();
    assert_eq!(
        (message.repeated_at(), message.last_claimed_at()),
        (None, Some(at(1)))
    );
    message.requeue_unknown(at(4)).unwrap();
    message.claim_attempt(nonce("b"), at(5), at(6)).unwrap();
    assert_eq!(message.repeated_at(), Some(at(5)));
}

#[test]
fn a_repeat_after_an_unknown_outcome_is_marked() {
    let mut message = message();
    message
        .claim_attempt(nonce("a"), from_unix_millis(1), from_unix_millis(2))
        .unwrap();
    message.mark_unknown(from_unix_millis(3), "timeout").unwrap();
    assert!(
        message
            .mark_cancelled(from_unix_millis(3), Reason::TakenOver)
            .is_err()
    );
    message.requeue_unknown(from_unix_millis(4)).unwrap();
    assert!(message.maybe_sent && !message.is_certainly_unsent());
    message
        .mark_cancelled(from_unix_millis(5), Reason::TakenOver)
        .unwrap();
    assert!(!message.is_certainly_unsent(), "it says so even when cancelled");
}

#[test]
fn a_record_survives_being_written_and_read() {
    let mut message = message();
    message
        .claim_attempt(nonce("a"), from_unix_millis(1), from_unix_millis(2))
        .unwrap();
    let json = serde_json::to_value(&message).unwrap();
    assert_eq!(json["state"], "sending");
    assert_eq!(serde_json::from_value::<Outbox>(json).unwrap(), message);
}

proptest! {
    #[test]
    fn whatever_is_tried_a_closed_message_is_claimed_only_after_a_redrive(steps in proptest::collection::vec(0u8..9, 0..60)) {
        let mut message = message();
        let mut closed = false;
        for step in steps {
            let rev = message.rev;
            let done = match step {
                0 => message.claim_attempt(nonce("a"), from_unix_millis(1), from_unix_millis(2)),
                1 => message.return_to_queue(from_unix_millis(1), true, "x"),
                2 => message.mark_unknown(from_unix_millis(1), "x"),
                3 => message.requeue_unknown(from_unix_millis(1)),
                4 => message.mark_sent(from_unix_millis(1), None),
                5 => message.mark_dead(from_unix_millis(1), Reason::Poison, None),
                6 => message.mark_cancelled(from_unix_millis(1), Reason::TakenOver),
                7 => message.requeue_dead(from_unix_millis(1), from_unix_millis(1)),
                8 => message.purge_dead(from_unix_millis(1), from_unix_millis(1)),
                _ => message.postpone_overdue(from_unix_millis(9)),
            };
            prop_assert_eq!(done.is_ok(), message.rev > rev);
            if step == 0 && done.is_ok() { prop_assert!(!closed); }
            if done.is_ok() { closed = !message.state.is_open(); }
            let sending = matches!(message.state, OutboxState::Sending { .. });
            prop_assert!(!sending || message.look_at.is_none());
            prop_assert!(message.history.len() <= HISTORY_MAX);
        }
    }
}

#[test]
fn a_redrive_undoes_the_death_it_names_and_no_later_one() {
    let mut message = message();
    message
        .mark_dead(from_unix_millis(5), Reason::Poison, None)
        .unwrap();
    assert!(
        message
            .requeue_dead(from_unix_millis(9), from_unix_millis(4))
            .is_err()
    );
    message
        .requeue_dead(from_unix_millis(9), from_unix_millis(5))
        .unwrap();
    assert!(
        message
            .requeue_dead(from_unix_millis(9), from_unix_millis(5))
            .is_err(),
        "it is alive"
    );
    message
        .mark_dead(from_unix_millis(20), Reason::Poison, None)
        .unwrap();
    assert!(
        message
            .requeue_dead(from_unix_millis(21), from_unix_millis(5))
            .is_err(),
        "that death was undone before"
    );
    assert_eq!(message.failed_at(), Some(from_unix_millis(20)));
}

#[test]
fn what_was_purged_is_not_revived_by_a_copy_that_was_left() {
    let mut message = message();
    message
        .mark_dead(from_unix_millis(5), Reason::Poison, None)
        .unwrap();
    assert!(
        message
            .purge_dead(from_unix_millis(5), from_unix_millis(4))
            .is_err()
    );
    message
        .purge_dead(from_unix_millis(5), from_unix_millis(5))
        .unwrap();
    assert!(
        message
            .requeue_dead(from_unix_millis(9), from_unix_millis(5))
            .is_err()
    );
    assert!(message.copied, "no dead letter is to be made of it");
}

#[test]
fn what_a_client_sent_lets_others_go_first_four_times() {
    let to = ContactAddress::parse("5511999998888").unwrap();
    let of = |author, covers| Outbox::new_queued(to.clone(), author, 0, Ordinal(covers), from_unix_millis(0));
    assert!(!of(Author::Ai, 1).yields_slot() && !of(Author::Person, 1).yields_slot());
    let mut sent = of(Author::Person, 0);
    for place in 1..=4 {
        assert!(sent.yields_slot(), "{place}");
        let rev = sent.rev;
        sent.yield_until(from_unix_millis(place));
        assert_eq!(
            (sent.not_before, sent.rev),
            (Some(from_unix_millis(place)), rev + 1)
        );
    }
    assert!(!sent.yields_slot());
}

#[test]
fn what_was_open_in_a_backup_is_of_unknown_outcome_since_then_until_it_is_queued_again() {
    let (taken_at, now) = (from_unix_millis(50), from_unix_millis(90));
    let claimed_at = |message: &Outbox| match &message.state {
        OutboxState::Unknown { nonce, claimed_at } => Some((nonce.as_str().to_owned(), *claimed_at)),
        _ => None,
    };
    let mut queued = message();
    queued.doubt_restored(nonce("r"), taken_at, now).unwrap();
    assert_eq!(claimed_at(&queued), Some(("r".to_owned(), taken_at)));
    let mut running = message();
    let (begun, until) = (from_unix_millis(40), from_unix_millis(60));
    running.claim_attempt(nonce("a"), begun, until).unwrap();
    running.doubt_restored(nonce("r"), taken_at, now).unwrap();
    assert_eq!(
        claimed_at(&running),
        Some(("a".to_owned(), begun)),
        "its own attempt began earlier"
    );
    assert!(queued.restored && running.restored);
    queued.requeue_unknown(now).unwrap();
    assert!(!queued.restored && queued.maybe_sent);
    running.mark_sent(now, None).unwrap();
    assert!(running.doubt_restored(nonce("r"), taken_at, now).is_err());
}

#[test]
fn the_attempt_by_the_linked_identity_is_made_once_and_leaves_a_sent_message_sent() {
    let identity = || ContactAddress::parse("1@lid").unwrap();
    let at = from_unix_millis;
    let mut out = message();
    assert!(
        out.begin_identity_attempt(identity(), None, at(0)).is_err(),
        "it waits"
    );
    out.claim_attempt(nonce("a"), at(1), at(36_000)).unwrap();
    out.mark_sent(at(2), None).unwrap();
    assert!(out.keep_sent(at(3), String::new()).is_err());
    out.begin_identity_attempt(identity(), Some("P0".to_owned()), at(600_000))
        .unwrap();
    assert!(out.maybe_sent && *out.attempt_address() == identity());
    assert!(!out.is_identity_attempt_late(at(600_000 + 899_999)));
    assert!(out.is_identity_attempt_late(at(600_000 + 900_000)));
    let mut refused = out.clone();
    refused.keep_sent(at(600_001), "too late".to_owned()).unwrap();
    assert!(matches!(refused.state, OutboxState::Sent { .. }) && !refused.maybe_sent);
    out.claim_attempt(nonce("b"), at(600_001), at(636_000)).unwrap();
    out.mark_sent(at(600_002), None).unwrap();
    for sent in [out, refused] {
        let mut again = sent.clone();
        assert!(
            again
                .begin_identity_attempt(identity(), None, at(700_000))
                .is_err()
        );
        assert_eq!(*sent.attempt_address(), sent.to);
    }
}
