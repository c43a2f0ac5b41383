use super::{AcceptedMessage, CheckedDelivery, DeliverError, accepted_from_scheduled, return_repeated_send};
use crate::Deps;
use crate::ports::{
    CommitOutcome, PortError, PortResult, ScheduledMessages, System, WRITE_TRIES, WriteOutcome,
};
use crate::steps::audit::audit_action;
use crate::steps::random_id::generate_nonce;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};

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
        tenant: bound.tenant.id,
        instance: bound.instance.id,
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
        restored_from: None,
        state: ScheduledState::Pending,
        rev: 1,
    };
    match deps.store().put_scheduled(&scheduled, claim.as_ref()).await? {
        CommitOutcome::Committed => {
            tracing::info!(message_id = %scheduled.id, send_at = %at, "scheduled");
            Ok(accepted_from_scheduled(&scheduled, false))
        }
        CommitOutcome::KeyTaken(record) => {
            return_repeated_send(deps, claim.as_ref(), record, &scheduled.correlation).await
        }
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
    let mut noted = false;
    for _ in 0..WRITE_TRIES {
        let found = find_scheduled(deps, caller, id).await?;
        let mut scheduled = found.ok_or(DeliverError::NotFound("message"))?;
        if matches!(scheduled.state, ScheduledState::Cancelled { .. }) {
            return Ok(scheduled);
        }
        scheduled.cancel_pending(deps.system().now(), Some(&caller.name))?;
        if !std::mem::replace(&mut noted, true) {
            let (action, id) = (AuditAction::MessageCancelled, scheduled.id.to_string());
            let done = AuditedAction::on_object(action, Some(&scheduled.tenant), "message", id);
            audit_action(deps, caller, done.with_change("pending", "cancelled")).await?;
        }
        if deps.store().save_scheduled(&scheduled).await? == WriteOutcome::Written {
            tracing::info!(message_id = %id, "a scheduled message was taken back");
            return Ok(scheduled);
        }
    }
    Err(DeliverError::Busy)
}
