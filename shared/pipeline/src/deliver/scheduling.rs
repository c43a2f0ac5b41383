use super::immediate::UnnumberedMessage;
use super::{
    AcceptedMessage, CheckedDelivery, DeliverError, TRIES, accepted_from_scheduled,
    find_or_start_conversation, return_repeated_send,
};
use crate::Deps;
use crate::deps::pair_rate;
use crate::outgoing_check::PreparedContent;
use crate::ports::{
    CommitOutcome, ConfigurationStore, PortError, PortResult, ScheduledMessages, System, WriteOutcome,
};
use crate::random_id::generate_nonce;
use crate::wake_up;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::context::MessageContext;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};

/// Stores the message until `at`, together with the client's key.
pub(super) async fn schedule_message<W: Deps>(
    deps: &W,
    checked: CheckedDelivery,
    at: Timestamp,
) -> Result<AcceptedMessage, DeliverError> {
    let CheckedDelivery {
        bound,
        to,
        ready,
        send,
        claim,
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
        idempotency_key: send.key,
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

/// Returns a scheduled message, also after it was sent or cancelled.
pub async fn find_scheduled<W: Deps>(deps: &W, id: &ScheduledId) -> PortResult<Option<ScheduledMessage>> {
    deps.store().find_scheduled(id).await
}

/// Cancels a scheduled message that is still pending. A message that was cancelled before is returned as it is.
pub async fn cancel_scheduled<W: Deps>(deps: &W, id: &ScheduledId) -> Result<ScheduledMessage, DeliverError> {
    for _ in 0..TRIES {
        let found = find_scheduled(deps, id).await?;
        let mut scheduled = found.ok_or(DeliverError::NotFound("message"))?;
        if matches!(scheduled.state, ScheduledState::Cancelled { .. }) {
            return Ok(scheduled);
        }
        scheduled.cancel_pending(deps.system().now())?;
        if deps.store().save_scheduled(&scheduled).await? == WriteOutcome::Written {
            tracing::info!(message_id = %id, "a scheduled message was taken back");
            return Ok(scheduled);
        }
    }
    Err(DeliverError::Busy)
}

/// Moves a scheduled message that is due into its contact's conversation, and enqueues a send job. If its instance is
/// no longer configured, the message is given up. Returns `false` if there was nothing to do: the message was
/// cancelled, another worker was faster, or the message is not due yet.
pub async fn release_due_message<W: Deps>(deps: &W, id: &ScheduledId) -> PortResult<bool> {
    for _ in 0..TRIES {
        let now = deps.system().now();
        let found = find_scheduled(deps, id).await?;
        let Some(scheduled) = found.filter(|scheduled| scheduled.send_due_at().is_some_and(|due| due <= now))
        else {
            return Ok(false);
        };
        let written = match deps.store().instance_config(&scheduled.instance).await? {
            Some(bound) => convert_to_message(deps, &bound, scheduled, now).await?,
            None => give_up_scheduled(deps, scheduled, now).await?,
        };
        if written == WriteOutcome::Written {
            return Ok(true);
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

async fn convert_to_message<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    mut scheduled: ScheduledMessage,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
    let mut conversation = find_or_start_conversation(deps, bound, &scheduled.to).await?;
    let words = UnnumberedMessage {
        ready: PreparedContent {
            content: scheduled.content.clone(),
            options: scheduled.options.clone(),
            context: MessageContext::default(),
        },
        to: &scheduled.to,
        correlation: &scheduled.correlation,
        key: scheduled.idempotency_key.as_ref(),
        pair: pair_rate(deps, bound),
    };
    let mut message = words.append_to_conversation(&mut conversation, now);
    if let Some(out) = message.out.as_mut() {
        out.metadata.clone_from(&scheduled.metadata);
        out.scheduled = Some(scheduled.id.clone());
    }
    if scheduled.become_message(message.message_id(), now).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let written = deps
        .store()
        .commit_scheduled(&scheduled, &conversation, &message)
        .await?;
    if written == WriteOutcome::Written {
        tracing::info!(message_id = %message.message_id(), scheduled_id = %scheduled.id, "a scheduled message fell due");
        wake_up::enqueue_send(deps, &message, &message.correlation).await?;
    }
    Ok(written)
}

/// Gives up a scheduled message whose instance is no longer configured, so nobody can send it.
async fn give_up_scheduled<W: Deps>(
    deps: &W,
    mut scheduled: ScheduledMessage,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
    tracing::error!(message_id = %scheduled.id, "a scheduled message fell due on an instance that is no longer configured");
    if scheduled.give_up_pending(now, Reason::UnknownInstance).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    deps.store().save_scheduled(&scheduled).await
}
