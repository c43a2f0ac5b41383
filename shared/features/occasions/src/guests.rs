//! Finds the guests of occasions, and makes new ones.

use recado_domain::config::Tenant;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::{GuestId, TenantId};
use recado_domain::invitations::{Guest, GuestStatus, Occasion, PhoneKey};
use recado_domain::moving::MovedPageChange;
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::guests::{
    GuestOutcome, delete_guest_record, find_guest_of_phone, list_guests_of_phone, save_guest,
};
use recado_ports::records::invitations::delete_invitations_of_guest;
use recado_ports::records::occasions;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Versioned;
use std::collections::BTreeSet;

/// Returns the key by which the tenant's guests with this number are found.
pub async fn derive_phone_key(deps: &Deps, tenant: &TenantId, phone: &str) -> PortResult<PhoneKey> {
    Ok(load_identity_key(deps).await?.derive_phone_key(tenant, phone))
}

/// Makes a guest who is pending, under `id`, or under one that is derived from the number.
pub async fn make_guest(
    deps: &Deps,
    (tenant, occasion): (&Tenant, &Occasion),
    id: Option<GuestId>,
    phone: Option<String>,
) -> PortResult<Guest> {
    let phone_key = match &phone {
        Some(phone) => Some(derive_phone_key(deps, &tenant.id, phone).await?),
        None => None,
    };
    let derived = phone_key.as_ref().map(|key| format!("g_{}", key.as_str()));
    let derived = derived.and_then(|text| GuestId::parse(&text).ok());
    let id = id
        .or(derived)
        .ok_or_else(|| PortError::invalid("guest", "a guest without id and number"))?;
    let now = deps.system().now();
    let period = tenant.retention.messages.to_duration();
    Ok(Guest {
        tenant: tenant.id.clone(),
        occasion: occasion.id.clone(),
        id,
        name: None,
        phone,
        phone_key,
        email: None,
        language: None,
        time_zone: None,
        status: GuestStatus::Pending,
        reply: None,
        created_at: now,
        keep_until: occasion.keep_until(tenant.resolve_time_zone(), period, now),
    })
}

/// Returns the guest of the occasion with this number. If there is none, a pending one is stored.
pub async fn find_or_add_guest(
    deps: &Deps,
    (tenant, occasion): (&Tenant, &Occasion),
    phone: &str,
) -> PortResult<Guest> {
    retry_lost_write(PortError::contended("guest"), (), |()| async {
        let guest = make_guest(deps, (tenant, occasion), None, Some(phone.to_owned())).await?;
        let key = guest.phone_key.as_ref();
        let key = key.ok_or_else(|| PortError::invalid("guest", "a guest without number"))?;
        let known = find_guest_of_phone(deps.store(), &tenant.id, key, &occasion.id).await?;
        if let Some(known) = known {
            return Ok(WriteAttempt::Done(known.record));
        }
        let mut new = Versioned::new(guest);
        Ok(match save_guest(deps.store(), &mut new).await? {
            GuestOutcome::Written => WriteAttempt::Done(new.record),
            GuestOutcome::Conflict | GuestOutcome::PhoneTaken(_) => WriteAttempt::Lost(()),
        })
    })
    .await
}

/// Lists the guests of a tenant who have one of the numbers among these addresses.
pub async fn find_guests(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<Vec<Guest>> {
    let numbers = addresses.iter().filter_map(ContactAddress::phone_number);
    let digits: BTreeSet<String> = numbers
        .map(|number| number.trim_start_matches('+').to_owned())
        .collect();
    let mut keys = BTreeSet::new();
    for phone in &digits {
        keys.insert(derive_phone_key(deps, tenant, phone).await?);
    }
    let mut guests = Vec::new();
    for key in &keys {
        guests.extend(list_guests_of_phone(deps.store(), tenant, key).await?);
    }
    Ok(guests)
}

/// Notes that pages about the guest's occasion must be made anew. To be called after the guest was written, so that a page that is
/// made at that time shows the change.
pub async fn mark_pages_changed(deps: &Deps, guest: &Guest) -> PortResult<()> {
    let change = MovedPageChange {
        tenant: guest.tenant.clone(),
        occasion: guest.occasion.clone(),
        at: deps.system().now(),
        expires: guest.keep_until,
    };
    occasions::mark_pages_changed(deps.store(), &change).await
}

/// Deletes a guest with its invitations, and notes that pages about its occasion must be made anew. The guest goes last: after a crash
/// before that, it still leads to the rest.
pub async fn delete_guest(deps: &Deps, guest: &Guest) -> PortResult<()> {
    delete_invitations_of_guest(deps.store(), guest).await?;
    delete_guest_record(deps.store(), guest).await?;
    mark_pages_changed(deps, guest).await
}
