//! Makes the invitations of a piece of a batch. Guests, opt-outs and earlier invitations are read for the whole piece, most invitations are
//! stored together with their messages, and the send jobs of all are enqueued together.

use crate::direct::{MadeInvitation, commit_directly, made_of, status_of, store_refusal};
use crate::request_of;
use futures::stream::{self, StreamExt};
use jiff::tz::TimeZone;
use recado_delivery_rules::delivery_permission::DeliveryPermission;
use recado_delivery_rules::invitation_permission::judge_uncapped;
use recado_domain::access::Caller;
use recado_domain::ids::{GuestId, InvitationId};
use recado_domain::invitations::{Batch, BatchChunk, Guest, Invitation, InvitationStatus, RecipientStatus};
use recado_invitations::dispatch::resume;
use recado_invitations::preparation::{
    InvitationContext, begin_invitation, find_zone, prepare_for_guest, write_for_guest,
};
use recado_invitations::{InvitationError, send_ready};
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::{OutboundEntry, PortError, PortResult};
use recado_ports::records::guests::find_guests_by_id;
use recado_ports::records::invitations::read_invitations;
use recado_ports::table::Versioned;
use recado_sends::DeliverError;
use std::collections::{BTreeSet, HashMap};

/// Number of invitations that are made side by side.
const AT_ONCE: usize = 8;

/// The statuses of recipients, by their places in their chunk.
pub(super) type MadeInvitations = Vec<(usize, RecipientStatus)>;

/// A recipient whose invitation is to be made.
struct NewRecipient {
    place: usize,
    guest: GuestId,
    id: InvitationId,
    /// The invitation, if a crash left it.
    known: Option<Versioned<Invitation>>,
    /// The guest's record, if there is one.
    named: Option<Guest>,
}

/// Makes the invitations of a piece. Those that a crash left are found and gone on with.
pub(super) async fn make_invitations(
    deps: &Deps,
    caller: &Caller,
    (batch, context): (&Batch, &InvitationContext),
    chunk: &BatchChunk,
    piece: std::ops::Range<usize>,
) -> PortResult<MadeInvitations> {
    let recipients = read_recipients(deps, batch, chunk, piece).await?;
    let granted = list_granted(deps, context, &recipients).await?;
    let made: Vec<PortResult<(usize, MadeInvitation)>> = stream::iter(recipients)
        .map(|recipient| {
            let (place, is_granted) = (recipient.place, granted.contains(&recipient.guest));
            async move {
                let made = invite_recipient(deps, caller, (batch, context), recipient, is_granted);
                // The others of the batch must not wait for a recipient whose records cannot be read.
                let made = pass_over_unreadable(Box::pin(made).await.map(Some))?;
                let failed = || RecipientStatus::from(InvitationStatus::Failed).into();
                Ok((place, made.unwrap_or_else(failed)))
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    // Those that were made are to leave, whatever became of the others.
    let is_made = made.iter().flatten();
    let sends: Vec<OutboundEntry> = is_made.filter_map(|(_, one)| one.send.clone()).collect();
    if !sends.is_empty() {
        deps.queues().enqueue_outbound(&sends).await?;
    }
    made.into_iter()
        .map(|one| one.map(|(place, made)| (place, made.status)))
        .collect()
}

/// Reads the recipients of a piece who wait.
async fn read_recipients(
    deps: &Deps,
    batch: &Batch,
    chunk: &BatchChunk,
    piece: std::ops::Range<usize>,
) -> PortResult<Vec<NewRecipient>> {
    let waiting: Vec<(usize, GuestId)> = chunk.recipients[piece.clone()]
        .iter()
        .zip(piece)
        .filter(|(recipient, _)| recipient.status == RecipientStatus::Waiting)
        .filter_map(|(recipient, place)| Some((place, recipient.guest.clone()?)))
        .collect();
    let guests: Vec<GuestId> = waiting.iter().map(|(_, guest)| guest.clone()).collect();
    let ids: Vec<InvitationId> = guests
        .iter()
        .map(|guest| batch.derive_invitation_id(guest))
        .collect();
    let (store, tenant) = (deps.store(), &batch.tenant);
    let known = read_invitations(store, tenant, &ids).await?.into_iter();
    let mut known: HashMap<InvitationId, Versioned<Invitation>> =
        known.map(|one| (one.record.id.clone(), one)).collect();
    let found = find_guests_by_id(store, tenant, &batch.occasion, &guests).await?;
    let found = found.into_iter().map(|guest| (guest.id.clone(), guest));
    let mut found: HashMap<GuestId, Guest> = found.collect();
    let recipients = waiting.into_iter().zip(ids);
    Ok(recipients
        .map(|((place, guest), id)| NewRecipient {
            place,
            known: known.remove(&id),
            named: found.remove(&guest),
            guest,
            id,
        })
        .collect())
}

/// Lists the guests to whom an invitation may leave at once. Where the tenant has a frequency cap, nobody is listed: an invitation must be
/// stored before its guest's earlier ones are counted. The same where the provider takes texts only from those who wrote.
async fn list_granted(
    deps: &Deps,
    context: &InvitationContext,
    recipients: &[NewRecipient],
) -> PortResult<BTreeSet<GuestId>> {
    let asks_window = capabilities(deps, &context.bound).has_service_window && context.sends_texts();
    if context.tenant.deliveries.frequency_cap.is_some() || asks_window {
        return Ok(BTreeSet::new());
    }
    let new = recipients.iter().filter(|recipient| recipient.known.is_none());
    let guests: Vec<(&Guest, TimeZone)> = new
        .filter_map(|recipient| recipient.named.as_ref())
        .map(|guest| (guest, find_zone(context, guest)))
        .collect();
    if guests.is_empty() {
        return Ok(BTreeSet::new());
    }
    let judged = judge_uncapped(deps, &context.tenant, &guests).await?;
    let granted = guests
        .iter()
        .zip(judged)
        .filter(|(_, permission)| *permission == DeliveryPermission::Granted);
    Ok(granted.map(|((guest, _), _)| guest.id.clone()).collect())
}

async fn invite_recipient(
    deps: &Deps,
    caller: &Caller,
    (batch, context): (&Batch, &InvitationContext),
    recipient: NewRecipient,
    is_granted: bool,
) -> PortResult<MadeInvitation> {
    let NewRecipient {
        guest,
        id,
        known,
        named,
        ..
    } = recipient;
    if let Some(status) = known.as_ref().and_then(|known| status_of(&known.record)) {
        return Ok(status.into());
    }
    let request = request_of(batch, Some(&guest))?;
    let ready = match named {
        Some(named) if is_granted => {
            write_for_guest(deps, context, request.clone(), (named, false), id.clone()).await
        }
        Some(named) => prepare_for_guest(deps, context, request.clone(), (named, false), id.clone()).await,
        None => Err(InvitationError::NotFound("guest")),
    };
    let sent = match ready {
        Ok(mut ready) => {
            ready.join_batch(batch, deps.system().now());
            match known {
                // A crash left it without its message.
                Some(known) => resume(deps, caller, &ready, known)
                    .await
                    .map(|known| made_of(&known)),
                None if is_granted => commit_directly(deps, caller, &ready).await,
                None => {
                    let sent = send_ready(deps, caller, &ready, None).await;
                    sent.map(|accepted| made_of(&accepted.invitation))
                }
            }
        }
        Err(InvitationError::Port(error)) => return Err(error),
        Err(error) => {
            let new = || Versioned::new(begin_invitation(deps, context, &request, &guest, id));
            return store_refusal(deps, known.unwrap_or_else(new), &error).await;
        }
    };
    match sent {
        Ok(made) => Ok(made),
        Err(InvitationError::Port(error) | InvitationError::Deliver(DeliverError::Port(error))) => Err(error),
        Err(InvitationError::Deliver(DeliverError::Busy)) => Err(PortError::contended("conversation")),
        Err(_) => Ok(RecipientStatus::Refused.into()),
    }
}
