//! The journals of effects, and the cells that events hold.

use super::given::{assert_conflict, assert_written, begun, list_open, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, far_ahead, fresh, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::effects::{
    CellSpan, EffectAction, EffectId, EffectRequest, EffectState, EntryEnd, HeldCell, Journal, JournalChange,
    SETTLING_TRIES, ToolName,
};
use recado_domain::millis::add_duration;
use recado_ports::ports::{EffectGuard, JournalOutcome, OverdueWork, PortResult, Store, WriteOutcome};
use serde_json::json;

/// Quarters of an hour of a calendar, far ahead so that their cells do not expire.
pub(super) fn span(calendar: &str, first: i32, quarters: i32) -> CellSpan {
    let quarter = SignedDuration::from_mins(15);
    let start = add_duration(far_ahead(), quarter * first);
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
) -> (Journal, Vec<HeldCell>) {
    let mut journal = empty_journal(fixture, conversation);
    let asked = request(conversation, 1, EffectAction::Book { span });
    let takes = journal.begin_effect(asked, at(0)).unwrap().takes;
    journal.rev += 1;
    (journal, takes)
}

/// A stored conversation with the journal of a booking that was begun.
pub(super) async fn with_booking<S: Store>(store: &S, calendar: &str) -> (Fixture, Conversation, Journal) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    let (journal, takes) = booking_begun(&fixture, &conversation, span(calendar, 0, 2));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &journal, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::Written);
    (fixture, conversation, journal)
}

/// Ends entry 1, and writes the journal.
pub(super) async fn end_first<S: Store>(store: &S, journal: &mut Journal, end: EntryEnd) -> JournalChange {
    let held = journal.find_entry(1).unwrap().nonce.clone();
    let change = journal
        .end_entry(1, &held, end, Some("ok".to_owned()), at(1_000))
        .unwrap();
    journal.rev += 1;
    let saved = succeed(store.save_journal_with_cells(journal, &change, at(1_000))).await;
    assert_eq!(saved, JournalOutcome::Written);
    change
}

async fn held<S: Store>(store: &S, fixture: &Fixture, calendar: &str) -> Vec<HeldCell> {
    let all = span(calendar, 0, 40);
    succeed(store.list_held_cells(&fixture.bound.tenant.id, &all, at(0))).await
}

async fn assert_found<S: Store>(store: &S, expected: &Journal) {
    assert_eq!(
        succeed(store.find_journal(&expected.thread)).await.as_ref(),
        Some(expected)
    );
}

pub async fn an_effect_begins_with_its_journal_and_its_cells<S: Store>(store: &S) {
    let calendar = fresh("agenda@group");
    let (fixture, conversation, mut journal) = with_booking(store, &calendar).await;
    assert_found(store, &journal).await;
    let takes = span(&calendar, 0, 2).hold_cells_for(&journal.entries[0].id);
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
    let within = store.list_held_cells(&fixture.bound.tenant.id, &part, at(0));
    assert_eq!(succeed(within).await, takes[1..]);
    assert_eq!(held(store, &fixture, &fresh("another")).await, []);
}

pub async fn a_thread_without_effects_has_no_journal<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = begun(store, &fixture).await;
    assert_eq!(
        succeed(store.find_journal(conversation.id.thread_id())).await,
        None
    );
}

pub async fn an_effect_does_not_begin_in_a_conversation_that_is_not_as_drafted<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let mut conversation = begun(store, &fixture).await;
    let (journal, takes) = booking_begun(&fixture, &conversation, span(&calendar, 0, 2));
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
        let begins = succeed(store.store_begun_effect(&stale, &journal, &takes, at(0))).await;
        assert_eq!(begins, JournalOutcome::Stopped, "{stale:?}");
    }
    conversation.take_over();
    updated(store, &mut conversation).await;
    let manual = EffectGuard {
        epoch: conversation.epoch,
        ..drafted
    };
    let begins = succeed(store.store_begun_effect(&manual, &journal, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::Stopped, "people have it");
    assert_eq!(succeed(store.find_journal(&journal.thread)).await, None);
    assert_eq!(held(store, &fixture, &calendar).await, []);
}

pub async fn a_journal_that_changed_meanwhile_is_a_conflict_and_nothing_is_written<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, conversation, mut journal) = with_booking(store, &calendar).await;
    let (again, takes) = booking_begun(&fixture, &conversation, span(&calendar, 4, 2));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &again, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::Conflict, "it exists");
    let stale = journal.clone();
    end_first(store, &mut journal, EntryEnd::Done).await;
    for rev in [stale.rev, stale.rev + 1, stale.rev + 3, 0] {
        let mut late = stale.clone();
        late.rev = rev;
        let change = JournalChange {
            takes: takes.clone(),
            frees: journal.held_cells(),
        };
        let saved = succeed(store.save_journal_with_cells(&late, &change, at(0))).await;
        assert_eq!(saved, JournalOutcome::Conflict, "revision {rev}");
    }
    assert_found(store, &journal).await;
    assert_eq!(held(store, &fixture, &calendar).await, journal.held_cells());
}

pub async fn a_cell_of_another_event_is_taken_and_nothing_is_written<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, journal) = with_booking(store, &calendar).await;
    let mut other = Fixture::new();
    other.bound.tenant = fixture.bound.tenant.clone();
    let conversation = begun(store, &other).await;
    let (mut second, takes) = booking_begun(&other, &conversation, span(&calendar, 1, 2));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &second, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::CellTaken);
    assert_eq!(succeed(store.find_journal(&second.thread)).await, None);
    assert_eq!(held(store, &fixture, &calendar).await, journal.held_cells());
    // Another tenant's calendar of the same name is another one.
    let stranger = Fixture::new();
    let theirs = begun(store, &stranger).await;
    let (third, takes) = booking_begun(&stranger, &theirs, span(&calendar, 0, 2));
    let begins = succeed(store.store_begun_effect(&guard(&theirs), &third, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::Written);
    // When the first event is over, its cells are free without being given back.
    second.rev = 1;
    let takes = second.held_cells();
    let later = add_duration(span(&calendar, 0, 2).end, SignedDuration::from_mins(1));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &second, &takes, later)).await;
    assert_eq!(begins, JournalOutcome::Written);
}

pub async fn of_fifty_contacts_who_ask_for_one_time_one_gets_it<S: Store>(store: &S) {
    let (calendar, tenant) = (fresh("agenda"), Fixture::new().bound.tenant);
    let contacts = (0..50).map(|_| {
        let mut fixture = Fixture::new();
        fixture.bound.tenant = tenant.clone();
        fixture
    });
    let contacts: Vec<Fixture> = contacts.collect();
    let conversations = join_all(contacts.iter().map(|fixture| begun(store, fixture))).await;
    let asked: Vec<_> = contacts
        .iter()
        .zip(&conversations)
        .map(|(fixture, conversation)| {
            let (journal, takes) = booking_begun(fixture, conversation, span(&calendar, 0, 2));
            (guard(conversation), journal, takes)
        })
        .collect();
    let begins = asked
        .iter()
        .map(|(guard, journal, takes)| ask_until_known(store, guard, journal, takes));
    let outcomes = join_all(begins).await;
    let won = outcomes
        .iter()
        .filter(|outcome| **outcome == JournalOutcome::Written)
        .count();
    let refused = outcomes
        .iter()
        .filter(|outcome| **outcome == JournalOutcome::CellTaken)
        .count();
    assert_eq!((won, refused), (1, 49));
    assert_eq!(held(store, &contacts[0], &calendar).await.len(), 2);
}

/// Begins an effect, again while others' transactions are in the way.
async fn ask_until_known<S: Store>(
    store: &S,
    guard: &EffectGuard,
    journal: &Journal,
    takes: &[HeldCell],
) -> JournalOutcome {
    for _ in 0..20 {
        let asked: PortResult<_> = store.store_begun_effect(guard, journal, takes, at(0)).await;
        if let Ok(outcome) = asked {
            return outcome;
        }
    }
    panic!("the store stays unavailable");
}

pub async fn cells_are_freed_with_the_end_but_not_those_of_others<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, mut journal) = with_booking(store, &calendar).await;
    let mut other = Fixture::new();
    other.bound.tenant = fixture.bound.tenant.clone();
    let conversation = begun(store, &other).await;
    // The second cell expired, as its holder sees it, and another event took it.
    let (second, takes) = booking_begun(&other, &conversation, span(&calendar, 1, 1));
    let later = add_duration(span(&calendar, 0, 2).end, SignedDuration::from_mins(1));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &second, &takes, later)).await;
    assert_eq!(begins, JournalOutcome::Written);
    let change = end_first(store, &mut journal, EntryEnd::Failed { fence: false }).await;
    assert_eq!(change.frees.len(), 2);
    assert_found(store, &journal).await;
    assert_eq!(held(store, &fixture, &calendar).await, takes);
    for _ in 0..2 {
        succeed(store.free_held_cells(&fixture.bound.tenant.id, &change.frees)).await;
        assert_eq!(held(store, &fixture, &calendar).await, takes);
    }
    succeed(store.free_held_cells(&fixture.bound.tenant.id, &takes)).await;
    assert_eq!(held(store, &fixture, &calendar).await, []);
}

pub async fn a_move_takes_and_frees_eighty_cells_at_once<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let conversation = begun(store, &fixture).await;
    let (mut journal, takes) = booking_begun(&fixture, &conversation, span(&calendar, 0, 40));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &journal, &takes, at(0))).await;
    assert_eq!(begins, JournalOutcome::Written);
    end_first(store, &mut journal, EntryEnd::Done).await;
    let event = journal.bookings[0].event.clone();
    let change = journal.follow_booking(&event, span(&calendar, 40, 40), &[], at(2_000));
    assert_eq!((change.takes.len(), change.frees.len()), (40, 40));
    journal.rev += 1;
    let saved = succeed(store.save_journal_with_cells(&journal, &change, at(2_000))).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_eq!(held(store, &fixture, &calendar).await, []);
    let both = span(&calendar, 0, 80);
    let found = store.list_held_cells(&fixture.bound.tenant.id, &both, at(0));
    assert_eq!(succeed(found).await, change.takes);
}

pub async fn a_reply_is_committed_only_beside_the_journal_that_its_draft_knew<S: Store>(store: &S) {
    let (fixture, mut conversation, mut journal) = with_booking(store, &fresh("agenda")).await;
    let known = journal.rev;
    end_first(store, &mut journal, EntryEnd::Done).await;
    let before = conversation.clone();
    let reply = [fixture.reply(&mut conversation)];
    for stale in [0, known, journal.rev + 1] {
        assert_conflict(store.commit_reply(&conversation, &reply, Some(stale))).await;
    }
    assert_eq!(succeed(store.find_conversation(&before.id)).await, Some(before));
    assert_written(store.commit_reply(&conversation, &reply, Some(journal.rev))).await;
    assert_eq!(list_open(store, &conversation.id).await, reply);
    // A draft that knew of no journal is refused once there is one.
    let other = Fixture::new();
    let mut first = begun(store, &other).await;
    let reply = [other.reply(&mut first)];
    assert_conflict(store.commit_reply(&first, &reply, Some(1))).await;
    assert_written(store.commit_reply(&first, &reply, Some(0))).await;
}

/// Looks whether the thread's journal is listed as overdue at `now`, until it is as expected.
async fn assert_due<S: Store>(store: &S, journal: &Journal, now: Timestamp, expected: bool) {
    let work = OverdueWork::Effects(journal.thread.clone());
    let listed = async || succeed(store.list_overdue(now, 10_000)).await.contains(&work);
    assert_eq!(
        eventually(INDEX, listed, |found| *found == expected).await,
        expected,
        "at {now}"
    );
}

pub async fn a_journal_is_overdue_while_an_effect_is_open_or_a_fence_stands<S: Store>(store: &S) {
    let (_, _, mut journal) = with_booking(store, &fresh("agenda")).await;
    assert_due(store, &journal, at(24_000), true).await;
    assert_due(store, &journal, at(23_999), false).await;
    end_first(store, &mut journal, EntryEnd::Failed { fence: true }).await;
    assert_due(store, &journal, at(1_000), true).await;
    journal.note_fence_removed(1);
    journal.rev += 1;
    let saved = succeed(store.save_journal_with_cells(&journal, &JournalChange::default(), at(2_000))).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_due(store, &journal, far_ahead(), false).await;
}

pub async fn journals_are_listed_by_their_tenant_and_the_unknown_ones_apart<S: Store>(store: &S) {
    let (fixture, _, mut journal) = with_booking(store, &fresh("agenda")).await;
    let (other, _, theirs) = with_booking(store, &fresh("agenda")).await;
    let (tenant, stranger) = (&fixture.bound.tenant.id, &other.bound.tenant.id);
    let list = async || succeed(store.list_journals(tenant, 10)).await;
    assert_eq!(
        eventually(INDEX, list, |found| !found.is_empty()).await,
        [journal.clone()]
    );
    let unknown = async || succeed(store.list_unknown_effects(tenant, 10)).await;
    assert_eq!(unknown().await, []);
    for number in 1..=SETTLING_TRIES {
        let (seen, own) = (journal.entries[0].nonce.clone(), nonce());
        journal.claim_entry(1, &seen, own.clone(), at(0)).unwrap();
        assert_eq!(
            journal.give_up_settling(1, &own, false).unwrap(),
            number == SETTLING_TRIES
        );
    }
    assert_eq!(journal.entries[0].state, EffectState::Unknown);
    journal.rev += 1;
    let saved = succeed(store.save_journal_with_cells(&journal, &JournalChange::default(), at(1))).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_eq!(
        eventually(INDEX, unknown, |found| !found.is_empty()).await,
        [journal.clone()]
    );
    journal.decide_entry(1, EntryEnd::Done, at(2)).unwrap();
    journal.rev += 1;
    let saved = succeed(store.save_journal_with_cells(&journal, &JournalChange::default(), at(2))).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_eq!(eventually(INDEX, unknown, Vec::is_empty).await, []);
    assert_eq!(succeed(store.list_journals(stranger, 10)).await, [theirs]);
    assert_eq!(succeed(store.list_journals(tenant, 0)).await, []);
}

pub async fn a_journal_is_deleted_as_it_was_read<S: Store>(store: &S) {
    let (fixture, conversation, mut journal) = with_booking(store, &fresh("agenda")).await;
    let stale = journal.clone();
    end_first(store, &mut journal, EntryEnd::Failed { fence: false }).await;
    assert_conflict(store.delete_journal(&stale)).await;
    assert_found(store, &journal).await;
    for _ in 0..2 {
        assert_written(store.delete_journal(&journal)).await;
        assert_eq!(succeed(store.find_journal(&journal.thread)).await, None);
    }
    let tenant = &fixture.bound.tenant.id;
    let list = async || succeed(store.list_journals(tenant, 10)).await;
    assert_eq!(eventually(INDEX, list, Vec::is_empty).await, []);
    // The thread begins anew.
    let (again, takes) = booking_begun(&fixture, &conversation, span(&fresh("agenda"), 0, 1));
    let begins = succeed(store.store_begun_effect(&guard(&conversation), &again, &takes, at(0))).await;
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
    assert_found(store, &asked[won[0]].0).await;
    assert_eq!(held(store, &fixture, &calendar).await, asked[won[0]].1);
    assert_eq!(
        succeed(store.delete_journal(&asked[won[0]].0)).await,
        WriteOutcome::Written
    );
}

pub async fn a_removed_tenant_has_no_cells<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, journal) = with_booking(store, &calendar).await;
    let (other, _, _) = with_booking(store, &calendar).await;
    let (tenant, instances) = (&fixture.bound.tenant.id, [fixture.bound.instance.clone()]);
    assert_eq!(
        succeed(store.delete_journal(&journal)).await,
        WriteOutcome::Written
    );
    assert!(succeed(store.delete_tenant_records(tenant, &instances, 100)).await > 0);
    assert_eq!(held(store, &fixture, &calendar).await, []);
    assert_eq!(held(store, &other, &calendar).await.len(), 2);
}
