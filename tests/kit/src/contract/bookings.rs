//! The list of what is booked.

use super::effects::{begin, booking_begun, end_first, save, span, with_booking};
use super::given::begun;
use crate::builders::{Fixture, fresh};
use crate::ports::succeed;
use recado_domain::effects::{EntryEnd, Journal};
use recado_ports::ports::Store;
use recado_ports::records::effects::{JournalOutcome, list_booked_journals};
use recado_ports::table::Versioned;

pub async fn what_is_booked_is_listed_by_its_tenant_the_soonest_first<S: Store>(store: &S) {
    let (fixture, calendar) = (Fixture::new(), fresh("agenda"));
    let (stranger, _, theirs) = with_booking(store, &fresh("agenda")).await;
    assert!(theirs.record.first_booked_at().is_none(), "it is under way");
    let mut stored: Vec<Versioned<Journal>> = Vec::new();
    for slot in [6, 2, 4] {
        let contact = fixture.other_contact();
        let conversation = begun(store, &contact).await;
        let (mut journal, takes) = booking_begun(&contact, &conversation, span(&calendar, slot, 1));
        let begins = begin(store, &conversation, (&mut journal, &takes)).await;
        assert_eq!(begins, JournalOutcome::Written);
        end_first(store, &mut journal, EntryEnd::Done).await;
        stored.push(journal);
    }
    stored.sort_by_key(|journal| journal.record.first_booked_at());
    let journals: Vec<Journal> = stored.iter().map(|journal| journal.record.clone()).collect();
    let tenant = &fixture.bound.tenant.id;
    assert_eq!(succeed(list_booked_journals(store, tenant, 10)).await, journals);
    let first = succeed(list_booked_journals(store, tenant, 1)).await;
    assert_eq!(first, journals[..1]);
    assert_eq!(
        succeed(list_booked_journals(store, &stranger.bound.tenant.id, 10)).await,
        []
    );
    let event = journals[0].bookings[0].event.clone();
    let change = stored[0].record.drop_booking(&event);
    let saved = save(store, &mut stored[0], &change).await;
    assert_eq!(saved, JournalOutcome::Written);
    let left = succeed(list_booked_journals(store, tenant, 10)).await;
    assert_eq!(left, journals[1..]);
}
