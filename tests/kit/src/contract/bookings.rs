//! The list of what is booked.

use super::effects::{booking_begun, end_first, guard, span, with_booking};
use super::given::begun;
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, fresh};
use crate::ports::succeed;
use recado_domain::effects::{EntryEnd, Journal};
use recado_ports::ports::{JournalOutcome, Store};

pub async fn what_is_booked_is_listed_by_its_tenant_the_soonest_first<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let (stranger, _, theirs) = with_booking(store, &fresh("agenda")).await;
    assert!(theirs.first_booked_at().is_none(), "it is under way");
    let mut journals = Vec::new();
    for slot in [6, 2, 4] {
        let contact = fixture.other_contact();
        let conversation = begun(store, &contact).await;
        let (mut journal, takes) = booking_begun(&contact, &conversation, span(&calendar, slot, 1));
        let begins = succeed(store.store_begun_effect(&guard(&conversation), &journal, &takes, at(0))).await;
        assert_eq!(begins, JournalOutcome::Written);
        end_first(store, &mut journal, EntryEnd::Done).await;
        journals.push(journal);
    }
    journals.sort_by_key(Journal::first_booked_at);
    let tenant = &fixture.bound.tenant.id;
    let list = async || succeed(store.list_booked_journals(tenant, 10)).await;
    assert_eq!(
        eventually(INDEX, list, |found| *found == journals).await,
        journals
    );
    let first = succeed(store.list_booked_journals(tenant, 1)).await;
    assert_eq!(first, journals[..1]);
    assert_eq!(
        succeed(store.list_booked_journals(&stranger.bound.tenant.id, 10)).await,
        []
    );
    let event = journals[0].bookings[0].event.clone();
    let change = journals[0].drop_booking(&event);
    journals[0].rev += 1;
    let saved = succeed(store.save_journal_with_cells(&journals[0], &change, at(5))).await;
    assert_eq!(saved, JournalOutcome::Written);
    let left = &journals[1..];
    assert_eq!(eventually(INDEX, list, |found| found == left).await, left);
}
