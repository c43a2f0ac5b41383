//! Sends scheduled messages that are due.

use jiff::Timestamp;
use recado_delivery_rules::delivery_permission::DeliveryPermission;
use recado_delivery_rules::invitation_permission::judge_stored_invitation;
use recado_domain::config::InstanceConfig;
use recado_domain::context::MessageContext;
use recado_domain::ids::TenantId;
use recado_domain::message::PreparedContent;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{NotPending, ScheduledId, ScheduledMessage};
use recado_pipeline::Deps;
use recado_pipeline::deps::pair_rate;
use recado_pipeline::steps::client_message::{
    append_client_message, doubt_message, find_or_start_conversation, note_invitation,
};
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::scheduled_messages::find_scheduled;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Change, Versioned, write_record};

/// Moves a scheduled message that is due into its contact's conversation, and enqueues a send job. If its tenant has its
/// instance no longer, the message is given up. An invitation asks again whether it may leave, and is put off or given up. Returns
/// `false` if there was nothing to do: the message was cancelled, another worker was faster, the message is not due yet, or its record
/// cannot be read.
pub async fn release_due_message(deps: &Deps, tenant: &TenantId, id: &ScheduledId) -> PortResult<bool> {
    retry_lost_write(PortError::contended("conversation"), (), |()| async {
        let now = deps.system().now();
        let found = pass_over_unreadable(find_scheduled(deps.store(), tenant, id).await)?;
        let is_due = |found: &Versioned<ScheduledMessage>| {
            let due = found.record.send_due_at();
            due.is_some_and(|due| due <= now)
        };
        let Some(scheduled) = found.filter(is_due) else {
            return Ok(WriteAttempt::Done(false));
        };
        let written = settle_due(deps, scheduled, now).await?;
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}

/// Moves a scheduled message that is due out of its waiting, or puts it off.
async fn settle_due(
    deps: &Deps,
    scheduled: Versioned<ScheduledMessage>,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
    let record = &scheduled.record;
    let found = find_config_by_id(deps.store(), &record.instance).await?;
    let Some(bound) = found.filter(|bound| bound.tenant.id == record.tenant) else {
        tracing::error!(message_id = %record.id, "a scheduled message fell due on an instance that its tenant has no longer");
        let gives_up =
            |scheduled: &mut ScheduledMessage| scheduled.give_up_pending(now, Reason::UnknownInstance);
        return change_pending(deps, scheduled, gives_up).await;
    };
    match judge_scheduled(deps, &bound, record).await? {
        DeliveryPermission::Granted => convert_to_message(deps, &bound, scheduled, now).await,
        DeliveryPermission::NotBefore(at) => {
            change_pending(deps, scheduled, |scheduled| scheduled.postpone_pending(at)).await
        }
        DeliveryPermission::OptedOut => {
            tracing::info!(message_id = %record.id, "an invitation fell due to somebody who opted out");
            let gives_up =
                |scheduled: &mut ScheduledMessage| scheduled.give_up_pending(now, Reason::OptedOut);
            change_pending(deps, scheduled, gives_up).await
        }
    }
}

/// Tells whether a scheduled message may leave. Only an invitation asks: other messages leave at the time that a client named. One that
/// may have been sent before is looked for first, and asks before it is sent again.
async fn judge_scheduled(
    deps: &Deps,
    bound: &InstanceConfig,
    scheduled: &ScheduledMessage,
) -> PortResult<DeliveryPermission> {
    match &scheduled.invitation {
        Some(invitation) if !scheduled.may_have_been_sent() => {
            judge_stored_invitation(deps, &bound.tenant, invitation).await
        }
        Some(_) | None => Ok(DeliveryPermission::Granted),
    }
}

async fn convert_to_message(
    deps: &Deps,
    bound: &InstanceConfig,
    mut found: Versioned<ScheduledMessage>,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
    let scheduled = &mut found.record;
    let mut conversation = find_or_start_conversation(deps, bound, &scheduled.to).await?;
    let ready = PreparedContent {
        content: scheduled.content.clone(),
        options: scheduled.options.clone(),
        context: MessageContext::default(),
    };
    let mut message = append_client_message(
        &mut conversation,
        &scheduled.to,
        ready,
        pair_rate(deps, bound),
        scheduled.idempotency_key.as_ref(),
        &scheduled.correlation,
        now,
    );
    message.out.metadata.clone_from(&scheduled.metadata);
    message.out.sign_last_step(scheduled.by.as_ref());
    message.out.scheduled = Some(scheduled.id.clone());
    message.out.expires_at = scheduled.reminds_of.as_ref().map(|reminded| reminded.start);
    message.out.reminds_of.clone_from(&scheduled.reminds_of);
    if let Some(taken_at) = scheduled.restored_from {
        doubt_message(deps, &mut message, taken_at);
    }
    if let Some(invitation) = &scheduled.invitation {
        note_invitation(deps, &mut conversation, &mut message, invitation);
    }
    if scheduled.become_message(message.message_id(), now).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    // In the same transaction, so that it becomes one message, whoever else finds it due.
    let beside = Change::save(&found)?.writes;
    let made = [message.to_record()];
    let committed = deps.store().commit_messages(&conversation, &made, &beside);
    if WriteOutcome::from(committed.await?) == WriteOutcome::Conflict {
        return Ok(WriteOutcome::Conflict);
    }
    tracing::info!(message_id = %message.message_id(), scheduled_id = %found.record.id, "a scheduled message fell due");
    wake_up::enqueue_send(deps, &message, &message.correlation).await?;
    Ok(WriteOutcome::Written)
}

/// Changes a pending message by `change`, which refuses if the message is not pending any more.
async fn change_pending(
    deps: &Deps,
    mut scheduled: Versioned<ScheduledMessage>,
    change: impl FnOnce(&mut ScheduledMessage) -> Result<(), NotPending>,
) -> PortResult<WriteOutcome> {
    if change(&mut scheduled.record).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    write_record(deps.store(), &mut scheduled).await
}
