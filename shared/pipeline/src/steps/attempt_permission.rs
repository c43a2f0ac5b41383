//! Tells whether a message or an e-mail may leave by its next attempt: its batch, its occasion, and its guest with the rules of its tenant.
//! It is asked before each attempt, also if an earlier one may have arrived.

use crate::steps::delivery_permission::DeliveryPermission;
use crate::steps::invitation_permission::judge_stored_invitation;
use crate::steps::occasion_reminders::find_planned;
use jiff::Timestamp;
use recado_domain::config::Tenant;
use recado_domain::ids::BatchId;
use recado_domain::invitations::{BatchState, ScheduledInvitation};
use recado_domain::reason::Reason;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::batches::find_batch;
use recado_ports::records::occasions::find_occasion;

/// The answer for an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptPermission {
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
pub(crate) async fn judge_attempt(
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
