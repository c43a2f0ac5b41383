//! The keys of invitations and batches. Those of a tenant are in one partition, but for its invitations, which are in one for each
//! month.

use super::super::item::{Item, get_string};
use super::TableKey;
use jiff::tz::TimeZone;
use recado_domain::Timestamp;
use recado_domain::ids::{BatchId, GuestId, InvitationId, OccasionId, TenantId, hash_parts};
use recado_domain::invitations::{Invitation, parse_invitation_time};

/// The kind of invitations whose e-mails are to be sent, among open records.
pub(crate) const OPEN_EMAIL: char = 'M';

/// The first month in which an invitation can have been made.
const FIRST_MONTH: (i16, i8) = (2026, 1);

/// The beginning of all ids of invitations.
pub(crate) const INVITATION_PREFIX: &str = "inv_";

/// Follows each key with a given beginning, and comes before all longer ones: no id has a character below it.
const AFTER: char = '\u{1}';

impl TableKey {
    /// Returns the key of a claim of an invitation.
    pub(crate) fn for_invitation_claim(tenant: &TenantId, key: &str) -> Self {
        Self::new(invitations_pk(tenant), format!("K#{key}"))
    }

    /// Returns the key of a batch of invitations.
    pub(crate) fn for_batch(tenant: &TenantId, id: &BatchId) -> Self {
        Self::new(invitations_pk(tenant), format!("{BATCH_PREFIX}{id}"))
    }

    /// Returns the key of a chunk of recipients of a batch.
    pub(crate) fn for_batch_chunk(tenant: &TenantId, batch: &BatchId, number: usize) -> Self {
        let prefix = batch_chunk_prefix(batch);
        Self::new(invitations_pk(tenant), format!("{prefix}{number:06}"))
    }

    /// Returns the key of an invitation; `None` if nobody wrote such an id.
    pub(crate) fn for_invitation(tenant: &TenantId, id: &InvitationId) -> Option<Self> {
        let month = month_of(parse_invitation_time(id)?);
        Some(Self::new(month_pk(tenant, month), id.as_str()))
    }

    /// Returns the key of the record that leads from a carrier's id of an e-mail to its invitation.
    pub(crate) fn for_emailed_invitation(tenant: &TenantId, carrier_id: &str) -> Self {
        let hash = hash_parts(&["carrier", carrier_id], 16);
        Self::new(invitations_pk(tenant), format!("E#{hash}"))
    }

    /// Returns the key of the record that leads from a guest to an invitation.
    pub(crate) fn for_guest_invitation(invitation: &Invitation) -> Self {
        let (occasion, guest, id) = (&invitation.occasion, &invitation.guest, &invitation.id);
        Self::new(
            invitations_pk(&invitation.tenant),
            format!("H#{occasion}#{guest}#{id}"),
        )
    }
}

/// Returns the `pk` of a tenant's batches, of claims, and of what leads to its invitations.
pub(crate) fn invitations_pk(tenant: &TenantId) -> String {
    format!("V#{tenant}")
}

/// Returns the `pk` of a tenant's invitations of a month.
pub(crate) fn month_pk(tenant: &TenantId, (year, month): (i16, i8)) -> String {
    format!("V#{tenant}#{year:04}-{month:02}")
}

fn month_of(at: Timestamp) -> (i16, i8) {
    let day = at.to_zoned(TimeZone::UTC);
    (day.year(), day.month())
}

/// Lists the `pk` of a tenant's invitations of each month until `now`.
pub(crate) fn list_month_pks(tenant: &TenantId, now: Timestamp) -> Vec<String> {
    let (mut month, last) = (FIRST_MONTH, month_of(now));
    let mut keys = Vec::new();
    while month <= last {
        keys.push(month_pk(tenant, month));
        month = if month.1 == 12 {
            (month.0 + 1, 1)
        } else {
            (month.0, month.1 + 1)
        };
    }
    keys
}

/// The kind of batches of invitations among open records.
pub(crate) const BATCH: char = 'V';

/// The prefix of the `sk` of batches.
pub(crate) const BATCH_PREFIX: &str = "B#";

/// Returns the prefix of the `sk` of a batch's chunks.
pub(crate) fn batch_chunk_prefix(batch: &BatchId) -> String {
    format!("R#{batch}#")
}

/// Returns the tenant and the batch that a key of [`TableKey::for_batch`] names.
pub(crate) fn parse_batch_key(item: &Item) -> Option<(TenantId, BatchId)> {
    let tenant = get_string(item, "pk")?.strip_prefix("V#")?;
    let batch = get_string(item, "sk")?.strip_prefix(BATCH_PREFIX)?;
    Some((TenantId::parse(tenant).ok()?, BatchId::parse(batch).ok()?))
}

/// Returns the prefix of the `sk` that lead to the invitations of an occasion, of all guests or of one.
pub(crate) fn guest_invitation_prefix(occasion: &OccasionId, guest: Option<&GuestId>) -> String {
    guest.map_or_else(
        || format!("H#{occasion}#"),
        |guest| format!("H#{occasion}#{guest}#"),
    )
}

/// Returns the first and the last `sk` with a prefix behind that of `cursor`.
pub(crate) fn sk_range(prefix: &str, list: &str, cursor: Option<&str>) -> (String, String) {
    let first = cursor.map_or_else(|| prefix.to_owned(), |cursor| format!("{list}{cursor}{AFTER}"));
    (first, format!("{prefix}\u{10ffff}"))
}

/// Returns `true` for the `sk` of an invitation.
pub(crate) fn is_invitation_sk(sk: &str) -> bool {
    InvitationId::parse(sk).is_ok_and(|id| parse_invitation_time(&id).is_some())
}

/// Returns the tenant and the invitation of a key of [`TableKey::for_invitation`].
pub(crate) fn parse_invitation_key(item: &Item) -> Option<(TenantId, InvitationId)> {
    let (tenant, _month) = get_string(item, "pk")?.strip_prefix("V#")?.rsplit_once('#')?;
    let id = InvitationId::parse(get_string(item, "sk")?).ok()?;
    Some((TenantId::parse(tenant).ok()?, id))
}

/// Returns the guest and the invitation that a key of [`TableKey::for_guest_invitation`] names.
pub(crate) fn parse_guest_invitation(item: &Item) -> Option<(GuestId, InvitationId)> {
    let mut parts = get_string(item, "sk")?.rsplit('#');
    let (id, guest) = (parts.next()?, parts.next()?);
    Some((GuestId::parse(guest).ok()?, InvitationId::parse(id).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_months_of_a_tenant_are_listed_to_the_present_one() {
        let tenant = TenantId::parse("t").unwrap();
        let months = list_month_pks(&tenant, "2027-02-10T00:00:00Z".parse().unwrap());
        assert_eq!(months.len(), 14);
        assert_eq!(months.first().map(String::as_str), Some("V#t#2026-01"));
        assert_eq!(months.last().map(String::as_str), Some("V#t#2027-02"));
    }
}
