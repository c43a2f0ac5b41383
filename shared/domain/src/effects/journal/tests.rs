mod cells;

use super::*;
use crate::effects::{CellSpan, SETTLING_TRIES};
use crate::ids::AgentId;
use crate::millis::from_unix_millis;
use serde_json::json;

const MINUTE: i64 = 60_000;

fn at(seconds: i64) -> Timestamp {
    from_unix_millis(seconds * 1_000)
}

fn nonce(text: &str) -> Nonce {
    Nonce::parse(text).unwrap()
}

fn id(number: u64) -> EffectId {
    EffectId::from_random_bits(7, number)
}

/// Quarters of an hour of the tenth hour on.
fn span(first: i64, quarters: i64) -> CellSpan {
    let start = 600 + first * 15;
    CellSpan {
        calendar: "agenda".to_owned(),
        start: from_unix_millis(start * MINUTE),
        end: from_unix_millis((start + quarters * 15) * MINUTE),
    }
}

fn journal() -> Journal {
    Journal::start_new(
        ThreadId::parse("0123456789abcdef0123456789abcdef").unwrap(),
        TenantId::parse("clinic").unwrap(),
        InstanceId::parse("front-desk").unwrap(),
        at(0),
    )
}

fn request(number: u64, tool: &str, action: EffectAction, base: u64) -> EffectRequest {
    EffectRequest {
        id: id(number),
        tool: ToolName {
            agent: AgentId::parse("ana").unwrap(),
            name: tool.to_owned(),
        },
        action,
        arguments: json!({"name": "Maria"}),
        recorded: json!({"name": "Maria"}),
        conversation: ConversationId::parse("c_0123456789abcdef0123456789abcdef-1").unwrap(),
        epoch: 0,
        base: Ordinal(base),
        nonce: nonce("first"),
        limit: SignedDuration::from_secs(15),
        once_per_turn: true,
    }
}

fn book(number: u64, span: CellSpan, base: u64) -> EffectRequest {
    request(number, "book", EffectAction::Book { span }, base)
}

fn shift(number: u64, event: u64, span: CellSpan, base: u64) -> EffectRequest {
    let (event, version) = (id(event), "v1".to_owned());
    request(number, "move", EffectAction::Move { event, version, span }, base)
}

fn withdraw(number: u64, event: u64, base: u64) -> EffectRequest {
    let (event, version) = (id(event), "v1".to_owned());
    request(number, "cancel", EffectAction::Cancel { event, version }, base)
}

fn quarters(cells: &[HeldCell]) -> Vec<i64> {
    let quarter = |held: &HeldCell| (held.cell.start.as_millisecond() / MINUTE - 600) / 15;
    cells.iter().map(quarter).collect()
}

/// A journal in which event 1 is booked for two quarters.
fn booked() -> Journal {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 2), 0), at(0)).unwrap();
    let change = journal.end_entry(1, &nonce("first"), EntryEnd::Done, None, at(1));
    assert_eq!(change.unwrap(), JournalChange::default());
    journal
}

#[test]
fn a_booking_takes_its_cells_and_keeps_them_when_it_is_done() {
    let mut journal = journal();
    let change = journal.begin_effect(book(1, span(0, 2), 0), at(0)).unwrap();
    assert_eq!(quarters(&change.takes), [0, 1]);
    assert_eq!(change.takes[0].holder, id(1));
    journal
        .end_entry(1, &nonce("first"), EntryEnd::Done, Some("ok".to_owned()), at(1))
        .unwrap();
    assert_eq!(quarters(&journal.held_cells()), [0, 1]);
    assert_eq!(journal.find_entry(1).unwrap().state, EffectState::Done);
    assert!(!journal.find_entry(1).unwrap().fence);
}

#[test]
fn a_booking_that_failed_or_whose_event_is_gone_gives_its_cells_back() {
    for (end, fence) in [
        (EntryEnd::Failed { fence: true }, true),
        (EntryEnd::Failed { fence: false }, false),
        (EntryEnd::Void, false),
    ] {
        let mut journal = journal();
        journal.begin_effect(book(1, span(0, 2), 0), at(0)).unwrap();
        let change = journal.end_entry(1, &nonce("first"), end, None, at(1)).unwrap();
        assert_eq!(quarters(&change.frees), [0, 1]);
        assert!(journal.held_cells().is_empty());
        assert_eq!(journal.fences_to_remove(at(1)).len(), usize::from(fence));
    }
}

#[test]
fn a_move_takes_only_what_is_missing_and_frees_what_is_left() {
    let mut journal = booked();
    let change = journal.begin_effect(shift(2, 1, span(1, 2), 1), at(2)).unwrap();
    assert_eq!(quarters(&change.takes), [2]);
    assert_eq!(quarters(&journal.held_cells()), [0, 1, 2]);
    let mut failed = journal.clone();
    let change = journal
        .end_entry(2, &nonce("first"), EntryEnd::Done, None, at(3))
        .unwrap();
    assert_eq!(quarters(&change.frees), [0]);
    assert_eq!(quarters(&journal.held_cells()), [1, 2]);
    // A move that failed gives back only what it took: its event still stands on the rest.
    let change = failed.end_entry(2, &nonce("first"), EntryEnd::Failed { fence: false }, None, at(3));
    assert_eq!(quarters(&change.unwrap().frees), [2]);
    assert_eq!(quarters(&failed.held_cells()), [0, 1]);
}

#[test]
fn a_cancellation_frees_all_cells_and_ends_the_booking() {
    let mut journal = booked();
    assert_eq!(
        journal.begin_effect(withdraw(2, 1, 1), at(2)).unwrap(),
        JournalChange::default()
    );
    let change = journal
        .end_entry(2, &nonce("first"), EntryEnd::Done, None, at(3))
        .unwrap();
    assert_eq!(quarters(&change.frees), [0, 1]);
    assert!(journal.bookings.is_empty());
    let again = journal.begin_effect(withdraw(3, 1, 2), at(4));
    assert_eq!(again, Err(BeginRefusal::UnknownEvent));
}

#[test]
fn an_event_that_is_gone_when_it_is_moved_is_looked_at_at_once() {
    let mut journal = booked();
    assert!(journal.bookings_to_look_at(at(3)).is_empty());
    journal.begin_effect(shift(2, 1, span(4, 2), 1), at(2)).unwrap();
    let change = journal
        .end_entry(2, &nonce("first"), EntryEnd::Void, None, at(3))
        .unwrap();
    assert_eq!(quarters(&change.frees), [4, 5]);
    assert_eq!(journal.bookings_to_look_at(at(3)).len(), 1);
    assert_eq!(quarters(&journal.drop_booking(&id(1)).frees), [0, 1]);
    assert!(journal.is_empty() || journal.bookings.is_empty());
}

#[test]
fn one_effect_is_under_way_at_a_time() {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 1), 0), at(0)).unwrap();
    let second = journal.begin_effect(book(2, span(4, 1), 0), at(1));
    assert_eq!(second, Err(BeginRefusal::Running(at(20))));
}

#[test]
fn a_tool_acts_once_for_the_same_messages_unless_it_failed() {
    let mut journal = booked();
    let again = |base| book(2, span(4, 1), base);
    assert_eq!(
        journal.clone().begin_effect(again(0), at(2)),
        Err(BeginRefusal::OncePerTurn(1))
    );
    journal.clone().begin_effect(again(1), at(2)).unwrap();
    let other = EffectRequest {
        once_per_turn: false,
        ..again(0)
    };
    journal.clone().begin_effect(other, at(2)).unwrap();
    let mut later = again(0);
    later.conversation = ConversationId::parse("c_0123456789abcdef0123456789abcdef-2").unwrap();
    journal.clone().begin_effect(later, at(2)).unwrap();
    journal.entries[0].state = EffectState::Failed;
    journal.begin_effect(again(0), at(2)).unwrap();
}

#[test]
fn what_cannot_be_booked_is_refused_before_it_begins() {
    let mut journal = journal();
    let long = journal.begin_effect(book(1, span(0, 41), 0), at(0));
    assert_eq!(long, Err(BeginRefusal::Span(SpanError::TooLong)));
    let mut large = book(1, span(0, 1), 0);
    large.arguments = json!("x".repeat(ARGUMENT_BYTES_MAX));
    assert_eq!(journal.begin_effect(large, at(0)), Err(BeginRefusal::TooLarge));
    let unknown = journal.begin_effect(shift(1, 9, span(0, 1), 0), at(0));
    assert_eq!(unknown, Err(BeginRefusal::UnknownEvent));
    assert_eq!(journal.last, 0);
}

#[test]
fn only_the_attempt_that_holds_an_entry_ends_it() {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 1), 0), at(0)).unwrap();
    journal
        .claim_entry(1, &nonce("first"), nonce("second"), at(21))
        .unwrap();
    let late = journal.end_entry(1, &nonce("first"), EntryEnd::Done, None, at(22));
    assert_eq!(late, Err(EntryError::NotHeld));
    let claimed = journal.claim_entry(1, &nonce("first"), nonce("third"), at(22));
    assert_eq!(claimed, Err(EntryError::NotHeld));
    journal
        .end_entry(1, &nonce("second"), EntryEnd::Done, None, at(23))
        .unwrap();
    let twice = journal.end_entry(1, &nonce("second"), EntryEnd::Void, None, at(24));
    assert_eq!(twice, Err(EntryError::NotHeld));
    assert_eq!(
        journal.give_up_settling(2, &nonce("second"), true),
        Err(EntryError::NotFound)
    );
}

#[test]
fn a_call_leaves_only_while_its_whole_limit_is_left() {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 1), 0), at(0)).unwrap();
    let entry = journal.find_entry(1).unwrap();
    assert!(entry.has_time_for_call(at(5)));
    assert!(!entry.has_time_for_call(from_unix_millis(5_001)));
}

#[test]
fn an_entry_is_unknown_after_the_fourth_attempt_and_is_asked_for_again() {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 1), 0), at(0)).unwrap();
    assert!(journal.entries_to_settle(at(23)).is_empty());
    assert_eq!(journal.journal_due_at(), Some(at(24)));
    let mut now = 24;
    for number in 1..=SETTLING_TRIES {
        let (seen, own) = (
            journal.entries[0].nonce.clone(),
            nonce(&format!("attempt{number}")),
        );
        assert_eq!(journal.entries_to_settle(at(now)).len(), 1);
        journal.claim_entry(1, &seen, own.clone(), at(now)).unwrap();
        assert!(
            journal.entries_to_settle(at(now + 60)).is_empty(),
            "the attempt has its time"
        );
        assert_eq!(
            journal.give_up_settling(1, &own, false).unwrap(),
            number == SETTLING_TRIES
        );
        now = journal.journal_due_at().unwrap().as_second();
    }
    assert_eq!(journal.entries[0].state, EffectState::Unknown);
    assert_eq!(quarters(&journal.held_cells()), [0], "the cells stay held");
    assert_eq!(journal.entries[0].next_at.unwrap(), at(now));
    let waited = settle_again(&mut journal, now);
    assert_eq!(waited, 300);
    assert_eq!(settle_again(&mut journal, now + 86_400), 3_600);
    assert!(journal.running_entry().is_none(), "others may begin");
    // A person says that it happened.
    journal.decide_entry(1, EntryEnd::Done, at(now)).unwrap();
    assert_eq!(quarters(&journal.held_cells()), [0]);
    assert_eq!(
        journal.decide_entry(1, EntryEnd::Void, at(now)),
        Err(EntryError::NotHeld)
    );
}

/// Settles entry 1 without a result. Returns the seconds until it is due again.
fn settle_again(journal: &mut Journal, now: i64) -> i64 {
    let seen = journal.entries[0].nonce.clone();
    journal.claim_entry(1, &seen, nonce("again"), at(now)).unwrap();
    assert!(!journal.give_up_settling(1, &nonce("again"), false).unwrap());
    journal.journal_due_at().unwrap().as_second() - now
}

#[test]
fn a_fence_is_removed_after_the_failure_is_stored_and_again_until_it_is_gone() {
    let mut journal = journal();
    journal.begin_effect(book(1, span(0, 1), 0), at(0)).unwrap();
    assert!(
        journal.fences_to_remove(at(100)).is_empty(),
        "not before its failure"
    );
    journal
        .end_entry(1, &nonce("first"), EntryEnd::Failed { fence: true }, None, at(30))
        .unwrap();
    assert_eq!(journal.journal_due_at(), Some(at(30)));
    journal.put_fence_off(1, at(31));
    assert!(journal.fences_to_remove(at(90)).is_empty());
    assert_eq!(journal.fences_to_remove(at(91)).len(), 1);
    journal.note_fence_removed(1);
    assert_eq!(journal.journal_due_at(), None);
}

#[test]
fn a_booking_is_looked_at_every_hour_and_follows_its_event() {
    let mut journal = booked();
    assert_eq!(journal.journal_due_at(), Some(at(3_601)));
    journal.note_booking_look(&id(1), at(3_601));
    assert_eq!(journal.journal_due_at(), Some(at(7_201)));
    let change = journal.follow_booking(&id(1), span(1, 2), &[], at(7_201));
    assert_eq!(
        (quarters(&change.takes), quarters(&change.frees)),
        (vec![2], vec![0])
    );
    assert_eq!(quarters(&journal.held_cells()), [1, 2]);
    journal.begin_effect(withdraw(2, 1, 1), at(7_202)).unwrap();
    assert_eq!(
        journal.drop_booking(&id(1)),
        JournalChange::default(),
        "an effect is open"
    );
    let followed = journal.follow_booking(&id(1), span(8, 2), &[], at(7_203));
    assert_eq!(followed, JournalChange::default());
}

#[test]
fn a_booking_that_people_move_to_a_taken_time_holds_what_is_free_of_it() {
    let mut journal = booked();
    let taken = span(3, 1).list_cells();
    let change = journal.follow_booking(&id(1), span(2, 2), &taken, at(3_601));
    assert_eq!(
        (quarters(&change.takes), quarters(&change.frees)),
        (vec![2], vec![0, 1])
    );
    assert_eq!(quarters(&journal.held_cells()), [2]);
    assert_eq!(journal.journal_due_at(), Some(at(3_601)), "people are to be told");
    journal.note_clash_told(&id(1), at(3_602));
    assert_eq!(journal.journal_due_at(), Some(at(7_202)));
    // A move of the contact's own takes what the booking does not hold.
    let shift = EffectAction::Move {
        event: id(1),
        version: "1".to_owned(),
        span: span(2, 3),
    };
    let mut moved = journal.clone();
    let change = moved
        .begin_effect(request(2, "move", shift, 1), at(7_300))
        .unwrap();
    assert_eq!(quarters(&change.takes), [3, 4]);
    // The other one left: the booking has its whole time, and what was told stays told until then.
    let change = journal.follow_booking(&id(1), span(2, 2), &taken, at(7_202));
    assert_eq!(
        (change, journal.bookings[0].is_clash_untold()),
        (JournalChange::default(), false)
    );
    let change = journal.follow_booking(&id(1), span(2, 2), &[], at(7_203));
    assert_eq!(
        (quarters(&change.takes), &journal.bookings[0].clash),
        (vec![3], &None)
    );
}

#[test]
fn a_journal_keeps_what_is_open_and_the_newest_of_the_rest() {
    let mut journal = journal();
    for number in 1..=40 {
        journal
            .begin_effect(book(number, span(0, 1), number), at(0))
            .unwrap();
        let end = EntryEnd::Failed { fence: number == 1 };
        journal
            .end_entry(number, &nonce("first"), end, None, at(1))
            .unwrap();
    }
    let numbers: Vec<u64> = journal.entries.iter().map(|entry| entry.number).collect();
    assert_eq!(numbers.first(), Some(&1), "its fence is not removed yet");
    assert_eq!(numbers.len(), KNOWN_ENTRIES + 1);
    assert_eq!(numbers.last(), Some(&40));
    assert!(journal.forget_ended(at(1), at(2)));
    assert_eq!(journal.entries.len(), 1);
    journal.note_fence_removed(1);
    assert!(journal.forget_ended(at(1), at(2)) && journal.is_empty());
}

#[test]
fn a_booking_that_is_over_is_forgotten() {
    let mut journal = booked();
    let end = span(0, 2).end;
    assert!(!journal.forget_ended(at(0), add_duration(end, SignedDuration::from_secs(59))));
    assert!(journal.forget_ended(at(0), add_duration(end, SignedDuration::from_secs(60))));
    assert!(journal.bookings.is_empty());
}

#[test]
fn a_draft_is_told_of_each_effect_and_its_end() {
    assert_eq!(journal().describe_entries(), None);
    let mut journal = booked();
    journal.begin_effect(shift(2, 1, span(4, 1), 1), at(2)).unwrap();
    let told = journal.describe_entries().unwrap();
    assert!(
        told.contains(r#"action 1: book with {"name":"Maria"} is done. Do not do it again."#),
        "{told}"
    );
    assert!(
        told.contains("action 2: move") && told.contains("is under way"),
        "{told}"
    );
    assert_eq!(journal.entries.iter().filter(|entry| entry.number > 1).count(), 1);
}

#[test]
fn a_journal_survives_being_written_and_read() {
    let mut journal = booked();
    journal.begin_effect(shift(2, 1, span(4, 1), 1), at(2)).unwrap();
    let text = serde_json::to_string(&journal).unwrap();
    assert_eq!(serde_json::from_str::<Journal>(&text).unwrap(), journal);
}
