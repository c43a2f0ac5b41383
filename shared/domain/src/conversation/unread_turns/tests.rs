use crate::conversation::tests::{conversation, nonce};
use crate::conversation::{Conversation, Draft, TurnDecision};
use crate::ids::Ordinal;
use crate::millis::from_unix_millis;
use crate::reason::Reason;
use jiff::SignedDuration;

const DEBOUNCE_MAX: SignedDuration = SignedDuration::from_secs(20);

/// A conversation with so many messages that want an answer.
fn owing(messages: u64) -> Conversation {
    let mut c = conversation();
    for at in 0..messages {
        c.receive_message(true, from_unix_millis(i64::try_from(at).unwrap()))
            .unwrap();
    }
    c
}

/// A turn that reads up to `covers`, drafted at `at`.
fn draft(c: &mut Conversation, covers: u64, at: i64) -> Draft {
    c.acquire_lease(
        nonce("a"),
        Ordinal(covers),
        from_unix_millis(at),
        from_unix_millis(at + 95_000),
    )
}

fn turn(c: &mut Conversation, covers: u64, at: i64) {
    let draft = draft(c, covers, at);
    c.commit_reply(&draft, from_unix_millis(at + 1)).unwrap();
}

/// One that three turns could not read.
fn waiting() -> Conversation {
    let mut c = owing(10);
    for (number, covers) in [(1, 2), (2, 4), (3, 6)] {
        turn(&mut c, covers, 1_000 * number);
    }
    c
}

#[test]
fn a_turn_answers_what_it_read_and_leaves_the_rest_owed_since_it_came() {
    let mut c = owing(10);
    turn(&mut c, 4, 5_000);
    assert_eq!(c.answered, Ordinal(4));
    assert!(c.agent_owes_answer());
    assert_eq!(c.waiting_since, Some(from_unix_millis(0)));
    assert_eq!(
        c.decide_turn(c.turn_upto, from_unix_millis(5_002), DEBOUNCE_MAX),
        TurnDecision::AnswerNow,
        "it is read on at once"
    );
}

#[test]
fn no_turn_covers_more_than_is_owed() {
    let mut c = owing(2);
    turn(&mut c, 9, 1_000);
    assert_eq!(c.answered, Ordinal(2));
    assert!(!c.owes_answer());
}

#[test]
fn after_three_turns_that_left_something_the_rest_waits_for_a_person() {
    let mut c = owing(10);
    turn(&mut c, 2, 1_000);
    turn(&mut c, 4, 2_000);
    assert_eq!(c.needs_person, None);
    turn(&mut c, 6, 3_000);
    assert_eq!(c.needs_person, Some(Reason::TooMuchToRead));
    assert!(c.owes_answer() && !c.agent_owes_answer());
    assert_eq!(
        c.answer_overdue_at(),
        None,
        "nobody is asked for what waits for a person"
    );
    assert_eq!(
        c.decide_turn(c.turn_upto, from_unix_millis(4_000), DEBOUNCE_MAX),
        TurnDecision::NothingOwed
    );
}

#[test]
fn a_third_turn_that_reads_the_rest_leaves_nothing_to_a_person() {
    let mut c = owing(6);
    for covers in [2, 4, 6] {
        turn(&mut c, covers, 1_000);
    }
    assert_eq!(
        (c.needs_person, c.owes_answer(), c.unread_turns),
        (None, false, 0)
    );
}

#[test]
fn what_came_while_the_model_thought_is_no_rest() {
    let mut c = owing(2);
    for at in [1_000, 2_000, 3_000, 4_000] {
        let upto = c.turn_upto.0;
        let draft = draft(&mut c, upto, at);
        c.receive_message(true, from_unix_millis(at + 1)).unwrap();
        c.commit_reply(&draft, from_unix_millis(at + 2)).unwrap();
        assert_eq!((c.needs_person, c.agent_owes_answer()), (None, true));
        assert_eq!(c.waiting_since, Some(from_unix_millis(at + 1)));
    }
}

#[test]
fn another_message_of_the_contact_begins_anew_and_is_waited_for_like_any_other() {
    let mut c = waiting();
    c.receive_message(false, from_unix_millis(9_000)).unwrap();
    assert!(!c.agent_owes_answer(), "a reaction asks for nothing");
    let newest = c.receive_message(true, from_unix_millis(10_000)).unwrap();
    assert!(c.agent_owes_answer());
    assert_eq!(c.waiting_since, Some(from_unix_millis(10_000)));
    assert_eq!(
        c.decide_turn(newest, from_unix_millis(14_000), DEBOUNCE_MAX),
        TurnDecision::AnswerNow
    );
    for covers in [8, 9] {
        turn(&mut c, covers, 20_000);
        assert!(c.agent_owes_answer(), "three turns more");
    }
}

#[test]
fn a_person_who_takes_over_answers_gives_back_or_resolves_ends_the_wait() {
    let mut c = waiting();
    assert!(
        c.give_back_to_agent(Ordinal(0), from_unix_millis(9_000)),
        "also without a takeover"
    );
    assert!(c.agent_owes_answer());
    assert_eq!((c.epoch, c.answered), (0, Ordinal(6)));
    assert!(!c.give_back_to_agent(Ordinal(0), from_unix_millis(9_001)));

    let mut c = waiting();
    c.take_over();
    assert_eq!(c.needs_person, None);
    c.give_back_to_agent(Ordinal(6), from_unix_millis(9_000));
    assert!(c.agent_owes_answer());

    let mut c = waiting();
    c.record_operator_answer(c.last, false, from_unix_millis(9_000));
    assert_eq!((c.needs_person, c.owes_answer()), (None, false));

    let mut c = waiting();
    c.resolve_if_seen(c.last).unwrap();
    assert_eq!((c.needs_person, c.owes_answer()), (None, false));
}

#[test]
fn attempts_are_counted_for_what_a_turn_reads() {
    let mut c = owing(10);
    let draft_of = |c: &mut Conversation, covers| draft(c, covers, 1_000).attempt;
    assert_eq!((draft_of(&mut c, 4), draft_of(&mut c, 4)), (1, 2));
    turn(&mut c, 4, 2_000);
    assert_eq!(
        draft_of(&mut c, 8),
        1,
        "the next part of the burst is another turn"
    );
}
