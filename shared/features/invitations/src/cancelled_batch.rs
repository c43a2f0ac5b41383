//! Takes back what was not sent when its batch was cancelled.

use recado_domain::email::EmailState;
use recado_domain::ids::{BatchId, InvitationId, MessageId, TenantId};
use recado_domain::invitations::{BatchState, Invitation, InvitationState};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_invitation_emails::email_outbox::{outbox_of, save_outbox};
use recado_pipeline::Deps;
use recado_pipeline::steps::give_up::cancel_message;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::batches::find_batch;
use recado_ports::records::invitations::find_invitation;
use recado_ports::records::scheduled_messages::find_scheduled;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::write_record;

/// Takes back the delivery of an invitation whose batch was cancelled, so that another invitation may go in its place. The delivery is
/// cancelled by a conditional write: a sender that holds it is not overtaken, and none begins it afterwards. Returns `false` if its
/// batch is not cancelled, or it may have been sent.
pub(crate) async fn take_back_delivery(deps: &Deps, invitation: &Invitation) -> PortResult<bool> {
    match &invitation.state {
        InvitationState::Message { message } => match ScheduledId::parse(message.as_str()) {
            Ok(scheduled) => take_back_scheduled(deps, (&invitation.tenant, &scheduled)).await,
            Err(_) => take_back_message(deps, message).await,
        },
        InvitationState::Email { .. } => take_back_email(deps, (&invitation.tenant, &invitation.id)).await,
        InvitationState::Taken { .. }
        | InvitationState::Duplicate { .. }
        | InvitationState::Refused { .. } => Ok(false),
    }
}

async fn is_cancelled(deps: &Deps, tenant: &TenantId, batch: Option<&BatchId>) -> PortResult<bool> {
    let Some(id) = batch else { return Ok(false) };
    let found = find_batch(deps.store(), tenant, id).await?;
    Ok(found.is_some_and(|batch| batch.record.state == BatchState::Cancelled))
}

async fn take_back_message(deps: &Deps, id: &MessageId) -> PortResult<bool> {
    retry_lost_write(PortError::contended("message"), (), |()| async {
        let found = deps.store().find_message(id).await?;
        let Some(message) = found.and_then(Message::into_outgoing) else {
            return Ok(WriteAttempt::Done(false));
        };
        let is_unsent = message.out.is_certainly_unsent() && message.out.state == OutboxState::Queued;
        if !is_unsent || !is_cancelled(deps, &message.tenant, message.out.batch.as_ref()).await? {
            return Ok(WriteAttempt::Done(false));
        }
        let written = cancel_message(deps, &message, Reason::BatchCancelled).await?;
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}

/// The end of a look at a scheduled message that is to be taken back.
enum TakeBackResult {
    /// The scheduled message is this message by now.
    Became(MessageId),
    TakenBack,
    /// The scheduled message is not of a cancelled batch, or was ended before.
    Stays,
}

async fn take_back_scheduled(deps: &Deps, (tenant, id): (&TenantId, &ScheduledId)) -> PortResult<bool> {
    let found = retry_lost_write(PortError::contended("scheduled message"), (), |()| async {
        let Some(mut found) = find_scheduled(deps.store(), tenant, id).await? else {
            return Ok(WriteAttempt::Done(TakeBackResult::Stays));
        };
        let scheduled = &mut found.record;
        if let ScheduledState::Became { message, .. } = &scheduled.state {
            return Ok(WriteAttempt::Done(TakeBackResult::Became(message.clone())));
        }
        let batch = scheduled.invitation.as_ref().and_then(|one| one.batch.as_ref());
        if scheduled.may_have_been_sent()
            || !is_cancelled(deps, &scheduled.tenant, batch).await?
            || scheduled.cancel_pending(deps.system().now(), None).is_err()
        {
            return Ok(WriteAttempt::Done(TakeBackResult::Stays));
        }
        let written = write_record(deps.store(), &mut found).await?;
        PortResult::Ok(WriteAttempt::after_write(written, TakeBackResult::TakenBack))
    })
    .await?;
    match found {
        TakeBackResult::Became(message) => take_back_message(deps, &message).await,
        TakeBackResult::TakenBack => Ok(true),
        TakeBackResult::Stays => Ok(false),
    }
}

async fn take_back_email(deps: &Deps, (tenant, id): (&TenantId, &InvitationId)) -> PortResult<bool> {
    retry_lost_write(PortError::contended("e-mail"), (), |()| async {
        let Some(mut invitation) = find_invitation(deps.store(), tenant, id).await? else {
            return Ok(WriteAttempt::Done(false));
        };
        let now = deps.system().now();
        let Some(outbox) = outbox_of(&mut invitation) else {
            return Ok(WriteAttempt::Done(false));
        };
        let is_unsent = outbox.is_certainly_unsent() && matches!(outbox.state, EmailState::Queued { .. });
        if !is_unsent || !is_cancelled(deps, tenant, outbox.batch.as_ref()).await? {
            return Ok(WriteAttempt::Done(false));
        }
        if outbox.cancel(Reason::BatchCancelled, now).is_err() {
            return Ok(WriteAttempt::Done(false));
        }
        let written = save_outbox(deps, &mut invitation).await?;
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}
