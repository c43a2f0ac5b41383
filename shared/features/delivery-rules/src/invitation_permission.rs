//! Tells whether an invitation may leave: what its guest said of messages that nobody asked for, and the rules of its tenant.

use crate::delivery_permission::{DeliveryPermission, DeliveryRecipient, judge_deliveries, judge_delivery};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recado_domain::config::Tenant;
use recado_domain::email::EmailAddress;
use recado_domain::ids::{BatchId, InvitationId};
use recado_domain::invitations::{BatchState, Guest, Invitation, ScheduledInvitation};
use recado_domain::opt_out::RecipientAddress;
use recado_domain::reason::Reason;
use recado_occasions::occasion_reminders::find_planned;
use recado_pipeline::Deps;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::batches::find_batch;
use recado_ports::records::guests::{find_guest, list_guests_of_phone};
use recado_ports::records::invitations::list_invitations;
use recado_ports::records::occasions::find_occasion;

/// Number of invitations that are read at once.
const PAGE: usize = 100;

/// Finds the time zone in which a guest's quiet hours are: its own, else the occasion's, else the tenant's. The occasion is read only
/// if the answer depends on it.
pub async fn find_guest_zone(deps: &Deps, tenant: &Tenant, guest: &Guest) -> PortResult<TimeZone> {
    let of_tenant = tenant.resolve_time_zone();
    if let Some(own) = guest.find_time_zone() {
        return Ok(own);
    }
    if tenant.deliveries.quiet_hours.is_none() {
        return Ok(of_tenant);
    }
    let occasion = find_occasion(deps.store(), &tenant.id, &guest.occasion).await?;
    Ok(match occasion {
        Some(occasion) => occasion.resolve_time_zone(of_tenant),
        None => of_tenant,
    })
}

fn parse_email(guest: &Guest) -> Option<EmailAddress> {
    let email = guest.email.as_deref();
    email.and_then(|text| EmailAddress::parse(text).ok())
}

/// Lists the addresses of a guest, of every channel.
fn list_addresses<'a>(guest: &'a Guest, email: Option<&'a EmailAddress>) -> Vec<RecipientAddress<'a>> {
    let by_number = guest.phone.as_deref().map(RecipientAddress::WhatsApp);
    by_number
        .into_iter()
        .chain(email.map(RecipientAddress::Email))
        .collect()
}

/// Tells whether invitations to guests, each in its time zone, may leave now, in their order. The tenant has no frequency cap.
pub async fn judge_uncapped(
    deps: &Deps,
    tenant: &Tenant,
    guests: &[(&Guest, TimeZone)],
) -> PortResult<Vec<DeliveryPermission>> {
    let emails: Vec<Option<EmailAddress>> = guests.iter().map(|(guest, _)| parse_email(guest)).collect();
    let addresses: Vec<Vec<RecipientAddress<'_>>> = guests
        .iter()
        .zip(&emails)
        .map(|((guest, _), email)| list_addresses(guest, email.as_ref()))
        .collect();
    let recipients: Vec<DeliveryRecipient<'_>> = guests
        .iter()
        .zip(&addresses)
        .map(|((_, zone), addresses)| DeliveryRecipient {
            tenant: &tenant.id,
            addresses,
            earlier: &[],
            zone,
        })
        .collect();
    judge_deliveries(deps, &tenant.id, &recipients, &tenant.deliveries).await
}

/// Tells whether the stored invitation `own` to a guest, who lives in `zone`, may leave now. Earlier invitations count for the frequency cap, by their
/// ids: of two at the same time, one counts the other.
pub async fn judge_invitation(
    deps: &Deps,
    tenant: &Tenant,
    (guest, zone): (&Guest, &TimeZone),
    own: &InvitationId,
) -> PortResult<DeliveryPermission> {
    let email = parse_email(guest);
    let addresses = list_addresses(guest, email.as_ref());
    let earlier = if tenant.deliveries.frequency_cap.is_some() {
        list_earlier_times(deps, guest, own).await?
    } else {
        Vec::new()
    };
    let recipient = DeliveryRecipient {
        tenant: &tenant.id,
        addresses: &addresses,
        earlier: &earlier,
        zone,
    };
    judge_delivery(deps, &recipient, &tenant.deliveries).await
}

/// Tells whether an invitation may leave that became a message, or is to become one.
pub async fn judge_stored_invitation(
    deps: &Deps,
    tenant: &Tenant,
    invitation: &ScheduledInvitation,
) -> PortResult<DeliveryPermission> {
    let (occasion, guest) = (&invitation.occasion, &invitation.guest);
    match find_guest(deps.store(), &tenant.id, occasion, guest).await? {
        Some(found) => {
            let guest = found.record;
            let zone = find_guest_zone(deps, tenant, &guest).await?;
            judge_invitation(deps, tenant, (&guest, &zone), &invitation.id).await
        }
        // The guest was erased, or is kept no longer.
        None => Ok(DeliveryPermission::OptedOut),
    }
}

/// Lists the times of a person's earlier invitations: to all occasions of the tenant, if the guest has a phone number.
async fn list_earlier_times(deps: &Deps, guest: &Guest, own: &InvitationId) -> PortResult<Vec<Timestamp>> {
    let mut person = match &guest.phone_key {
        Some(phone) => list_guests_of_phone(deps.store(), &guest.tenant, phone).await?,
        None => Vec::new(),
    };
    if person.is_empty() {
        person.push(guest.clone());
    }
    let mut times = Vec::new();
    for one in &person {
        let mut next = Some(PageRequest::first(PAGE));
        while let Some(page) = next {
            let theirs = list_invitations(deps.store(), &one.tenant, &one.occasion, Some(&one.id), &page);
            let found = theirs.await?;
            let earlier = found.items.iter().filter(|invitation| invitation.id < *own);
            times.extend(earlier.filter_map(Invitation::counted_at));
            next = page.follow(found.next_cursor);
        }
    }
    Ok(times)
}

/// The answer for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptPermission {
    /// It may be made now.
    Granted,
    /// It may be made at this time, and is asked for again then.
    NotBefore(Timestamp),
    /// Its batch is paused.
    Paused,
    /// It is not to be made any more, for this reason.
    Ended(Reason),
}

/// Tells whether an attempt may be made now. `batch` is the message's, if it has one, and `invitation` what it is.
pub async fn judge_attempt(
    deps: &Deps,
    tenant: &Tenant,
    batch: Option<&BatchId>,
    invitation: Option<&ScheduledInvitation>,
) -> PortResult<AttemptPermission> {
    if let Some(id) = batch {
        let of_batch = judge_batch(deps, tenant, id).await?;
        if of_batch != AttemptPermission::Granted {
            return Ok(of_batch);
        }
    }
    let Some(invitation) = invitation else {
        return Ok(AttemptPermission::Granted);
    };
    let judged = judge_stored_invitation(deps, tenant, invitation).await?;
    Ok(match judged {
        DeliveryPermission::Granted => AttemptPermission::Granted,
        DeliveryPermission::NotBefore(at) => AttemptPermission::NotBefore(at),
        DeliveryPermission::OptedOut => AttemptPermission::Ended(Reason::OptedOut),
    })
}

/// Tells whether messages of a batch may leave. The occasion of a reminder is read, too: a crash may have left the batch of one that the
/// occasion no longer has.
async fn judge_batch(deps: &Deps, tenant: &Tenant, id: &BatchId) -> PortResult<AttemptPermission> {
    let Some(found) = find_batch(deps.store(), &tenant.id, id).await? else {
        return Ok(AttemptPermission::Granted);
    };
    let batch = found.record;
    match batch.state {
        BatchState::Cancelled => return Ok(AttemptPermission::Ended(Reason::BatchCancelled)),
        BatchState::Paused => return Ok(AttemptPermission::Paused),
        BatchState::Preparing | BatchState::Scheduled | BatchState::Running | BatchState::Finished => {}
    }
    let Some(reminder) = &batch.reminder else {
        return Ok(AttemptPermission::Granted);
    };
    let now = deps.system().now();
    if now >= reminder.begins_at {
        return Ok(AttemptPermission::Ended(Reason::Expired));
    }
    let occasion = find_occasion(deps.store(), &tenant.id, &batch.occasion).await?;
    let is_planned = occasion.is_some_and(|occasion| find_planned(tenant, &occasion, &batch, now).is_some());
    Ok(if is_planned {
        AttemptPermission::Granted
    } else {
        AttemptPermission::Ended(Reason::BatchCancelled)
    })
}
