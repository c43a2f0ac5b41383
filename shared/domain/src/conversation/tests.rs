use super::*;
use crate::content::{Content, SystemNote};
use crate::identity::IdentityKey;
use crate::millis::instant;
use crate::window::WINDOW_MS;
use proptest::prelude::*;
use serde_json::json;

fn bound() -> Bound {
    serde_json::from_value(json!({
        "instance": {"id": "i", "tenant": "t", "agent": "a", "provider": "evolution"},
        "tenant": {"id": "t"},
        "agent": {"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"},
    }))
    .unwrap()
}

pub(super) fn conversation() -> Conversation {
    let address = ContactAddress::parse("5511999998888@s.whatsapp.net").unwrap();
    let bound = bound();
    let thread = IdentityKey::new([7; 32]).thread(&bound.instance.id, address.as_str());
    let id = ConversationId::new(thread, 1);
    Conversation::begin(id, &bound, address, None, instant(0))
}

pub(super) fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

#[test]
fn only_the_newest_timer_of_a_burst_answers_it_until_the_longest_wait() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    c.receive(true, instant(1_000)).unwrap();
    assert_eq!(c.turn(Ordinal(1), instant(4_000), 20_000), TurnStep::StandDown);
    assert_eq!(c.turn(Ordinal(2), instant(5_000), 20_000), TurnStep::Ours);
    assert_eq!(
        c.turn(Ordinal(1), instant(20_000), 20_000),
        TurnStep::Ours,
        "the longest wait is over"
    );
}

#[test]
fn one_worker_drafts_at_a_time_and_a_lease_that_ended_is_free() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    c.lease(nonce("a"), c.turn_upto, instant(0), instant(95_000));
    assert_eq!(c.turn(Ordinal(1), instant(1), 0), TurnStep::Held(instant(95_000)));
    assert_eq!(c.turn(Ordinal(1), instant(95_000), 0), TurnStep::Ours);
    let again = c.lease(nonce("b"), c.turn_upto, instant(95_000), instant(190_000));
    assert_eq!(again.attempt, 2);
}

#[test]
fn what_comes_in_while_the_model_thinks_is_owed_after_the_commit() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    let draft = c.lease(nonce("a"), c.turn_upto, instant(4_000), instant(99_000));
    c.receive(true, instant(5_000)).unwrap();
    assert_eq!(c.commit(&draft, instant(9_000)).unwrap(), Ordinal(3));
    assert!(c.owes());
    assert_eq!(c.waiting_since, Some(instant(5_000)));
    assert_eq!(c.lease, None);
}

#[test]
fn a_burst_that_begins_while_the_model_thinks_is_waited_for_as_any_other() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    let draft = c.lease(nonce("a"), c.turn_upto, instant(4_000), instant(99_000));
    c.receive(true, instant(33_000)).unwrap();
    c.commit(&draft, instant(34_000)).unwrap();
    c.receive(true, instant(36_000)).unwrap();
    assert_eq!(
        c.turn(Ordinal(2), instant(37_000), 20_000),
        TurnStep::StandDown,
        "there is a newer one, and nobody has waited for long"
    );
    // A worker whose lease had ended does not know what came in before the next one's.
    let late = c.lease(nonce("b"), c.turn_upto, instant(40_000), instant(41_000));
    c.receive(true, instant(40_500)).unwrap();
    c.lease(nonce("c"), c.turn_upto, instant(41_000), instant(99_000));
    c.receive(true, instant(50_000)).unwrap();
    c.commit(&late, instant(51_000)).unwrap();
    assert_eq!(c.waiting_since, Some(instant(40_000)));
}

#[test]
fn a_takeover_an_answer_or_another_reply_stops_a_draft() {
    let owed = || {
        let mut c = conversation();
        c.receive(true, instant(0)).unwrap();
        let draft = c.lease(nonce("a"), c.turn_upto, instant(0), instant(95_000));
        (c, draft)
    };
    let (mut c, draft) = owed();
    c.take_over();
    assert_eq!(c.commit(&draft, instant(1)), Err(ConversationError::TakenOver));
    c.give_back(Ordinal(0), instant(2));
    assert_eq!(
        c.commit(&draft, instant(3)),
        Err(ConversationError::Answered),
        "another epoch"
    );
    let (mut c, draft) = owed();
    c.commit(&draft, instant(1)).unwrap();
    assert_eq!(c.commit(&draft, instant(2)), Err(ConversationError::Answered));
}

#[test]
fn an_answer_covers_only_what_its_author_had_seen() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    c.receive(true, instant(1)).unwrap();
    c.answer(Ordinal(1), true, instant(2));
    assert_eq!(
        (c.mode, c.answered, c.human),
        (Mode::Manual, Ordinal(1), Ordinal(1))
    );
    assert!(c.owes());
    c.answer(Ordinal(99), true, instant(3));
    assert!(!c.owes());
}

#[test]
fn what_was_cancelled_at_a_takeover_is_owed_again_after_the_give_back() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    let draft = c.lease(nonce("a"), c.turn_upto, instant(0), instant(95_000));
    c.commit(&draft, instant(1)).unwrap();
    c.take_over();
    assert!(c.give_back(Ordinal(0), instant(5)));
    assert!(c.owes());
    assert_eq!(c.waiting_since, Some(instant(5)));
    let mut sent = c.clone();
    sent.take_over();
    sent.give_back(Ordinal(1), instant(9));
    assert!(!sent.owes(), "a reply that left is not owed again");
}

#[test]
fn a_resolve_that_did_not_see_the_last_message_is_refused_and_the_next_message_begins_anew() {
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    assert_eq!(c.resolve(Ordinal(0)), Err(ConversationError::NewerMessage));
    assert_eq!(c.resolve(Ordinal(1)), Ok(true));
    assert_eq!(c.receive(true, instant(1)), Err(ConversationError::Resolved));
}

#[test]
fn what_nobody_can_answer_is_asked_for_less_and_less_often() {
    const MINUTE: i64 = 60_000;
    let mut c = conversation();
    c.receive(true, instant(0)).unwrap();
    let mut gaps = Vec::new();
    for _ in 0..7 {
        let due = c.due().unwrap();
        c.nudge(true, due);
        gaps.push((c.due().unwrap().as_millisecond() - due.as_millisecond()) / MINUTE);
    }
    assert_eq!(gaps, [5, 10, 20, 40, 60, 60, 60]);
    let mut scheduled = c.clone();
    scheduled.schedule(instant(0));
    let nudged = scheduled.nudged_at.unwrap().as_millisecond();
    assert_eq!(
        scheduled.due(),
        Some(instant(nudged + 60 * MINUTE)),
        "nor every minute past its opening"
    );
    c.nudge(false, instant(nudged));
    assert_eq!(c.due(), Some(instant(nudged + 5 * MINUTE)), "somebody can");
}

#[test]
fn a_contacts_own_rate_puts_off_only_what_is_beyond_its_burst() {
    let mut c = conversation();
    let places: Vec<Option<jiff::Timestamp>> = (0..50)
        .map(|_| c.reserve_pair(Rate::META_PAIR, instant(0)))
        .collect();
    assert!(places[..44].iter().all(Option::is_none));
    assert!(places[45..].iter().all(Option::is_some));
    assert!(places.windows(2).all(|pair| pair[0] <= pair[1]));
    let rested = instant(3_600_000);
    assert_eq!(c.reserve_pair(Rate::META_PAIR, rested), None);
}

proptest! {
    #[test]
    fn ordinals_rise_and_answers_never_outrun_messages(steps in proptest::collection::vec((0u8..8, 0u64..12), 0..60)) {
        let mut c = conversation();
        let mut draft: Option<Draft> = None;
        for (i, (step, seen)) in steps.into_iter().enumerate() {
            let at = instant(i64::try_from(i).unwrap());
            let before = c.clone();
            match step {
                0 | 1 => { let _ = c.receive(step == 0, at); }
                2 => draft = Some(c.lease(nonce("a"), Ordinal(seen), at, instant(1_000))),
                3 => if let Some(draft) = &draft { let _ = c.commit(draft, at); },
                4 => { c.take_over(); }
                5 => { c.answer(Ordinal(seen), true, at); }
                6 => { c.give_back(Ordinal(seen), at); }
                _ => { let _ = c.resolve(Ordinal(seen)); }
            }
            prop_assert!(c.last >= before.last && c.last.0 <= before.last.0 + 1);
            prop_assert!(c.answered <= c.last && c.human <= c.last && c.turn_upto <= c.last);
            prop_assert!(c.epoch >= before.epoch && c.human >= before.human);
            prop_assert!(!c.owes() || c.waiting_since.is_some(), "what is owed is waited for");
            prop_assert!(c.needs_person.is_none() || c.owes(), "a person is needed for what is owed");
        }
    }
}

fn note(what: SystemNote) -> Content {
    Content::System { what, text: None }
}

#[test]
fn a_note_of_whatsapp_is_no_word_of_the_contact() {
    let mut c = conversation();
    c.regard(&note(SystemNote::NumberChanged), instant(5));
    assert_eq!(c.last_inbound_at, None);
    c.regard(&Content::text("oi"), instant(9));
    c.regard(&Content::text("late"), instant(7));
    assert_eq!(c.last_inbound_at, Some(instant(9)));
}

#[test]
fn marketing_is_stopped_until_a_later_wish_resumes_it() {
    let mut c = conversation();
    c.regard(&note(SystemNote::MarketingStopped), instant(10));
    c.regard(&note(SystemNote::MarketingResumed), instant(9));
    assert_eq!(c.marketing_stopped_at, Some(instant(10)), "that was said before");
    c.regard(&note(SystemNote::MarketingResumed), instant(11));
    assert_eq!(c.marketing_stopped_at, None);
}

#[test]
fn the_next_conversation_keeps_what_is_the_contacts() {
    let (mut c, mut next) = (conversation(), conversation());
    c.regard(&Content::text("oi"), instant(9));
    c.regard(&note(SystemNote::MarketingStopped), instant(10));
    next.follow(&c);
    assert_eq!(
        (next.last_inbound_at, next.marketing_stopped_at),
        (Some(instant(9)), Some(instant(10)))
    );
    assert_eq!(next.last_inbound, Ordinal(0));
}

#[test]
fn one_template_goes_to_a_contact_in_a_day_unless_it_writes_in_between() {
    let mut c = conversation();
    let message = |ordinal| c.id.message(Ordinal(ordinal));
    let (first, second) = (message(1), message(2));
    let (heard, sent) = (Some(instant(0)), instant(2 * WINDOW_MS));
    assert_eq!(c.reengage(&first, heard, sent), Reengagement::Noted);
    // A retry of the same message is no second one.
    assert_eq!(c.reengage(&first, heard, shift(sent, 1)), Reengagement::Ours);
    assert_eq!(
        c.reengage(&second, heard, shift(sent, 1)),
        Reengagement::Another(first.clone())
    );
    // It waited for long, and leaves only now: its day begins now.
    let mut waited = c.clone();
    let left = shift(sent, WINDOW_MS + 6);
    assert_eq!(waited.reengage(&first, heard, left), Reengagement::Noted);
    assert_eq!(
        waited.reengage(&second, heard, shift(left, 1)),
        Reengagement::Another(first.clone())
    );
    let mut wrote = c.clone();
    let later = shift(sent, WINDOW_MS - 1);
    assert_eq!(
        wrote.reengage(&second, Some(shift(sent, 5)), later),
        Reengagement::Noted
    );
    assert_eq!(
        c.reengage(&second, heard, later),
        Reengagement::Another(first.clone())
    );
    assert_eq!(
        c.reengage(&second, heard, shift(sent, WINDOW_MS)),
        Reengagement::Noted
    );
    assert!(matches!(
        c.reengage(&first, heard, shift(sent, WINDOW_MS)),
        Reengagement::Another(_)
    ));
    c.reengage_instead(&first, shift(sent, WINDOW_MS));
    assert_eq!(
        c.reengage(&first, heard, shift(sent, WINDOW_MS)),
        Reengagement::Ours
    );
}

#[test]
fn the_next_conversation_knows_of_the_template() {
    let mut first = conversation();
    let id = first.id.message(Ordinal(1));
    first.reengage(&id, None, instant(9));
    let mut next = conversation();
    next.follow(&first);
    assert_eq!(next.reengaged, first.reengaged);
    assert!(next.reengaged.is_some());
}
