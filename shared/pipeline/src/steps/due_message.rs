//! Sends scheduled messages that are due.

use crate::Deps;
use crate::deps::pair_rate;
use crate::ports::{
    ConfigurationStore, PortError, PortResult, ScheduledMessages, System, WRITE_TRIES, WriteOutcome,
};
use crate::steps::client_message::{append_client_message, find_or_start_conversation};
use crate::steps::wake_up;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::context::MessageContext;
use recado_domain::message::PreparedContent;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};

/// Moves a scheduled message that is due into its contact's conversation, and enqueues a send job. If its instance is
/// no longer configured, the message is given up. Returns `false` if there was nothing to do: the message was
/// cancelled, another worker was faster, or the message is not due yet.
pub async fn release_due_message(deps: &impl Deps, id: &ScheduledId) -> PortResult<bool> {
    for _ in 0..WRITE_TRIES {
        let now = deps.system().now();
        let found = deps.store().find_scheduled(id).await?;
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
    Err(PortError::contended("conversation"))
}

async fn convert_to_message(
    deps: &impl Deps,
    bound: &InstanceConfig,
    mut scheduled: ScheduledMessage,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
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
    if scheduled.become_message(message.message_id(), now).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    let written = deps
        .store()
        .commit_scheduled(&scheduled, &conversation, &message.to_record())
        .await?;
    if written == WriteOutcome::Written {
        tracing::info!(message_id = %message.message_id(), scheduled_id = %scheduled.id, "a scheduled message fell due");
        wake_up::enqueue_send(deps, &message, &message.correlation).await?;
    }
    Ok(written)
}

/// Gives up a scheduled message whose instance is no longer configured, so nobody can send it.
async fn give_up_scheduled(
    deps: &impl Deps,
    mut scheduled: ScheduledMessage,
    now: Timestamp,
) -> PortResult<WriteOutcome> {
    tracing::error!(message_id = %scheduled.id, "a scheduled message fell due on an instance that is no longer configured");
    if scheduled.give_up_pending(now, Reason::UnknownInstance).is_err() {
        return Ok(WriteOutcome::Conflict);
    }
    deps.store().save_scheduled(&scheduled).await
}
