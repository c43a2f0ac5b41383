//! Asks again whether an invitation may leave, just before it is sent: its guest may have opted out since it was taken, and quiet hours may
//! have begun.

use super::{StepResult, Stop, require_written};
use crate::Deps;
use crate::measure::{MessageEnd, count_message_end};
use crate::steps::delivery_permission::DeliveryPermission;
use crate::steps::invitation_permission::judge_stored_invitation;
use jiff::Timestamp;
use recado_domain::config::Tenant;
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::{OutboxStore, System};

/// Passes over an invitation that is held back: nothing else to the contact waits for it. `reconcile` comes back to it.
pub(super) fn pass_over_held_back(deps: &impl Deps, message: &Outgoing) -> StepResult {
    if message.out.is_held_back(deps.system().now()) {
        return Err(Stop::Finished);
    }
    Ok(())
}

/// Asks whether an invitation may leave now. One that may not is held back, or cancelled if its guest wants none. A message that may have
/// been sent before goes on, and so does one that is no invitation.
pub(super) async fn check_invitation(deps: &impl Deps, tenant: &Tenant, message: &Outgoing) -> StepResult {
    let Some(invitation) = &message.out.invitation else {
        return Ok(());
    };
    if !message.out.is_certainly_unsent() {
        return Ok(());
    }
    match judge_stored_invitation(deps, tenant, invitation).await? {
        DeliveryPermission::Granted => Ok(()),
        DeliveryPermission::NotBefore(at) => hold_back(deps, message, at).await,
        DeliveryPermission::OptedOut => cancel_unwanted(deps, message).await,
    }
}

/// Holds an invitation back. Always returns a [`Stop`].
async fn hold_back(deps: &impl Deps, message: &Outgoing, at: Timestamp) -> StepResult {
    let mut held = message.clone();
    held.out.hold_back(at)?;
    require_written(deps.store().save_open_message(&held.to_record(), None).await?)?;
    tracing::info!(
        ordinal = message.ordinal.0,
        "an invitation is held back by the rules for deliveries"
    );
    Err(Stop::Finished)
}

/// Cancels an invitation to somebody who wants none any more. Always returns a [`Stop`].
async fn cancel_unwanted(deps: &impl Deps, message: &Outgoing) -> StepResult {
    let mut cancelled = message.clone();
    cancelled
        .out
        .mark_cancelled(deps.system().now(), Reason::OptedOut)?;
    let record = cancelled.to_record();
    require_written(deps.store().settle_message(&record, None, None, None).await?)?;
    count_message_end(&message.instance, MessageEnd::Cancelled);
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the guest wants no invitations"
    );
    Err(Stop::Finished)
}
