use super::{AcceptedMessage, CheckedDelivery, DeliverError, accepted_from_scheduled, return_repeated_send};
use crate::Deps;
use crate::steps::audit::audit_action;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_ports::ports::{CommitOutcome, PortError, PortResult, ScheduledMessages, System, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Stores the message until `at`, together with the client's key.
pub(super) async fn schedule_message(
    deps: &impl Deps,
    caller: &Caller,
    checked: CheckedDelivery,
    at: Timestamp,
) -> Result<AcceptedMessage, DeliverError> {
    let CheckedDelivery {
        bound,
        to,
        ready,
        send,
        claim,
        invitation,
    } = checked;
    let id = ScheduledId::parse(&format!("s_{}", generate_nonce(deps.system())))
        .map_err(|error| PortError::invalid("scheduled message", error))?;
    let scheduled = ScheduledMessage {
        id,
        tenant: bound.tenant.id.clone(),
        instance: bound.instance.id.clone(),
        to,
        content: ready.content,
        options: ready.options,
        metadata: send.metadata,
        send_at: at,
        created_at: deps.system().now(),
        correlation: send.correlation,
        by: Some(caller.name.clone()),
        idempotency_key: send.key,
        invitation,
        reminds_of: None,
        restored_from: None,
        state: ScheduledState::Pending,
        rev: 1,
    };
    match deps.store().put_scheduled(&scheduled, claim.as_ref()).await? {
        CommitOutcome::Committed => {
            tracing::info!(message_id = %scheduled.id, send_at = %at, "scheduled");
            Ok(accepted_from_scheduled(&scheduled, false))
        }
        CommitOutcome::KeyTaken(record) => return_repeated_send(deps, claim.as_ref(), record).await,
        CommitOutcome::Conflict => Err(DeliverError::Busy),
    }
}

/// Returns a scheduled message, also after it was sent or cancelled. `None`: it does not exist or is outside the caller's
/// scope.
pub async fn find_scheduled(
    deps: &impl Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> PortResult<Option<ScheduledMessage>> {
    let found = deps.store().find_scheduled(id).await?;
    Ok(found.filter(|scheduled| caller.scope.covers(&scheduled.tenant)))
}

/// Cancels a scheduled message that is still pending. A message that was cancelled before is returned as it is.
pub async fn cancel_scheduled(
    deps: &impl Deps,
    caller: &Caller,
    id: &ScheduledId,
) -> Result<ScheduledMessage, DeliverError> {
    retry_lost_write(DeliverError::Busy, false, |noted| async move {
        let found = find_scheduled(deps, caller, id).await?;
        let mut scheduled = found.ok_or(DeliverError::NotFound("message"))?;
        if matches!(scheduled.state, ScheduledState::Cancelled { .. }) {
            return Ok(WriteAttempt::Done(scheduled));
        }
        scheduled.cancel_pending(deps.system().now(), Some(&caller.name))?;
        if !noted {
            let (action, id) = (AuditAction::MessageCancelled, scheduled.id.to_string());
            let done = AuditedAction::on_object(action, Some(&scheduled.tenant), "message", id);
            audit_action(deps, caller, done.with_change("pending", "cancelled")).await?;
        }
        if deps.store().save_scheduled(&scheduled).await? == WriteOutcome::Conflict {
            return Ok(WriteAttempt::Lost(true));
        }
        tracing::info!(message_id = %id, "a scheduled message was taken back");
        Ok(WriteAttempt::Done(scheduled))
    })
    .await
}
