//! The guests of occasions. A phone number is of one guest of an occasion, and leads to the guests with it on all occasions of a tenant.

use super::{check_cursor, prefix_of_occasion};
use crate::ports::{Page, PageRequest, PortResult};
use crate::table::{
    IndexEntry, Key, Partition, Query, Record, SaveOutcome, Table, Versioned, find_by_index, find_many,
    find_with_version, list_all_records, list_records, parse_index_entry, remove_latest_record, save_record,
};
use jiff::Timestamp;
use recado_domain::ids::{GuestId, OccasionId, TenantId};
use recado_domain::invitations::{Guest, PhoneKey};

/// The partition in which a phone number and an occasion lead to their guest.
const BY_PHONE: &str = "guests.by-phone";

/// The number of guests of a phone number that are read at once. One more is looked at, and stores read 100 records in a request.
const GUESTS: usize = 99;

/// The result of writing a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum GuestOutcome {
    /// The guest was written.
    Written,
    /// Another writer changed the guest since it was read: nothing was written.
    Conflict,
    /// Another guest of the occasion has the phone number: nothing was written.
    PhoneTaken(GuestId),
}

impl Record for Guest {
    const KIND: &'static str = "guests";
    const INDEXES: &'static [&'static str] = &[BY_PHONE];

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        sort_of_guest(&self.occasion, &self.id)
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.keep_until)
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let phone = self.phone_key.iter();
        phone
            .map(|phone| IndexEntry::new(key_of_phone(&self.tenant, phone, &self.occasion)))
            .collect()
    }
}

fn sort_of_guest(occasion: &OccasionId, id: &GuestId) -> String {
    format!("{}{id}", prefix_of_occasion(occasion))
}

/// Returns the beginning of the places that lead from a phone number to guests.
fn prefix_of_phone(phone: &PhoneKey) -> String {
    format!("{}#", phone.as_str())
}

fn key_of_phone(tenant: &TenantId, phone: &PhoneKey, occasion: &OccasionId) -> Key {
    let sort = format!("{}{occasion}", prefix_of_phone(phone));
    Key::new(BY_PHONE, Some(tenant), sort)
}

/// Writes a guest if the stored one is that which was read. No other guest of the occasion may have its phone number.
pub async fn save_guest(table: &dyn Table, guest: &mut Versioned<Guest>) -> PortResult<GuestOutcome> {
    Ok(match save_record(table, guest).await? {
        SaveOutcome::Saved => GuestOutcome::Written,
        SaveOutcome::Conflict => GuestOutcome::Conflict,
        SaveOutcome::Taken(_) => {
            let other = find_phone_holder(table, &guest.record).await?;
            // The other guest may have gone meanwhile.
            other.map_or(GuestOutcome::Conflict, GuestOutcome::PhoneTaken)
        }
    })
}

/// Returns the guest of the occasion who has this guest's number.
async fn find_phone_holder(table: &dyn Table, guest: &Guest) -> PortResult<Option<GuestId>> {
    let Some(entry) = guest.list_index_entries().pop() else {
        return Ok(None);
    };
    let Some(found) = table.get(&entry.key).await? else {
        return Ok(None);
    };
    let own = parse_index_entry::<Guest>(&found)?;
    let id = own.sort.strip_prefix(&prefix_of_occasion(&guest.occasion));
    Ok(id.and_then(|id| GuestId::parse(id).ok()))
}

/// Returns a guest of an occasion; `None` if there is none.
pub async fn find_guest(
    table: &dyn Table,
    tenant: &TenantId,
    occasion: &OccasionId,
    id: &GuestId,
) -> PortResult<Option<Versioned<Guest>>> {
    find_with_version(table, Some(tenant), &sort_of_guest(occasion, id)).await
}

/// Returns those of these guests that exist and can be read, in few requests.
pub async fn find_guests_by_id(
    table: &dyn Table,
    tenant: &TenantId,
    occasion: &OccasionId,
    ids: &[GuestId],
) -> PortResult<Vec<Guest>> {
    let sorts: Vec<String> = ids.iter().map(|id| sort_of_guest(occasion, id)).collect();
    find_many(table, Some(tenant), &sorts).await
}

/// Lists the guests of an occasion by their ids. A cursor is the id of a guest.
pub async fn list_guests(
    table: &dyn Table,
    tenant: &TenantId,
    occasion: &OccasionId,
    page: &PageRequest,
) -> PortResult<Page<Guest>> {
    check_cursor(Guest::KIND, page, |text| GuestId::parse(text).is_ok())?;
    let prefix = prefix_of_occasion(occasion);
    let behind = PageRequest {
        limit: page.limit,
        cursor: page.cursor.as_ref().map(|id| format!("{prefix}{id}")),
    };
    let own = Query::new(Partition::new(Guest::KIND, Some(tenant)), page.limit);
    let found = list_records(table, own.with_prefix(&prefix), &behind, |_: &Guest| true).await?;
    let next = found.next_cursor.as_deref();
    Ok(Page {
        next_cursor: next
            .and_then(|next| next.strip_prefix(&prefix))
            .map(str::to_owned),
        items: found.items,
    })
}

/// Returns the guest of an occasion with a phone number; `None` if there is none.
pub async fn find_guest_of_phone(
    table: &dyn Table,
    tenant: &TenantId,
    phone: &PhoneKey,
    occasion: &OccasionId,
) -> PortResult<Option<Versioned<Guest>>> {
    find_by_index(table, &key_of_phone(tenant, phone, occasion)).await
}

/// Lists the guests of a tenant with a phone number, by their occasions.
pub async fn list_guests_of_phone(
    table: &dyn Table,
    tenant: &TenantId,
    phone: &PhoneKey,
) -> PortResult<Vec<Guest>> {
    let all = Query::new(Partition::new(BY_PHONE, Some(tenant)), GUESTS);
    list_all_records(table, all.with_prefix(&prefix_of_phone(phone)), |_| true).await
}

/// Deletes the record of a guest, with what leads to it from its number. A guest that does not exist counts as deleted.
pub async fn delete_guest_record(table: &dyn Table, guest: &Guest) -> PortResult<()> {
    let found = find_guest(table, &guest.tenant, &guest.occasion, &guest.id).await?;
    remove_latest_record(table, found, |_| true).await
}
