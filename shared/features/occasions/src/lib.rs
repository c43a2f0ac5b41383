//! Lists occasions and guests, adds and deletes guests, reads their answers, and plans reminders of occasions.
//!
//! Its types and rules are in [`recado_domain::invitations`].

pub mod forgotten_recipients;
pub mod guest_reply;
pub mod guests;
pub mod occasion_problems;
pub mod occasion_reminders;
pub mod occasion_routes;

use crate::forgotten_recipients::forget_recipients;
use crate::guests::{make_guest, mark_pages_changed};
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::invited_tenant::{TenantChoiceError, choose_tenant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::Tenant;
use recado_domain::counting::count_things;
use recado_domain::email::{AddressError, EmailAddress};
use recado_domain::ids::{GuestId, OccasionId, TenantId};
use recado_domain::invitations::{Guest, GuestListError, GuestRow, GuestStatus, ListedGuest, Occasion};
use recado_domain::provider::AddressFormat;
use recado_domain::recipient::{RecipientError, parse_recipient};
use recado_pipeline::Deps;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult};
use recado_ports::records::guests::{GuestOutcome, find_guest_of_phone, save_guest};
use recado_ports::records::{guests as guest_records, occasions as occasion_records};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Versioned;
use std::collections::BTreeMap;

/// The reason why a request about occasions was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OccasionRequestError {
    /// The request has no tenant.
    #[error(transparent)]
    Tenant(#[from] TenantChoiceError),
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// A store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// The reason why a row of a list of guests was refused.
#[derive(Debug, thiserror::Error)]
pub enum GuestRefusal {
    /// The row cannot be read.
    #[error(transparent)]
    Row(#[from] GuestListError),
    /// The phone number is not one.
    #[error("the phone is no number with its country code, such as +55 11 98888-0000")]
    Phone(#[from] RecipientError),
    /// Nothing identifies the guest.
    #[error("a guest needs an id or a phone")]
    Nobody,
    /// The guest has another phone number.
    #[error("the guest has another phone number, which cannot be changed: add another guest")]
    OtherPhone,
    /// Another guest has the phone number.
    #[error("guest `{0}` has the phone number already")]
    PhoneTaken(GuestId),
    /// The e-mail address is not one.
    #[error(transparent)]
    Email(#[from] AddressError),
    /// The time zone is unknown.
    #[error("the time_zone is none: an IANA name such as America/Sao_Paulo")]
    TimeZone,
    /// The name is too long.
    #[error("the name has more than 200 characters")]
    Name,
}

/// The result of adding guests.
#[derive(Debug, Default)]
pub struct AddedGuests {
    /// Number of new guests.
    pub added: usize,
    /// Number of guests who were known and changed.
    pub changed: usize,
    /// Number of guests who were known as they are.
    pub unchanged: usize,
    /// Rows that were refused: line and reason.
    pub refused: Vec<(usize, GuestRefusal)>,
}

/// The result for one row.
enum AddedGuest {
    Added,
    Changed,
    Unchanged,
}

/// An occasion, and since when pages about it must be made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedOccasion {
    /// The occasion.
    pub occasion: Occasion,
    /// Time since which pages about it must be made anew; `None`: no guest has answered.
    pub pages_changed_at: Option<Timestamp>,
}

/// Lists the occasions of a tenant.
pub async fn list_occasions(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    page: &PageRequest,
) -> Result<Page<ListedOccasion>, OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = occasion_records::list_occasions(deps.store(), &tenant.id, page).await?;
    Ok(Page {
        items: add_page_changes(deps, &tenant.id, found.items).await?,
        next_cursor: found.next_cursor,
    })
}

/// Returns an occasion.
pub async fn find_occasion(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &OccasionId,
) -> Result<ListedOccasion, OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = occasion_records::find_occasion(deps.store(), &tenant.id, id).await?;
    let listed = add_page_changes(deps, &tenant.id, found.into_iter().collect()).await?;
    listed
        .into_iter()
        .next()
        .ok_or(OccasionRequestError::NotFound("occasion"))
}

async fn add_page_changes(
    deps: &Deps,
    tenant: &TenantId,
    occasions: Vec<Occasion>,
) -> PortResult<Vec<ListedOccasion>> {
    let ids: Vec<OccasionId> = occasions.iter().map(|occasion| occasion.id.clone()).collect();
    let changes = occasion_records::list_page_changes(deps.store(), tenant, &ids).await?;
    let changes = changes.into_iter().map(|change| (change.occasion, change.at));
    let changes: BTreeMap<OccasionId, Timestamp> = changes.collect();
    let listed = occasions.into_iter().map(|occasion| ListedOccasion {
        pages_changed_at: changes.get(&occasion.id).copied(),
        occasion,
    });
    Ok(listed.collect())
}

/// Returns a guest of an occasion.
pub async fn find_guest(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    (occasion, guest): (&OccasionId, &GuestId),
) -> Result<Guest, OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    find_stored_guest(deps, &tenant.id, (occasion, guest)).await
}

async fn find_stored_guest(
    deps: &Deps,
    tenant: &TenantId,
    (occasion, guest): (&OccasionId, &GuestId),
) -> Result<Guest, OccasionRequestError> {
    let found = guest_records::find_guest(deps.store(), tenant, occasion, guest).await?;
    let found = found.ok_or(OccasionRequestError::NotFound("guest"))?;
    Ok(found.record)
}

/// Lists the guests of an occasion.
pub async fn list_guests(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    occasion: &OccasionId,
    page: &PageRequest,
) -> Result<Page<Guest>, OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    Ok(guest_records::list_guests(deps.store(), &tenant.id, occasion, page).await?)
}

/// Adds guests to an occasion, each by itself: a row that is refused leaves the others alone, and the same list again changes
/// nothing.
pub async fn add_guests(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    occasion: &OccasionId,
    rows: Vec<ListedGuest>,
) -> Result<AddedGuests, OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let occasion = occasion_records::find_occasion(deps.store(), &tenant.id, occasion).await?;
    let occasion = occasion.ok_or(OccasionRequestError::NotFound("occasion"))?;
    let guests = count_things(rows.len() as u64, "guest");
    let done = AuditAction::ConfigurationChanged.on_object(Some(&tenant.id), "guests", occasion.id.as_str());
    audit_action(deps, caller, done.with_result(guests)).await?;
    let mut result = AddedGuests::default();
    for (line, row) in rows {
        match add_guest(deps, (&tenant, &occasion), row).await {
            Ok(AddedGuest::Added) => result.added += 1,
            Ok(AddedGuest::Changed) => result.changed += 1,
            Ok(AddedGuest::Unchanged) => result.unchanged += 1,
            Err(NotAdded::Refused(refusal)) => result.refused.push((line, refusal)),
            Err(NotAdded::Failed(error)) => return Err(error.into()),
        }
    }
    Ok(result)
}

/// Deletes a guest with its invitations. The messages that invited it belong to their conversation and stay there. This is also how
/// a guest without a phone number is erased, whom nothing but its id names.
pub async fn delete_guest(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    (occasion, guest): (&OccasionId, &GuestId),
) -> Result<(), OccasionRequestError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = find_stored_guest(deps, &tenant.id, (occasion, guest)).await?;
    // Not the guest's id: clients choose it, and it may tell of the person.
    let done = AuditAction::ConfigurationChanged.on_object(Some(&tenant.id), "guests", occasion.as_str());
    audit_action(deps, caller, done.with_result("1 guest deleted")).await?;
    forget_recipients(deps, &tenant.id, std::slice::from_ref(&found)).await?;
    crate::guests::delete_guest(deps, &found).await?;
    if found.phone.is_none() {
        // No erasure of a contact follows.
        deps.store().overwrite_deleted().await?;
    }
    Ok(())
}

/// Checks a row, and brings its phone number into digits.
fn check_row(mut row: GuestRow) -> Result<GuestRow, GuestRefusal> {
    if let Some(phone) = &row.phone {
        let address = parse_recipient(AddressFormat::Numbers, phone)?;
        let number = address.phone_number().ok_or(RecipientError::Number)?;
        row.phone = Some(number.trim_start_matches('+').to_owned());
    }
    if let Some(email) = &row.email {
        row.email = Some(EmailAddress::parse(email)?.as_str().to_owned());
    }
    if row.name.as_ref().is_some_and(|name| name.chars().count() > 200) {
        return Err(GuestRefusal::Name);
    }
    if row
        .time_zone
        .as_deref()
        .is_some_and(|zone| TimeZone::get(zone).is_err())
    {
        return Err(GuestRefusal::TimeZone);
    }
    if row.id.is_none() && row.phone.is_none() {
        return Err(GuestRefusal::Nobody);
    }
    Ok(row)
}

/// The reason why a guest was not added.
#[derive(Debug, thiserror::Error)]
enum NotAdded {
    #[error(transparent)]
    Refused(#[from] GuestRefusal),
    #[error(transparent)]
    Failed(#[from] PortError),
}

/// Adds a guest, or changes the one with the same id, or else with the same number.
async fn add_guest(
    deps: &Deps,
    of: (&Tenant, &Occasion),
    row: Result<GuestRow, GuestListError>,
) -> Result<AddedGuest, NotAdded> {
    let row = row.map_err(GuestRefusal::from).and_then(check_row)?;
    retry_lost_write(PortError::contended("guest"), (), |()| async {
        let mut new = make_guest(deps, of, row.id.clone(), row.phone.clone()).await?;
        let known = find_known(deps, &new, row.id.is_some()).await?;
        let status_before = known
            .as_ref()
            .map_or(GuestStatus::Pending, |known| known.record.status);
        let (mut guest, added) = match known {
            None => {
                new.fill_in_row(&row);
                (Versioned::new(new), AddedGuest::Added)
            }
            Some(known) if row.phone.is_some() && known.record.phone_key != new.phone_key => {
                return Err(GuestRefusal::OtherPhone.into());
            }
            Some(mut known) => {
                if !known.record.apply_row(&row, new.keep_until) {
                    return Ok(WriteAttempt::Done(AddedGuest::Unchanged));
                }
                (known, AddedGuest::Changed)
            }
        };
        match save_guest(deps.store(), &mut guest).await? {
            GuestOutcome::Written => {
                if status_before != guest.record.status {
                    mark_pages_changed(deps, &guest.record).await?;
                }
                Ok(WriteAttempt::Done(added))
            }
            GuestOutcome::PhoneTaken(other) => Err(GuestRefusal::PhoneTaken(other).into()),
            GuestOutcome::Conflict => Ok(WriteAttempt::Lost(())),
        }
    })
    .await
}

/// Returns the stored guest with the id of `new`, or, where no id was given, with its number.
async fn find_known(deps: &Deps, new: &Guest, has_id: bool) -> PortResult<Option<Versioned<Guest>>> {
    let (store, tenant, occasion) = (deps.store(), &new.tenant, &new.occasion);
    match &new.phone_key {
        Some(phone) if !has_id => find_guest_of_phone(store, tenant, phone, occasion).await,
        _ => guest_records::find_guest(store, tenant, occasion, &new.id).await,
    }
}
