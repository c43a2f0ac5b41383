use crate::{AcceptedMessage, CheckedDelivery, DeliverError, accepted_from_scheduled, return_repeated_send};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::idempotency::hold_claimed;
use recado_ports::ports::{CommitOutcome, PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::scheduled_messages as records;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

/// Stores the message until `at`, together with the client's key.
pub(super) async fn schedule_message(
    deps: &Deps,
    caller: &Caller,
    checked: CheckedDelivery,
    at: Timestamp,
) -> Result<AcceptedMessage, DeliverError> {
    let (bound, send, claim) = (&checked.bound, checked.send, checked.claim.as_ref());
    let id = ScheduledId::parse(&format!("s_{}", generate_nonce(deps.system())))
        .map_err(|error| PortError::invalid("scheduled message", error))?;
    let scheduled = ScheduledMessage {
        id,
        tenant: bound.tenant.id.clone(),
        instance: bound.instance.id.clone(),
        to: checked.to,
        content: checked.ready.content,
        options: checked.ready.options,
        metadata: send.metadata,
        send_at: at,
        created_at: deps.system().now(),
        correlation: send.correlation,
        by: Some(caller.name.clone()),
        idempotency_key: send.key,
        invitation: checked.invitation,
        reminds_of: None,
        restored_from: None,
        state: ScheduledState::Pending,
    };
    let beside = hold_claimed(claim, scheduled.id.as_message_id())?;
    match records::put_scheduled(deps.store(), &scheduled, &beside).await? {
        CommitOutcome::Committed => {
            tracing::info!(message_id = %scheduled.id, send_at = %at, "scheduled");
            Ok(accepted_from_scheduled(&scheduled, false))
        }
        CommitOutcome::Refused(_) => {
            let repeated = return_repeated_send(deps, claim).await?;
            repeated.ok_or(DeliverError::Busy)
        }
        CommitOutcome::Conflict => Err(DeliverError::Busy),
    }
}

/// Returns a scheduled message, also after it was sent or cancelled. `None`: it does not exist or is outside the caller's
/// scope.
pub async fn find_scheduled(
    deps: &Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> PortResult<Option<ScheduledMessage>> {
    let found = find_within(deps, caller, id).await?;
    Ok(found.map(|found| found.record))
}

async fn find_within(
    deps: &Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> PortResult<Option<Versioned<ScheduledMessage>>> {
    let found = match caller.scope.tenant() {
        Some(tenant) => records::find_scheduled(deps.store(), tenant, id).await?,
        None => records::find_scheduled_by_id(deps.store(), id).await?,
    };
    Ok(found.filter(|found| caller.scope.covers(&found.record.tenant)))
}

/// Cancels a scheduled message that is still pending. A message that was cancelled before is returned as it is.
pub async fn cancel_scheduled(
    deps: &Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> Result<ScheduledMessage, DeliverError> {
    retry_lost_write(DeliverError::Busy, false, |noted| async move {
        let found = find_within(deps, caller, id).await?;
        let mut found = found.ok_or(DeliverError::NotFound("message"))?;
        let scheduled = &mut found.record;
        if matches!(scheduled.state, ScheduledState::Cancelled { .. }) {
            return Ok(WriteAttempt::Done(found.record));
        }
        scheduled.cancel_pending(deps.system().now(), Some(&caller.name))?;
        if !noted {
            let (action, id) = (AuditAction::MessageCancelled, scheduled.id.to_string());
            let done = action.on_object(Some(&scheduled.tenant), "message", id);
            audit_action(deps, caller, done.with_change("pending", "cancelled")).await?;
        }
        if write_record(deps.store(), &mut found).await? == WriteOutcome::Conflict {
            return Ok(WriteAttempt::Lost(true));
        }
        tracing::info!(message_id = %id, "a scheduled message was taken back");
        Ok(WriteAttempt::Done(found.record))
    })
    .await
}
