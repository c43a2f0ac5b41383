use super::*;
use crate::millis::instant;
use proptest::prelude::*;

fn message() -> Outbox {
    let to = ContactAddress::parse("5511999998888").unwrap();
    Outbox::queued(to, Author::Ai, 0, Ordinal(1), instant(0))
}

fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

#[test]
fn a_message_goes_out_once() {
    let mut message = message();
    message.claim(nonce("a"), instant(1), instant(36_000)).unwrap();
    assert!(message.claim(nonce("b"), instant(2), instant(36_000)).is_err());
    assert!(message.held_by(&nonce("a")) && !message.held_by(&nonce("b")));
    message.accept(instant(3), None).unwrap();
    assert!(message.accept(instant(4), None).is_err());
    assert!(message.put_back(instant(4), true, "x").is_err());
    assert_eq!(message.attempts, 1);
}

#[test]
fn an_attempt_that_never_reached_the_provider_is_not_counted() {
    let mut message = message();
    message.claim(nonce("a"), instant(1), instant(2)).unwrap();
    message.put_back(instant(3), false, "connection closed").unwrap();
    assert_eq!(message.attempts, 0);
    assert!(message.never_left());
}

#[test]
fn a_repeat_after_an_unknown_outcome_is_marked() {
    let mut message = message();
    message.claim(nonce("a"), instant(1), instant(2)).unwrap();
    message.lose_track(instant(3), "timeout").unwrap();
    assert!(message.cancel(instant(3), Reason::TakenOver).is_err());
    message.repeat(instant(4)).unwrap();
    assert!(message.maybe_sent && !message.never_left());
    message.cancel(instant(5), Reason::TakenOver).unwrap();
    assert!(!message.never_left(), "it says so even when cancelled");
}

#[test]
fn a_record_survives_being_written_and_read() {
    let mut message = message();
    message.claim(nonce("a"), instant(1), instant(2)).unwrap();
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
                0 => message.claim(nonce("a"), instant(1), instant(2)),
                1 => message.put_back(instant(1), true, "x"),
                2 => message.lose_track(instant(1), "x"),
                3 => message.repeat(instant(1)),
                4 => message.accept(instant(1), None),
                5 => message.give_up(instant(1), Reason::Poison, None),
                6 => message.cancel(instant(1), Reason::TakenOver),
                7 => message.revive(instant(1), instant(1)),
                8 => message.purge(instant(1), instant(1)),
                _ => message.put_off(instant(9)),
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
    message.give_up(instant(5), Reason::Poison, None).unwrap();
    assert!(message.revive(instant(9), instant(4)).is_err());
    message.revive(instant(9), instant(5)).unwrap();
    assert!(message.revive(instant(9), instant(5)).is_err(), "it is alive");
    message.give_up(instant(20), Reason::Poison, None).unwrap();
    assert!(
        message.revive(instant(21), instant(5)).is_err(),
        "that death was undone before"
    );
    assert_eq!(message.died(), Some(instant(20)));
}

#[test]
fn what_was_purged_is_not_revived_by_a_copy_that_was_left() {
    let mut message = message();
    message.give_up(instant(5), Reason::Poison, None).unwrap();
    assert!(message.purge(instant(5), instant(4)).is_err());
    message.purge(instant(5), instant(5)).unwrap();
    assert!(message.revive(instant(9), instant(5)).is_err());
    assert!(message.copied, "no dead letter is to be made of it");
}
