//! Lists the recipients of a batch, with what became of each.

use super::super::InvitationError;
use super::super::lookup::view_listed_invitation;
use super::progress::{CHUNKS_AT_ONCE, READS_AT_ONCE, RecipientLook, refresh_if_stale};
use crate::steps::invited_tenant::choose_tenant;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::access::Caller;
use recado_domain::ids::{BatchId, GuestId, InvitationId, TenantId};
use recado_domain::invitations::{BATCH_CHUNK, Batch, Invitation, RecipientStatus};
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest, PortResult};
use recado_ports::records::batches::{find_batch, find_batch_chunk};
use recado_ports::records::invitations::read_invitations;
use std::collections::HashMap;

/// A recipient of a batch, as a list of them shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRecipient {
    /// The guest and the id of its invitation; `None` once the contact was erased.
    pub invited: Option<(GuestId, InvitationId)>,
    /// The status.
    pub status: RecipientStatus,
    /// Why it failed or was refused, or that the guest may have a cancelled one, without personal data.
    pub failure: Option<String>,
}

/// Lists the recipients of a batch in their order. If statuses are named, only those with one of them are listed. A page ends after
/// some chunks: it may be empty, and the next may not.
pub async fn list_batch_recipients(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    (id, wanted): (&BatchId, &[RecipientStatus]),
    page: &PageRequest,
) -> Result<Page<ListedRecipient>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = find_batch(deps.store(), &tenant.id, id).await?;
    let batch = found.ok_or(InvitationError::NotFound("batch"))?.record;
    let first = page.cursor.as_deref().map_or(Ok(0), str::parse::<usize>);
    let mut place = first.map_err(|_| InvitationError::Cursor)?;
    let mut items = Vec::new();
    for _ in 0..CHUNKS_AT_ONCE {
        if place >= batch.recipients || items.len() >= page.limit {
            break;
        }
        let number = place / BATCH_CHUNK;
        let chunk = find_batch_chunk(deps.store(), &tenant.id, id, number).await?;
        let Some(mut chunk) = chunk else { break };
        refresh_if_stale(deps, caller, &batch, &mut chunk, RecipientLook::Changing).await?;
        for recipient in chunk.record.recipients.iter().skip(place % BATCH_CHUNK) {
            if items.len() >= page.limit {
                break;
            }
            place += 1;
            let status = recipient.status.within(batch.state);
            if wanted.is_empty() || wanted.contains(&status) {
                items.push((recipient.guest.clone(), status));
            }
        }
    }
    Ok(Page {
        items: add_failures(deps, caller, &batch, items).await?,
        next_cursor: (place < batch.recipients).then(|| place.to_string()),
    })
}

/// Adds why deliveries failed.
async fn add_failures(
    deps: &Deps,
    caller: &Caller,
    batch: &Batch,
    items: Vec<(Option<GuestId>, RecipientStatus)>,
) -> PortResult<Vec<ListedRecipient>> {
    let mut listed: Vec<ListedRecipient> = items
        .into_iter()
        .map(|(guest, status)| ListedRecipient {
            invited: guest.map(|guest| (guest.clone(), batch.derive_invitation_id(&guest))),
            status,
            failure: None,
        })
        .collect();
    let told = |one: &&ListedRecipient| one.status.has_failed() || one.status.is_cancelled();
    let ids: Vec<InvitationId> = listed
        .iter()
        .filter(told)
        .filter_map(|one| Some(one.invited.as_ref()?.1.clone()))
        .collect();
    let read = read_invitations(deps.store(), &batch.tenant, &ids).await?;
    let failures: Vec<(InvitationId, Option<String>)> = stream::iter(read)
        .map(|found| async move {
            let id = found.record.id.clone();
            PortResult::Ok((id, read_failure(deps, caller, found.record).await?))
        })
        .buffer_unordered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let mut failures: HashMap<InvitationId, Option<String>> = failures.into_iter().collect();
    for one in &mut listed {
        let told = one.invited.as_ref().and_then(|(_, id)| failures.remove(id));
        one.failure = told.flatten();
    }
    Ok(listed)
}

/// Returns why an invitation failed; `None` if nobody knows.
async fn read_failure(deps: &Deps, caller: &Caller, invitation: Invitation) -> PortResult<Option<String>> {
    let view = view_listed_invitation(deps, caller, invitation).await?;
    Ok(view.and_then(|view| view.explain_failure()))
}
