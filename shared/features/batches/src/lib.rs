//! Batches: invitations of many guests by one request. The request is stored with its recipients and acknowledged; a background
//! job makes the invitations, piece by piece, at a share of the instance's rate. The routes that invite guests, one or many, are here, too.
//!
//! Its types and rules are in [`recado_domain::invitations`].

pub mod batch_job;
pub mod batch_routes;
mod direct;
pub mod due_batches;
mod expansion;
pub mod invitation_routes;
pub mod paused_batch;
mod piece;
mod progress;

use crate::batch_job::enqueue_batch;
pub use crate::expansion::BatchJobs;
pub use crate::progress::{BatchProgress, ListedRecipient, find_batch, list_batch_recipients, list_batches};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::config::Tenant;
use recado_domain::ids::{
    BatchId, CorrelationId, GuestId, IdempotencyKey, InvitationTemplateName, OccasionId, TenantId, hash_parts,
};
use recado_domain::invitations::{
    BATCH_PERMIT, BATCH_RECIPIENTS_MAX, Batch, BatchOrder, BatchState, InvitationChannel, SendTime,
    TemplateValues, split_recipients, write_batch_id,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_invitations::preparation::{check_ahead, find_context};
use recado_invitations::{InvitationError, InvitationRequest, NamedGuest, make_request_claim};
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::records::batches::{self as batch_records, BatchOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};
use recado_sends::DeliverError;
use std::collections::BTreeSet;

/// Number of writes of chunks side by side.
const WRITES_AT_ONCE: usize = 16;

/// A request to send invitations to many guests.
#[derive(Debug, Clone)]
pub struct BatchRequest {
    /// The tenant; `None`: the token's.
    pub tenant: Option<TenantId>,
    /// The occasion.
    pub occasion: OccasionId,
    /// The guests. One that is named twice is invited once.
    pub guests: Vec<GuestId>,
    /// The channel.
    pub channel: InvitationChannel,
    /// The template.
    pub template: InvitationTemplateName,
    /// Values of variables, besides those that Recado knows.
    pub variables: TemplateValues,
    /// Metadata of the client.
    pub metadata: Option<Metadata>,
    /// Time before which nothing of it leaves; `None`: it begins at once.
    pub send_at: Option<SendTime>,
    /// The client's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Correlation id of the request.
    pub correlation: CorrelationId,
}

/// A batch that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedBatch {
    /// The batch.
    pub batch: Batch,
    /// The guests, each once. [`Batch::derive_invitation_id`] returns the id of each one's invitation.
    pub guests: Vec<GuestId>,
    /// `true` if the same request with the same idempotency key came before.
    pub repeated: bool,
}

/// Takes invitations of many guests. They are made in the background. A batch that a crash left half stored is completed by the
/// repeated request with the same idempotency key.
pub async fn send_batch(
    deps: &Deps,
    caller: &Caller,
    request: BatchRequest,
) -> Result<AcceptedBatch, InvitationError> {
    let mut known = BTreeSet::new();
    let is_new = |guest: &&GuestId| known.insert((*guest).clone());
    let guests: Vec<GuestId> = request.guests.iter().filter(is_new).cloned().collect();
    let Some(first) = guests.first().filter(|_| guests.len() <= BATCH_RECIPIENTS_MAX) else {
        return Err(InvitationError::BatchSize);
    };
    let send_at = find_send_time(deps, &request)?;
    let of_first = request_for_guest(&request, first.clone());
    let tenant = find_context(deps, caller, &of_first).await?.tenant;
    let claim = make_request_claim(deps, "batch", request.key.as_ref()).await?;
    let new = make_batch(deps, caller, (&tenant, &request), (&guests, send_at));
    let (mut new, now) = (Versioned::new(new), deps.system().now());
    let begun = batch_records::begin_batch(deps.store(), &mut new, claim.as_ref(), now).await?;
    let (batch, repeated) = match begun {
        BatchOutcome::Begun => (new, false),
        BatchOutcome::Claimed(by) => {
            let known = batch_records::find_batch(deps.store(), &tenant.id, &by).await?;
            let known = known.ok_or_else(|| PortError::contended("a batch of the same key"))?;
            if known.record.request_hash != new.record.request_hash {
                return Err(DeliverError::KeyReused.into());
            }
            (known, true)
        }
    };
    let batch = begin_expansion(deps, batch, &guests).await?;
    tracing::info!(batch_id = %batch.id, recipients = batch.recipients, repeated, "a batch is taken");
    Ok(AcceptedBatch {
        batch,
        guests,
        repeated,
    })
}

/// Returns the time at which a batch begins; `None` if that is now.
fn find_send_time(deps: &Deps, request: &BatchRequest) -> Result<Option<Timestamp>, InvitationError> {
    let wanted = match request.send_at {
        Some(SendTime::At(at)) => Some(at),
        Some(SendTime::OnClock(_)) => return Err(InvitationError::BatchTime),
        None => None,
    };
    let now = deps.system().now();
    check_ahead(wanted, now)?;
    Ok(wanted.filter(|at| *at > now))
}

/// Returns the request for one of the guests.
fn request_for_guest(request: &BatchRequest, guest: GuestId) -> InvitationRequest {
    InvitationRequest {
        tenant: request.tenant.clone(),
        occasion: request.occasion.clone(),
        guest: NamedGuest::Id(guest),
        channel: request.channel,
        template: request.template.clone(),
        variables: request.variables.clone(),
        metadata: request.metadata.clone(),
        send_at: None,
        key: None,
        correlation: request.correlation.clone(),
    }
}

fn make_batch(
    deps: &Deps,
    caller: &Caller,
    (tenant, request): (&Tenant, &BatchRequest),
    (guests, send_at): (&[GuestId], Option<Timestamp>),
) -> Batch {
    let now = deps.system().now();
    let kept_from = send_at.unwrap_or(now);
    Batch {
        tenant: tenant.id.clone(),
        id: write_batch_id(now, deps.system().random_u64()),
        occasion: request.occasion.clone(),
        channel: request.channel,
        template: request.template.clone(),
        variables: request.variables.clone(),
        metadata: request.metadata.clone(),
        by: caller.name.clone(),
        correlation: request.correlation.clone(),
        request_hash: hash_request(request, guests),
        state: BatchState::Preparing,
        recipients: guests.len(),
        expanded: 0,
        send_at,
        reminder: None,
        restored_from: None,
        end: None,
        due_at: None,
        created_at: now,
        keep_until: add_duration(kept_from, tenant.retention.messages.to_duration()),
    }
}

/// Returns a hash that distinguishes the request from every other, for its idempotency key.
fn hash_request(request: &BatchRequest, guests: &[GuestId]) -> String {
    let variables = request
        .variables
        .iter()
        .flat_map(|(name, value)| [name.as_str(), value]);
    let metadata = request.metadata.as_ref().map_or("", Metadata::as_str);
    let mut parts = vec![
        request.occasion.as_str(),
        request.channel.as_str(),
        request.template.as_str(),
        metadata,
    ];
    parts.extend(variables);
    let send_at = request.send_at.map(SendTime::to_text);
    parts.extend(send_at.iter().flat_map(|at| ["send_at", at.as_str()]));
    parts.push("to");
    parts.extend(guests.iter().map(GuestId::as_str));
    hash_parts(&parts, 32)
}

/// Stores the recipients of a batch and lets it run. Each step may be repeated.
async fn begin_expansion(
    deps: &Deps,
    batch: Versioned<Batch>,
    guests: &[GuestId],
) -> Result<Batch, InvitationError> {
    if batch.record.state == BatchState::Preparing {
        // A chunk that is stored already is the same: it was made by the same request.
        let chunks = split_recipients(&batch.record, guests).into_iter();
        stream::iter(chunks.map(Versioned::new))
            .map(|mut chunk| async move { write_record(deps.store(), &mut chunk).await.map(drop) })
            .buffer_unordered(WRITES_AT_ONCE)
            .try_collect::<()>()
            .await?;
    }
    let batch = begin_batch(deps, batch).await?;
    if batch.is_expanding() {
        enqueue_batch(deps, &batch, batch.expanded, SignedDuration::ZERO).await?;
    }
    Ok(batch)
}

/// Lets a batch run, or wait for its time, unless it does already.
async fn begin_batch(deps: &Deps, batch: Versioned<Batch>) -> Result<Batch, InvitationError> {
    retry_lost_write(PortError::contended("batch"), batch, |mut batch| async move {
        if !batch.record.begin(deps.system().now())
            || write_record(deps.store(), &mut batch).await? == WriteOutcome::Written
        {
            return Ok(WriteAttempt::Done(batch.record));
        }
        let Batch { tenant, id, .. } = &batch.record;
        let known = batch_records::find_batch(deps.store(), tenant, id).await?;
        known
            .map(WriteAttempt::Lost)
            .ok_or(InvitationError::NotFound("batch"))
    })
    .await
}

/// Returns the request for one of the batch's guests. Without a guest, returns the one that only names what is common to all.
fn request_of(batch: &Batch, guest: Option<&GuestId>) -> PortResult<InvitationRequest> {
    let nobody = || GuestId::parse("nobody").map_err(|error| PortError::invalid("batch", error));
    Ok(InvitationRequest {
        tenant: Some(batch.tenant.clone()),
        occasion: batch.occasion.clone(),
        guest: NamedGuest::Id(guest.cloned().map_or_else(nobody, Ok)?),
        channel: batch.channel,
        template: batch.template.clone(),
        variables: batch.variables.clone(),
        metadata: batch.metadata.clone(),
        send_at: None,
        key: None,
        correlation: batch.correlation.clone(),
    })
}

/// Gives an order about a batch. When the order to pause or cancel returns, no message of the batch begins to leave any more: a
/// sender looks at the batch just before it sends, relies on that for [`BATCH_PERMIT`], and this function waits as long.
pub async fn order_batch(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &BatchId,
    order: BatchOrder,
) -> Result<Batch, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let batch = store_order(deps, &tenant.id, id, order).await?;
    tracing::info!(batch_id = %batch.id, state = batch.state.as_str(), "a batch was ordered");
    if order != BatchOrder::Resume {
        deps.system().sleep(BATCH_PERMIT.unsigned_abs()).await;
    } else if batch.is_expanding() {
        enqueue_batch(deps, &batch, batch.expanded, SignedDuration::ZERO).await?;
    }
    Ok(batch)
}

/// Stores the state that follows from an order, unless the batch has it already.
async fn store_order(
    deps: &Deps,
    tenant: &TenantId,
    id: &BatchId,
    order: BatchOrder,
) -> Result<Batch, InvitationError> {
    retry_lost_write(PortError::contended("batch"), (), |()| async {
        let found = batch_records::find_batch(deps.store(), tenant, id).await?;
        let mut batch = found.ok_or(InvitationError::NotFound("batch"))?;
        let is_new = batch.record.follow(order, deps.system().now())?;
        if is_new && write_record(deps.store(), &mut batch).await? == WriteOutcome::Conflict {
            return Ok(WriteAttempt::Lost(()));
        }
        Ok(WriteAttempt::Done(batch.record))
    })
    .await
}
