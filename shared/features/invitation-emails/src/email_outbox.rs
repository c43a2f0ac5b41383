//! The outbox of invitations that go by e-mail: their jobs, and their dead letters.

use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::email::{EmailOutbox, EmailState};
use recado_domain::ids::{InvitationId, TenantId};
use recado_domain::invitations::{Invitation, InvitationState};
use recado_domain::wake_up::{EmailJob, OutboundJob};
use recado_pipeline::Deps;
use recado_pipeline::steps::give_up::save_dead_letter;
use recado_pipeline::steps::trace_span::find_parent_span;
use recado_ports::ports::{OutboundEntry, PortError, PortResult, WriteOutcome};
use recado_ports::records::dead_letters::remove_dead_letter;
use recado_ports::records::invitations::find_invitation;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};

/// Builds the job of an invitation's e-mail.
pub fn build_email_job(invitation: &Invitation, outbox: &EmailOutbox) -> OutboundJob {
    OutboundJob::Email(EmailJob {
        tenant: invitation.tenant.clone(),
        invitation: invitation.id.clone(),
        correlation: outbox.correlation.clone(),
        parent: find_parent_span(&outbox.correlation),
        redrive: None,
    })
}

/// Returns the outbox of an invitation that goes by e-mail.
pub fn outbox_of(invitation: &mut Versioned<Invitation>) -> Option<&mut EmailOutbox> {
    match &mut invitation.record.state {
        InvitationState::Email { outbox } => Some(&mut **outbox),
        _ => None,
    }
}

/// Writes an invitation whose outbox changed.
pub async fn save_outbox(deps: &Deps, invitation: &mut Versioned<Invitation>) -> PortResult<WriteOutcome> {
    invitation.record.raise_revision();
    write_record(deps.store(), invitation).await
}

/// Enqueues a job for an e-mail that is overdue. Returns `false` if nothing is left to do for it.
pub async fn wake_overdue_email(deps: &Deps, tenant: &TenantId, id: &InvitationId) -> PortResult<bool> {
    let found = find_invitation(deps.store(), tenant, id).await?;
    let Some(mut invitation) = found else {
        return Ok(false);
    };
    let (now, named) = (deps.system().now(), invitation.record.clone());
    let Some(outbox) = outbox_of(&mut invitation) else {
        return Ok(false);
    };
    if outbox.wake_at.is_none_or(|at| at > now) {
        return Ok(false);
    }
    let entry = OutboundEntry {
        job: build_email_job(&named, outbox),
        // The same id for five minutes: the queue drops what a pass enqueued before.
        deduplication: format!("sweep-{}-{}", named.id, named.rev),
    };
    deps.queues().enqueue_outbound(&[entry]).await?;
    Ok(true)
}

/// Makes the dead letter of an e-mail that was given up, and notes that it exists.
pub async fn move_email_to_dead_letters(
    deps: &Deps,
    mut invitation: Versioned<Invitation>,
) -> PortResult<WriteOutcome> {
    let Some(dead_letter) = build_email_letter(&invitation.record) else {
        return Ok(WriteOutcome::Written);
    };
    save_dead_letter(deps, &dead_letter).await?;
    if let Some(outbox) = outbox_of(&mut invitation)
        && outbox.mark_copied().is_ok()
        && save_outbox(deps, &mut invitation).await? == WriteOutcome::Written
    {
        return Ok(WriteOutcome::Written);
    }
    // If this worker was delayed, the e-mail may have been redriven before the dead letter was made: then it goes again.
    let Invitation { tenant, id, .. } = &invitation.record;
    let known = find_invitation(deps.store(), tenant, id).await?;
    if known.and_then(|known| known.record.email_failed_at()) != Some(dead_letter.at) {
        remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    }
    Ok(WriteOutcome::Conflict)
}

/// Builds the dead letter of an e-mail; `None` if it was not given up.
fn build_email_letter(invitation: &Invitation) -> Option<DeadLetter> {
    let InvitationState::Email { outbox } = &invitation.state else {
        return None;
    };
    let EmailState::Dead { at, reason, .. } = outbox.state else {
        return None;
    };
    Some(DeadLetter {
        id: invitation.id.to_string(),
        queue: QueueName::Outbound,
        reason,
        at,
        attempts: outbox.attempts,
        last_error: outbox.last_reason().map(str::to_owned),
        correlation: outbox.correlation.clone(),
        tenant: Some(invitation.tenant.clone()),
        instance: None,
        what: DeadLetterContent::Email {
            tenant: invitation.tenant.clone(),
            invitation: invitation.id.clone(),
        },
    })
}

/// Returns when an e-mail was given up; `None` if it was not, or is gone.
pub async fn find_email_failure(
    deps: &Deps,
    tenant: &TenantId,
    id: &InvitationId,
) -> PortResult<Option<Timestamp>> {
    let found = find_invitation(deps.store(), tenant, id).await?;
    Ok(found.and_then(|invitation| invitation.record.email_failed_at()))
}

/// Queues an e-mail again whose newest failure is the one at `failed_at`, and removes the dead letter of that failure. Returns whether
/// the e-mail was queued.
pub async fn requeue_dead_email(
    deps: &Deps,
    (tenant, id): (&TenantId, &InvitationId),
    failed_at: Timestamp,
) -> PortResult<bool> {
    let requeue = |outbox: &mut EmailOutbox, now| outbox.requeue_dead(failed_at, now).is_ok();
    let revived = change_outbox(deps, (tenant, id), requeue).await?;
    remove_dead_letter(deps.store(), id.as_str(), failed_at).await?;
    Ok(revived)
}

/// Purges an e-mail that was given up at `failed_at`: its content goes, and nobody can redrive it.
pub async fn purge_dead_email(
    deps: &Deps,
    (tenant, id): (&TenantId, &InvitationId),
    failed_at: Timestamp,
) -> PortResult<()> {
    let purge = |outbox: &mut EmailOutbox, now| outbox.purge_dead(failed_at, now).is_ok();
    change_outbox(deps, (tenant, id), purge).await.map(drop)
}

/// Changes the outbox of an e-mail. `change` returns `false` if there is nothing to change.
async fn change_outbox(
    deps: &Deps,
    (tenant, id): (&TenantId, &InvitationId),
    change: impl Fn(&mut EmailOutbox, Timestamp) -> bool,
) -> PortResult<bool> {
    retry_lost_write(PortError::contended("e-mail"), (), |()| async {
        let found = find_invitation(deps.store(), tenant, id).await?;
        let Some(mut invitation) = found else {
            return Ok(WriteAttempt::Done(false));
        };
        let now = deps.system().now();
        if !outbox_of(&mut invitation).is_some_and(|outbox| change(outbox, now)) {
            return Ok(WriteAttempt::Done(false));
        }
        let written = save_outbox(deps, &mut invitation).await?;
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}
