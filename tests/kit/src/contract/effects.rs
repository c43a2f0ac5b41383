//! The journals of effects, with the cells that their events hold.

use super::given::{assert_conflict, assert_written, begun, list_open, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, far_ahead, fresh, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::effects::{
    CellSpan, EffectAction, EffectId, EffectRequest, EntryEnd, HeldCell, Journal, JournalChange, ToolName,
};
use recado_domain::millis::add_duration;
use recado_ports::ports::{EffectGuard, PortResult, Store};
use recado_ports::records::effects::{
    JournalOutcome, find_journal, is_journal_unchanged, list_due_journals, list_held_cells, list_journals,
    save_journal_with_cells, store_begun_effect,
};
use recado_ports::table::{Versioned, remove_record};
use serde_json::json;

/// Quarters of an hour of a calendar, far ahead so that their cells do not expire.
pub(super) fn span(calendar: &str, first: i32, quarters: i32) -> CellSpan {
    span_from(far_ahead(), calendar, first, quarters)
}

pub(super) fn span_from(begin: Timestamp, calendar: &str, first: i32, quarters: i32) -> CellSpan {
    let quarter = SignedDuration::from_mins(15);
    let start = add_duration(begin, quarter * first);
    CellSpan {
        calendar: calendar.to_owned(),
        start,
        end: add_duration(start, quarter * quarters),
    }
}

pub(super) fn guard(conversation: &Conversation) -> EffectGuard {
    EffectGuard {
        conversation: conversation.id.clone(),
        epoch: conversation.epoch,
        answered: conversation.answered,
        turn_upto: conversation.turn_upto,
    }
}

fn empty_journal(fixture: &Fixture, conversation: &Conversation) -> Journal {
    let bound = &fixture.bound;
    let thread = conversation.id.thread_id().clone();
    Journal::start_new(thread, bound.tenant.id.clone(), bound.instance.id.clone(), at(0))
}

fn request(conversation: &Conversation, number: u64, action: EffectAction) -> EffectRequest {
    EffectRequest {
        id: EffectId::from_random_bits(nonce_bits(conversation), number),
        tool: ToolName {
            agent: recado_domain::ids::AgentId::parse("ana").unwrap(),
            name: "book".to_owned(),
        },
        action,
        arguments: json!({"name": "Maria", "deep": [{"a": null}]}),
        recorded: json!({"name": "Maria", "deep": [{"a": null}]}),
        conversation: conversation.id.clone(),
        epoch: conversation.epoch,
        base: conversation.answered,
        nonce: nonce(),
        limit: SignedDuration::from_secs(15),
        once_per_turn: false,
    }
}

/// Bits that differ from thread to thread.
fn nonce_bits(conversation: &Conversation) -> u64 {
    u64::from_str_radix(&conversation.id.thread_id().as_str()[..16], 16).unwrap()
}

/// A journal in which a booking of `span` has just begun, ready for its write, with the cells that it takes.
pub(super) fn booking_begun(
    fixture: &Fixture,
    conversation: &Conversation,
    span: CellSpan,
) -> (Versioned<Journal>, Vec<HeldCell>) {
    let mut journal = empty_journal(fixture, conversation);
    let asked = request(conversation, 1, EffectAction::Book { span });
    let takes = journal.begin_effect(asked, at(0)).unwrap().takes;
    journal.raise_revision();
    (Versioned::new(journal), takes)
}

/// Begins an effect as it was drafted.
pub(super) async fn begin<S: Store>(
    store: &S,
    conversation: &Conversation,
    (journal, takes): (&mut Versioned<Journal>, &[HeldCell]),
) -> JournalOutcome {
    succeed(store_begun_effect(store, &guard(conversation), journal, takes)).await
}

/// Writes a journal that was changed, with its cells.
pub(super) async fn save<S: Store>(
    store: &S,
    journal: &mut Versioned<Journal>,
    change: &JournalChange,
) -> JournalOutcome {
    journal.record.raise_revision();
    succeed(save_journal_with_cells(store, None, journal, change)).await
}

/// A stored conversation with the journal of a booking that was begun.
pub(super) async fn with_booking<S: Store>(
    store: &S,
    calendar: &str,
) -> (Fixture, Conversation, Versioned<Journal>) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let (mut journal, takes) = booking_begun(&fixture, &conversation, span(calendar, 0, 2));
    let begins = begin(store, &conversation, (&mut journal, &takes)).await;
    assert_eq!(begins, JournalOutcome::Written);
    (fixture, conversation, journal)
}

/// Ends entry 1, and writes the journal.
pub(super) async fn end_first<S: Store>(
    store: &S,
    journal: &mut Versioned<Journal>,
    end: EntryEnd,
) -> JournalChange {
    let held = journal.record.find_entry(1).unwrap().nonce.clone();
    let ended = journal
        .record
        .end_entry(1, &held, end, Some("ok".to_owned()), at(1_000));
    let change = ended.unwrap();
    assert_eq!(save(store, journal, &change).await, JournalOutcome::Written);
    change
}

pub(super) async fn held<S: Store>(store: &S, fixture: &Fixture, calendar: &str) -> Vec<HeldCell> {
    let all = span(calendar, 0, 40);
    succeed(list_held_cells(store, &fixture.bound.tenant.id, &all)).await
}

/// Returns the stored journal of the thread of another one.
pub(super) async fn find_stored<S: Store>(
    store: &S,
    journal: &Versioned<Journal>,
) -> Option<Versioned<Journal>> {
    let (tenant, thread) = journal.record.tenant_and_thread();
    succeed(find_journal(store, tenant, thread)).await
}

pub(super) async fn assert_found<S: Store>(store: &S, expected: &Versioned<Journal>) {
    assert_eq!(find_stored(store, expected).await.as_ref(), Some(expected));
}

pub async fn an_effect_begins_with_its_journal_and_its_cells<S: Store>(store: &S) {
    let calendar = fresh("agenda@group");
    let (fixture, conversation, mut journal) = with_booking(store, &calendar).await;
    assert_found(store, &journal).await;
    let takes = span(&calendar, 0, 2).hold_cells_for(&journal.record.entries[0].id);
    assert_eq!(held(store, &fixture, &calendar).await, takes);
    let stored = succeed(store.find_conversation(&conversation.id)).await;
    assert_eq!(
        stored.as_ref(),
        Some(&conversation),
        "the conversation is only looked at"
    );
    assert_eq!(
        end_first(store, &mut journal, EntryEnd::Done).await,
        JournalChange::default()
    );
    assert_found(store, &journal).await;
    assert_eq!(held(store, &fixture, &calendar).await, takes);
    let part = span(&calendar, 1, 1);
    let within = list_held_cells(store, &fixture.bound.tenant.id, &part);
    assert_eq!(succeed(within).await, takes[1..]);
    assert_eq!(held(store, &fixture, &fresh("another")).await, []);
}

pub async fn a_thread_without_effects_has_no_journal<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let none = Versioned::new(empty_journal(&fixture, &conversation));
    assert_eq!(find_stored(store, &none).await, None);
    assert!(succeed(is_journal_unchanged(store, &none)).await);
}

pub async fn an_effect_does_not_begin_in_a_conversation_that_is_not_as_drafted<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let mut conversation = begun(store, &fixture).await;
    let (mut journal, takes) = booking_begun(&fixture, &conversation, span(&calendar, 0, 2));
    let drafted = guard(&conversation);
    let other_epoch = EffectGuard {
        epoch: 7,
        ..drafted.clone()
    };
    let answered = EffectGuard {
        answered: conversation.last,
        ..drafted.clone()
    };
    let newer = EffectGuard {
        turn_upto: conversation.last.next_ordinal(),
        ..drafted.clone()
    };
    let absent = EffectGuard {
        conversation: Fixture::new().conversation(1).id,
        ..drafted.clone()
    };
    for stale in [other_epoch, answered, newer, absent] {
        let begins = succeed(store_begun_effect(store, &stale, &mut journal, &takes)).await;
        assert_eq!(begins, JournalOutcome::Stopped, "{stale:?}");
    }
    conversation.take_over();
    updated(store, &mut conversation).await;
    let manual = EffectGuard {
        epoch: conversation.epoch,
        ..drafted
    };
    let begins = succeed(store_begun_effect(store, &manual, &mut journal, &takes)).await;
    assert_eq!(begins, JournalOutcome::Stopped, "people have it");
    assert_eq!(find_stored(store, &journal).await, None);
    assert_eq!(held(store, &fixture, &calendar).await, []);
}

pub async fn a_journal_that_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, conversation, mut journal) = with_booking(store, &calendar).await;
    // One of the cells is another event's, too: the conflict is told first.
    for first in [4, 1] {
        let (mut again, takes) = booking_begun(&fixture, &conversation, span(&calendar, first, 2));
        again.record.entries[0].id = EffectId::from_random_bits(nonce_bits(&conversation), 2);
        let takes: Vec<HeldCell> = takes
            .into_iter()
            .map(|held| HeldCell {
                holder: again.record.entries[0].id.clone(),
                ..held
            })
            .collect();
        let begins = begin(store, &conversation, (&mut again, &takes)).await;
        assert_eq!(begins, JournalOutcome::Conflict, "it exists");
    }
    let stale = journal.clone();
    end_first(store, &mut journal, EntryEnd::Done).await;
    let (_, takes) = booking_begun(&fixture, &conversation, span(&calendar, 4, 2));
    for mut late in [stale.clone(), Versioned::new(stale.record)] {
        let change = JournalChange {
            takes: takes.clone(),
            frees: journal.record.held_cells(),
        };
        assert_eq!(save(store, &mut late, &change).await, JournalOutcome::Conflict);
    }
    assert_found(store, &journal).await;
    assert_eq!(
        held(store, &fixture, &calendar).await,
        journal.record.held_cells()
    );
}

/// Begins an effect, again while others' transactions are in the way.
pub(super) async fn ask_until_known<S: Store>(
    store: &S,
    guard: &EffectGuard,
    journal: &Versioned<Journal>,
    takes: &[HeldCell],
) -> JournalOutcome {
    let mut journal = journal.clone();
    for _ in 0..20 {
        let asked: PortResult<_> = store_begun_effect(store, guard, &mut journal, takes).await;
        if let Ok(outcome) = asked {
            return outcome;
        }
    }
    panic!("the store stays unavailable");
}

pub async fn a_reply_is_committed_only_beside_the_journal_that_its_draft_knew<S: Store>(store: &S) {
    let (fixture, mut conversation, mut journal) = with_booking(store, &fresh("agenda")).await;
    // One draft knew of no journal, and one knew it before its end.
    let stale = [Versioned::new(journal.record.clone()), journal.clone()];
    end_first(store, &mut journal, EntryEnd::Done).await;
    let before = conversation.clone();
    let reply = [fixture.reply(&mut conversation)];
    for stale in stale.iter().map(Versioned::require_unchanged) {
        assert_conflict(store.commit_messages(&conversation, &reply, &[stale])).await;
    }
    assert!(!succeed(is_journal_unchanged(store, &stale[1])).await);
    assert_eq!(succeed(store.find_conversation(&before.id)).await, Some(before));
    let known = journal.require_unchanged();
    assert_written(store.commit_messages(&conversation, &reply, &[known])).await;
    assert_eq!(list_open(store, &conversation.id).await, reply);
    assert_found(store, &journal).await;
    // A draft that knew a journal is refused once there is none.
    let (other, mut first, journal) = with_booking(store, &fresh("agenda")).await;
    assert!(succeed(remove_record(store, &journal)).await);
    let reply = [other.reply(&mut first)];
    let none = Versioned::new(empty_journal(&other, &first));
    assert_conflict(store.commit_messages(&first, &reply, &[journal.require_unchanged()])).await;
    assert_written(store.commit_messages(&first, &reply, &[none.require_unchanged()])).await;
}

/// Looks whether the thread's journal is listed as overdue at `now`, until it is as expected.
async fn assert_due<S: Store>(store: &S, journal: &Journal, now: Timestamp, expected: bool) {
    let due = (journal.tenant.clone(), journal.thread.clone());
    let listed = async || succeed(list_due_journals(store, now, 1_000)).await.contains(&due);
    assert_eq!(
        eventually(INDEX, listed, |found| *found == expected).await,
        expected,
        "at {now}"
    );
}

pub async fn a_journal_is_overdue_while_an_effect_is_open_or_a_fence_stands<S: Store>(store: &S) {
    let (_, _, mut journal) = with_booking(store, &fresh("agenda")).await;
    assert_due(store, &journal.record, at(24_000), true).await;
    assert_due(store, &journal.record, at(23_999), false).await;
    end_first(store, &mut journal, EntryEnd::Failed { fence: true }).await;
    assert_due(store, &journal.record, at(1_000), true).await;
    journal.record.note_fence_removed(1);
    let saved = save(store, &mut journal, &JournalChange::default()).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_due(store, &journal.record, far_ahead(), false).await;
}

pub async fn journals_are_listed_by_their_tenant<S: Store>(store: &S) {
    let (fixture, _, journal) = with_booking(store, &fresh("agenda")).await;
    let (other, _, theirs) = with_booking(store, &fresh("agenda")).await;
    for (owner, own) in [(fixture, journal), (other, theirs)] {
        let listed = list_journals(store, &owner.bound.tenant.id, 10);
        assert_eq!(succeed(listed).await, [own.record]);
    }
}

pub async fn a_journal_is_deleted_as_it_was_read<S: Store>(store: &S) {
    let (fixture, conversation, mut journal) = with_booking(store, &fresh("agenda")).await;
    let stale = journal.clone();
    end_first(store, &mut journal, EntryEnd::Failed { fence: false }).await;
    assert!(!succeed(remove_record(store, &stale)).await);
    assert_found(store, &journal).await;
    for is_there in [true, false] {
        assert_eq!(succeed(remove_record(store, &journal)).await, is_there);
        assert_eq!(find_stored(store, &journal).await, None);
    }
    let tenant = &fixture.bound.tenant.id;
    assert_eq!(succeed(list_journals(store, tenant, 10)).await, []);
    // The thread begins anew.
    let (mut again, takes) = booking_begun(&fixture, &conversation, span(&fresh("agenda"), 0, 1));
    let begins = begin(store, &conversation, (&mut again, &takes)).await;
    assert_eq!(begins, JournalOutcome::Written);
}

pub async fn of_ten_that_begin_an_effect_of_one_thread_one_does<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let conversation = begun(store, &fixture).await;
    let asked: Vec<_> = (0..10)
        .map(|number| booking_begun(&fixture, &conversation, span(&calendar, 2 * number, 1)))
        .collect();
    let drafted = guard(&conversation);
    let begins = asked
        .iter()
        .map(|(journal, takes)| ask_until_known(store, &drafted, journal, takes));
    let outcomes = join_all(begins).await;
    let won: Vec<usize> = (0..10)
        .filter(|number| outcomes[*number] == JournalOutcome::Written)
        .collect();
    assert_eq!(won.len(), 1, "{outcomes:?}");
    let (journal, takes) = &asked[won[0]];
    let stored = find_stored(store, journal).await.unwrap();
    assert_eq!(stored.record, journal.record);
    assert_eq!(held(store, &fixture, &calendar).await, *takes);
    assert!(succeed(remove_record(store, &stored)).await);
}
