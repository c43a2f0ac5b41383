//! The cells of calendars that events hold.

use super::effects::{
    ask_until_known, assert_found, begin, booking_begun, end_first, find_stored, guard, held, save, span,
    span_from, with_booking,
};
use super::given::begun;
use crate::builders::{Fixture, at, fresh, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::effects::{EntryEnd, JournalChange};
use recado_ports::ports::Store;
use recado_ports::records::effects::{JournalOutcome, free_held_cells, list_held_cells};
use recado_ports::table::remove_record;

pub async fn a_cell_of_another_event_is_taken_and_nothing_is_written<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, journal) = with_booking(store, &calendar).await;
    let mut other = Fixture::new();
    other.bound.tenant = fixture.bound.tenant.clone();
    let conversation = begun(store, &other).await;
    let (mut second, takes) = booking_begun(&other, &conversation, span(&calendar, 1, 2));
    let begins = begin(store, &conversation, (&mut second, &takes)).await;
    assert_eq!(begins, JournalOutcome::CellTaken);
    assert_eq!(find_stored(store, &second).await, None);
    assert_eq!(
        held(store, &fixture, &calendar).await,
        journal.record.held_cells()
    );
    // Another tenant's calendar of the same name is another one.
    let stranger = Fixture::new();
    let theirs = begun(store, &stranger).await;
    let (mut third, takes) = booking_begun(&stranger, &theirs, span(&calendar, 0, 2));
    let begins = begin(store, &theirs, (&mut third, &takes)).await;
    assert_eq!(begins, JournalOutcome::Written);
}

pub async fn a_cell_whose_event_is_over_is_free_without_being_given_back<S: Store>(store: &S) {
    let (first, calendar) = (Fixture::new(), fresh("agenda"));
    let over = span_from(long_ago(), &calendar, 0, 2);
    for contact in [&first, &first.other_contact()] {
        let conversation = begun(store, contact).await;
        let (mut journal, takes) = booking_begun(contact, &conversation, over.clone());
        let begins = begin(store, &conversation, (&mut journal, &takes)).await;
        assert_eq!(begins, JournalOutcome::Written);
        let listed = list_held_cells(store, &first.bound.tenant.id, &over);
        assert_eq!(succeed(listed).await, []);
    }
}

pub async fn an_event_takes_its_own_cells_again<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, mut journal) = with_booking(store, &calendar).await;
    let change = JournalChange {
        takes: span(&calendar, 0, 3).hold_cells_for(&journal.record.entries[0].id),
        frees: Vec::new(),
    };
    let saved = save(store, &mut journal, &change).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_found(store, &journal).await;
    assert_eq!(held(store, &fixture, &calendar).await, change.takes);
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

pub async fn cells_are_freed_with_the_end_but_not_those_of_others<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, mut journal) = with_booking(store, &calendar).await;
    let mut other = Fixture::new();
    other.bound.tenant = fixture.bound.tenant.clone();
    let conversation = begun(store, &other).await;
    // The second cell was given up, and another event took it.
    let tenant = &fixture.bound.tenant.id;
    succeed(free_held_cells(store, tenant, &journal.record.held_cells()[1..])).await;
    let (mut second, takes) = booking_begun(&other, &conversation, span(&calendar, 1, 1));
    let begins = begin(store, &conversation, (&mut second, &takes)).await;
    assert_eq!(begins, JournalOutcome::Written);
    let change = end_first(store, &mut journal, EntryEnd::Failed { fence: false }).await;
    assert_eq!(change.frees.len(), 2);
    assert_found(store, &journal).await;
    assert_eq!(held(store, &fixture, &calendar).await, takes);
    for _ in 0..2 {
        succeed(free_held_cells(store, tenant, &change.frees)).await;
        assert_eq!(held(store, &fixture, &calendar).await, takes);
    }
    succeed(free_held_cells(store, tenant, &takes)).await;
    assert_eq!(held(store, &fixture, &calendar).await, []);
}

pub async fn a_move_takes_and_frees_eighty_cells_at_once<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let conversation = begun(store, &fixture).await;
    let (mut journal, takes) = booking_begun(&fixture, &conversation, span(&calendar, 0, 40));
    let begins = begin(store, &conversation, (&mut journal, &takes)).await;
    assert_eq!(begins, JournalOutcome::Written);
    end_first(store, &mut journal, EntryEnd::Done).await;
    let event = journal.record.bookings[0].event.clone();
    let change = journal
        .record
        .follow_booking(&event, span(&calendar, 40, 40), &[], at(2_000));
    assert_eq!((change.takes.len(), change.frees.len()), (40, 40));
    let saved = save(store, &mut journal, &change).await;
    assert_eq!(saved, JournalOutcome::Written);
    assert_eq!(held(store, &fixture, &calendar).await, []);
    let both = span(&calendar, 0, 80);
    let found = list_held_cells(store, &fixture.bound.tenant.id, &both);
    assert_eq!(succeed(found).await, change.takes);
}

pub async fn a_removed_tenant_has_no_cells<S: Store>(store: &S) {
    let calendar = fresh("agenda");
    let (fixture, _, journal) = with_booking(store, &calendar).await;
    let (other, _, _) = with_booking(store, &calendar).await;
    let (tenant, instances) = (&fixture.bound.tenant.id, [fixture.bound.instance.clone()]);
    assert!(succeed(remove_record(store, &journal)).await);
    assert!(succeed(store.delete_tenant_records(tenant, &instances, 100)).await > 0);
    assert_eq!(held(store, &fixture, &calendar).await, []);
    assert_eq!(held(store, &other, &calendar).await.len(), 2);
}
