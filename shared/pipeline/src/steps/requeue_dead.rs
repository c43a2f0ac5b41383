//! Redrives a dead-lettered message: the sender does it for a send job, an operator for a request.

use crate::Deps;
use crate::ports::{DeadLetters, OutboxStore, PortError, PortResult, System, WriteOutcome};
use crate::steps::outgoing::find_outgoing;
use recado_domain::wake_up::Redrive;

/// Moves a dead-lettered message back to `queued` if `redrive.failed_at` is the time of its newest failure. A repeated or
/// outdated redrive leaves the message unchanged. The dead letter of that failure is removed in each case. Returns
/// whether the message was requeued.
pub(crate) async fn requeue_dead_message(deps: &impl Deps, redrive: &Redrive) -> PortResult<bool> {
    let Redrive {
        message: id,
        failed_at,
        by,
    } = redrive;
    let revived = match find_outgoing(deps, id).await? {
        None => false,
        Some(mut message) => {
            let copied = message.out.copied;
            let revived = message.out.requeue_dead(deps.system().now(), *failed_at).is_ok();
            if revived {
                message.out.sign_last_step(by.as_ref());
            }
            // A dead message stays on the open list until its dead letter exists.
            let written = match (revived, copied) {
                (false, _) => WriteOutcome::Written,
                (true, true) => deps.store().update_closed_message(&message.to_record()).await?,
                (true, false) => deps.store().save_open_message(&message.to_record(), None).await?,
            };
            if written == WriteOutcome::Conflict {
                return Err(PortError::contended("message"));
            }
            revived
        }
    };
    if revived {
        tracing::info!(message_id = %id, "redriven");
    }
    // Also removed if the message was requeued before: that run may have crashed before it removed the dead letter.
    deps.store().remove_dead_letter(id.as_str(), *failed_at).await?;
    Ok(revived)
}
