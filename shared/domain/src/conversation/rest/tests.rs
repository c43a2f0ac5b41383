use crate::conversation::tests::{conversation, nonce};
use crate::conversation::{Conversation, Draft, TurnStep};
use crate::ids::Ordinal;
use crate::millis::instant;
use crate::reason::Reason;

/// A conversation with so many messages that want an answer.
fn owing(messages: u64) -> Conversation {
    let mut c = conversation();
    for at in 0..messages {
        c.receive(true, instant(i64::try_from(at).unwrap())).unwrap();
    }
    c
}

/// A turn that reads up to `covers`, drafted at `at`.
fn draft(c: &mut Conversation, covers: u64, at: i64) -> Draft {
    c.lease(nonce("a"), Ordinal(covers), instant(at), instant(at + 95_000))
}

fn turn(c: &mut Conversation, covers: u64, at: i64) {
    let draft = draft(c, covers, at);
    c.commit(&draft, instant(at + 1)).unwrap();
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
    assert!(c.agent_owes());
    assert_eq!(c.waiting_since, Some(instant(0)));
    assert_eq!(
        c.turn(c.turn_upto, instant(5_002), 20_000),
        TurnStep::Ours,
        "it is read on at once"
    );
}

#[test]
fn no_turn_covers_more_than_is_owed() {
    let mut c = owing(2);
    turn(&mut c, 9, 1_000);
    assert_eq!(c.answered, Ordinal(2));
    assert!(!c.owes());
}

#[test]
fn after_three_turns_that_left_something_the_rest_waits_for_a_person() {
    let mut c = owing(10);
    turn(&mut c, 2, 1_000);
    turn(&mut c, 4, 2_000);
    assert_eq!(c.needs_person, None);
    turn(&mut c, 6, 3_000);
    assert_eq!(c.needs_person, Some(Reason::TooMuchToRead));
    assert!(c.owes() && !c.agent_owes());
    assert_eq!(c.due(), None, "nobody is asked for what waits for a person");
    assert_eq!(c.turn(c.turn_upto, instant(4_000), 20_000), TurnStep::NothingOwed);
}

#[test]
fn a_third_turn_that_reads_the_rest_leaves_nothing_to_a_person() {
    let mut c = owing(6);
    for covers in [2, 4, 6] {
        turn(&mut c, covers, 1_000);
    }
    assert_eq!((c.needs_person, c.owes(), c.unread_turns), (None, false, 0));
}

#[test]
fn what_came_while_the_model_thought_is_no_rest() {
    let mut c = owing(2);
    for at in [1_000, 2_000, 3_000, 4_000] {
        let upto = c.turn_upto.0;
        let draft = draft(&mut c, upto, at);
        c.receive(true, instant(at + 1)).unwrap();
        c.commit(&draft, instant(at + 2)).unwrap();
        assert_eq!((c.needs_person, c.agent_owes()), (None, true));
        assert_eq!(c.waiting_since, Some(instant(at + 1)));
    }
}

#[test]
fn another_message_of_the_contact_begins_anew_and_is_waited_for_like_any_other() {
    let mut c = waiting();
    c.receive(false, instant(9_000)).unwrap();
    assert!(!c.agent_owes(), "a reaction asks for nothing");
    let newest = c.receive(true, instant(10_000)).unwrap();
    assert!(c.agent_owes());
    assert_eq!(c.waiting_since, Some(instant(10_000)));
    assert_eq!(c.turn(newest, instant(14_000), 20_000), TurnStep::Ours);
    for covers in [8, 9] {
        turn(&mut c, covers, 20_000);
        assert!(c.agent_owes(), "three turns more");
    }
}

#[test]
fn a_person_who_takes_over_answers_gives_back_or_resolves_ends_the_wait() {
    let mut c = waiting();
    assert!(c.give_back(Ordinal(0), instant(9_000)), "also without a takeover");
    assert!(c.agent_owes());
    assert_eq!((c.epoch, c.answered), (0, Ordinal(6)));
    assert!(!c.give_back(Ordinal(0), instant(9_001)));

    let mut c = waiting();
    c.take_over();
    assert_eq!(c.needs_person, None);
    c.give_back(Ordinal(6), instant(9_000));
    assert!(c.agent_owes());

    let mut c = waiting();
    c.answer(c.last, false, instant(9_000));
    assert_eq!((c.needs_person, c.owes()), (None, false));

    let mut c = waiting();
    c.resolve(c.last).unwrap();
    assert_eq!((c.needs_person, c.owes()), (None, false));
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
