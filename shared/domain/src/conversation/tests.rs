use super::*;
use crate::config::InstanceConfig;
use crate::content::{Content, SystemNote};
use crate::identity::IdentityKey;
use crate::ids::Nonce;
use crate::millis::add_millis;
use crate::millis::from_unix_millis;
use crate::rate::Rate;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::json;

/// The length of the service window in milliseconds.
const WINDOW_MS: i64 = 24 * 3_600_000;

const DEBOUNCE_MAX: SignedDuration = SignedDuration::from_secs(20);

fn bound() -> InstanceConfig {
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
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&bound.instance.id, address.as_str());
    let id = ConversationId::new(thread, 1);
    Conversation::start_new(id, &bound, address, None, from_unix_millis(0))
}

pub(super) fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

#[test]
fn only_the_newest_timer_of_a_burst_answers_it_until_the_longest_wait() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    c.receive_message(true, from_unix_millis(1_000)).unwrap();
    assert_eq!(
        c.decide_turn(Ordinal(1), from_unix_millis(4_000), DEBOUNCE_MAX),
        TurnDecision::StandDown
    );
    assert_eq!(
        c.decide_turn(Ordinal(2), from_unix_millis(5_000), DEBOUNCE_MAX),
        TurnDecision::AnswerNow
    );
    assert_eq!(
        c.decide_turn(Ordinal(1), from_unix_millis(20_000), DEBOUNCE_MAX),
        TurnDecision::AnswerNow,
        "the longest wait is over"
    );
}

#[test]
fn a_burst_puts_its_answer_off_within_the_longest_wait_or_its_own_silence() {
    let (mut c, seconds) = (conversation(), SignedDuration::from_secs);
    let bounded =
        |c: &Conversation, silence, at| c.bound_silence(seconds(silence), from_unix_millis(at), DEBOUNCE_MAX);
    assert_eq!(bounded(&c, 16, 0), seconds(16), "nothing waits");
    c.receive_message(true, from_unix_millis(0)).unwrap();
    for (silence, at, expected) in [
        (16, 0, 16_000),
        (2, 15_900, 2_000),
        (16, 15_900, 4_100),
        (2, 19_999, 1),
        (2, 30_000, 0),
        // The silence of the instance alone is longer than a burst may take.
        (60, 0, 60_000),
        (60, 50_000, 10_000),
    ] {
        assert_eq!(
            bounded(&c, silence, at),
            SignedDuration::from_millis(expected),
            "{silence} s at {at}"
        );
    }
}

#[test]
fn one_worker_drafts_at_a_time_and_a_lease_that_ended_is_free() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    c.acquire_lease(
        nonce("a"),
        c.turn_upto,
        from_unix_millis(0),
        from_unix_millis(95_000),
    );
    assert_eq!(
        c.decide_turn(Ordinal(1), from_unix_millis(1), SignedDuration::ZERO),
        TurnDecision::LeaseHeld(from_unix_millis(95_000))
    );
    assert_eq!(
        c.decide_turn(Ordinal(1), from_unix_millis(95_000), SignedDuration::ZERO),
        TurnDecision::AnswerNow
    );
    let again = c.acquire_lease(
        nonce("b"),
        c.turn_upto,
        from_unix_millis(95_000),
        from_unix_millis(190_000),
    );
    assert_eq!(again.attempt, 2);
}

#[test]
fn what_comes_in_while_the_model_thinks_is_owed_after_the_commit() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    let draft = c.acquire_lease(
        nonce("a"),
        c.turn_upto,
        from_unix_millis(4_000),
        from_unix_millis(99_000),
    );
    c.receive_message(true, from_unix_millis(5_000)).unwrap();
    assert_eq!(
        c.commit_reply(&draft, from_unix_millis(9_000)).unwrap(),
        Ordinal(3)
    );
    assert!(c.owes_answer());
    assert_eq!(c.waiting_since, Some(from_unix_millis(5_000)));
    assert_eq!(c.lease, None);
}

/// A message that a turn leaves waits from its own arrival on.
#[test]
fn a_burst_that_begins_while_the_model_thinks_is_waited_for_as_any_other() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    let draft = c.acquire_lease(
        nonce("a"),
        c.turn_upto,
        from_unix_millis(4_000),
        from_unix_millis(99_000),
    );
    c.receive_message(true, from_unix_millis(33_000)).unwrap();
    c.commit_reply(&draft, from_unix_millis(34_000)).unwrap();
    c.receive_message(true, from_unix_millis(36_000)).unwrap();
    assert_eq!(
        c.decide_turn(Ordinal(2), from_unix_millis(37_000), DEBOUNCE_MAX),
        TurnDecision::StandDown,
        "there is a newer one, and nobody has waited for long"
    );
    // A worker whose lease had ended does not know what came in before the next one's.
    let late = c.acquire_lease(
        nonce("b"),
        c.turn_upto,
        from_unix_millis(40_000),
        from_unix_millis(41_000),
    );
    c.receive_message(true, from_unix_millis(40_500)).unwrap();
    c.acquire_lease(
        nonce("c"),
        c.turn_upto,
        from_unix_millis(41_000),
        from_unix_millis(99_000),
    );
    c.receive_message(true, from_unix_millis(50_000)).unwrap();
    c.commit_reply(&late, from_unix_millis(51_000)).unwrap();
    assert_eq!(c.waiting_since, Some(from_unix_millis(40_000)));
}

#[test]
fn a_takeover_an_answer_or_another_reply_stops_a_draft() {
    let owed = || {
        let mut c = conversation();
        c.receive_message(true, from_unix_millis(0)).unwrap();
        let draft = c.acquire_lease(
            nonce("a"),
            c.turn_upto,
            from_unix_millis(0),
            from_unix_millis(95_000),
        );
        (c, draft)
    };
    let (mut c, draft) = owed();
    c.take_over();
    assert_eq!(
        c.commit_reply(&draft, from_unix_millis(1)),
        Err(ConversationError::TakenOver)
    );
    c.give_back_to_agent(Ordinal(0), from_unix_millis(2));
    assert_eq!(
        c.commit_reply(&draft, from_unix_millis(3)),
        Err(ConversationError::Answered),
        "another epoch"
    );
    let (mut c, draft) = owed();
    c.commit_reply(&draft, from_unix_millis(1)).unwrap();
    assert_eq!(
        c.commit_reply(&draft, from_unix_millis(2)),
        Err(ConversationError::Answered)
    );
}

#[test]
fn an_answer_covers_only_what_its_author_had_seen() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    c.receive_message(true, from_unix_millis(1)).unwrap();
    c.record_operator_answer(Ordinal(1), true, from_unix_millis(2));
    assert_eq!(
        (c.mode, c.answered, c.human),
        (ConversationMode::Manual, Ordinal(1), Ordinal(1))
    );
    assert!(c.owes_answer());
    c.record_operator_answer(Ordinal(99), true, from_unix_millis(3));
    assert!(!c.owes_answer());
}

#[test]
fn what_was_cancelled_at_a_takeover_is_owed_again_after_the_give_back() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    let draft = c.acquire_lease(
        nonce("a"),
        c.turn_upto,
        from_unix_millis(0),
        from_unix_millis(95_000),
    );
    c.commit_reply(&draft, from_unix_millis(1)).unwrap();
    c.take_over();
    assert!(c.give_back_to_agent(Ordinal(0), from_unix_millis(5)));
    assert!(c.owes_answer());
    assert_eq!(c.waiting_since, Some(from_unix_millis(5)));
    let mut sent = c.clone();
    sent.take_over();
    sent.give_back_to_agent(Ordinal(1), from_unix_millis(9));
    assert!(!sent.owes_answer(), "a reply that left is not owed again");
}

#[test]
fn a_resolve_that_did_not_see_the_last_message_is_refused_and_the_next_message_begins_anew() {
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    assert_eq!(
        c.resolve_if_seen(Ordinal(0)),
        Err(ConversationError::NewerMessage)
    );
    assert_eq!(c.resolve_if_seen(Ordinal(1)), Ok(true));
    assert_eq!(
        c.receive_message(true, from_unix_millis(1)),
        Err(ConversationError::Resolved)
    );
}

#[test]
fn what_nobody_can_answer_is_asked_for_less_and_less_often() {
    const MINUTE: i64 = 60_000;
    let mut c = conversation();
    c.receive_message(true, from_unix_millis(0)).unwrap();
    let mut gaps = Vec::new();
    for _ in 0..7 {
        let due = c.answer_overdue_at().unwrap();
        c.record_nudge(true, due);
        gaps.push((c.answer_overdue_at().unwrap().as_millisecond() - due.as_millisecond()) / MINUTE);
    }
    assert_eq!(gaps, [5, 10, 20, 40, 60, 60, 60]);
    let mut scheduled = c.clone();
    scheduled.schedule_turn(from_unix_millis(0), from_unix_millis(0));
    let nudged = scheduled.nudges.nudged_at.unwrap().as_millisecond();
    assert_eq!(
        scheduled.answer_overdue_at(),
        Some(from_unix_millis(nudged + 60 * MINUTE)),
        "nor every minute past its opening"
    );
    c.record_nudge(false, from_unix_millis(nudged));
    assert_eq!(
        c.answer_overdue_at(),
        Some(from_unix_millis(nudged + 5 * MINUTE)),
        "somebody can"
    );
}

#[test]
fn a_contacts_own_rate_puts_off_only_what_is_beyond_its_burst() {
    let mut c = conversation();
    let places: Vec<Option<jiff::Timestamp>> = (0..50)
        .map(|_| c.reserve_pair_slot(Rate::META_PAIR, from_unix_millis(0)))
        .collect();
    assert!(places[..44].iter().all(Option::is_none));
    assert!(places[45..].iter().all(Option::is_some));
    assert!(places.windows(2).all(|pair| pair[0] <= pair[1]));
    let rested = from_unix_millis(3_600_000);
    assert_eq!(c.reserve_pair_slot(Rate::META_PAIR, rested), None);
}

proptest! {
    #[test]
    fn ordinals_rise_and_answers_never_outrun_messages(steps in proptest::collection::vec((0u8..8, 0u64..12), 0..60)) {
        let mut c = conversation();
        let mut draft: Option<Draft> = None;
        for (i, (step, seen)) in steps.into_iter().enumerate() {
            let at = from_unix_millis(i64::try_from(i).unwrap());
            let before = c.clone();
            match step {
                0 | 1 => { let _ = c.receive_message(step == 0, at); }
                2 => draft = Some(c.acquire_lease(nonce("a"), Ordinal(seen), at, from_unix_millis(1_000))),
                3 => if let Some(draft) = &draft { let _ = c.commit_reply(draft, at); },
                4 => { c.take_over(); }
                5 => { c.record_operator_answer(Ordinal(seen), true, at); }
                6 => { c.give_back_to_agent(Ordinal(seen), at); }
                _ => { let _ = c.resolve_if_seen(Ordinal(seen)); }
            }
            prop_assert!(c.last >= before.last && c.last.0 <= before.last.0 + 1);
            prop_assert!(c.answered <= c.last && c.human <= c.last && c.turn_upto <= c.last);
            prop_assert!(c.epoch >= before.epoch && c.human >= before.human);
            prop_assert!(!c.owes_answer() || c.waiting_since.is_some(), "what is owed is waited for");
            prop_assert!(c.needs_person.is_none() || c.owes_answer(), "a person is needed for what is owed");
        }
    }
}

fn note(what: SystemNote) -> Content {
    Content::System { what, text: None }
}

#[test]
fn a_note_of_whatsapp_is_no_word_of_the_contact() {
    let mut c = conversation();
    c.apply_preference(&note(SystemNote::NumberChanged), from_unix_millis(5));
    assert_eq!(c.contact.last_inbound_at, None);
    c.apply_preference(&Content::from_text("oi"), from_unix_millis(9));
    c.apply_preference(&Content::from_text("late"), from_unix_millis(7));
    assert_eq!(c.contact.last_inbound_at, Some(from_unix_millis(9)));
}

#[test]
fn marketing_is_stopped_until_a_later_choice_resumes_it() {
    let mut c = conversation();
    c.apply_preference(&note(SystemNote::MarketingStopped), from_unix_millis(10));
    c.apply_preference(&note(SystemNote::MarketingResumed), from_unix_millis(9));
    assert_eq!(
        c.contact.marketing_stopped_at,
        Some(from_unix_millis(10)),
        "that was said before"
    );
    c.apply_preference(&note(SystemNote::MarketingResumed), from_unix_millis(11));
    assert_eq!(c.contact.marketing_stopped_at, None);
}

#[test]
fn the_next_conversation_keeps_what_is_the_contacts() {
    let (mut c, mut next) = (conversation(), conversation());
    c.apply_preference(&Content::from_text("oi"), from_unix_millis(9));
    c.apply_preference(&note(SystemNote::MarketingStopped), from_unix_millis(10));
    next.carry_over(&c);
    assert_eq!(
        (next.contact.last_inbound_at, next.contact.marketing_stopped_at),
        (Some(from_unix_millis(9)), Some(from_unix_millis(10)))
    );
    assert_eq!(next.last_inbound, Ordinal(0));
}

#[test]
fn one_template_goes_to_a_contact_in_a_day_unless_it_writes_in_between() {
    let mut c = conversation();
    let message = |ordinal| c.id.message_id(Ordinal(ordinal));
    let (first, second) = (message(1), message(2));
    let (last_inbound, sent) = (Some(from_unix_millis(0)), from_unix_millis(2 * WINDOW_MS));
    assert_eq!(
        c.request_reengagement(&first, last_inbound, sent),
        ReengagementDecision::Recorded
    );
    // A retry of the same message is no second one.
    assert_eq!(
        c.request_reengagement(&first, last_inbound, add_millis(sent, 1)),
        ReengagementDecision::AlreadyRecorded
    );
    assert_eq!(
        c.request_reengagement(&second, last_inbound, add_millis(sent, 1)),
        ReengagementDecision::RecordedForOther(first.clone())
    );
    // It waited for long, and leaves only now: its day begins now.
    let mut waited = c.clone();
    let left = add_millis(sent, WINDOW_MS + 6);
    assert_eq!(
        waited.request_reengagement(&first, last_inbound, left),
        ReengagementDecision::Recorded
    );
    assert_eq!(
        waited.request_reengagement(&second, last_inbound, add_millis(left, 1)),
        ReengagementDecision::RecordedForOther(first.clone())
    );
    let mut wrote = c.clone();
    let later = add_millis(sent, WINDOW_MS - 1);
    assert_eq!(
        wrote.request_reengagement(&second, Some(add_millis(sent, 5)), later),
        ReengagementDecision::Recorded
    );
    assert_eq!(
        c.request_reengagement(&second, last_inbound, later),
        ReengagementDecision::RecordedForOther(first.clone())
    );
    assert_eq!(
        c.request_reengagement(&second, last_inbound, add_millis(sent, WINDOW_MS)),
        ReengagementDecision::Recorded
    );
    assert!(matches!(
        c.request_reengagement(&first, last_inbound, add_millis(sent, WINDOW_MS)),
        ReengagementDecision::RecordedForOther(_)
    ));
    c.record_reengagement(&first, add_millis(sent, WINDOW_MS));
    assert_eq!(
        c.request_reengagement(&first, last_inbound, add_millis(sent, WINDOW_MS)),
        ReengagementDecision::AlreadyRecorded
    );
}

#[test]
fn the_next_conversation_knows_of_the_template() {
    let mut first = conversation();
    let id = first.id.message_id(Ordinal(1));
    first.request_reengagement(&id, None, from_unix_millis(9));
    let mut next = conversation();
    next.carry_over(&first);
    assert_eq!(next.features.reengaged, first.features.reengaged);
    assert!(next.features.reengaged.is_some());
}

#[test]
fn a_record_that_does_not_know_whether_something_was_asked_is_read() {
    let mut c = conversation();
    let without = serde_json::to_value(&c).unwrap();
    assert_eq!(without.get("asked"), None);
    assert!(
        !serde_json::from_value::<Conversation>(without)
            .unwrap()
            .questions
            .asked
    );
    c.questions.asked = true;
    let with = serde_json::to_value(&c).unwrap();
    assert!(
        serde_json::from_value::<Conversation>(with)
            .unwrap()
            .questions
            .asked
    );
}
