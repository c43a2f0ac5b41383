//! Records messages that failed after the provider had accepted them.

use crate::Deps;
use crate::deps::capabilities;
use crate::hooks::inbound_rule::LateFailure;
use crate::measure::{MessageEnd, count_message_end};
use crate::steps::give_up::move_to_dead_letters;
use crate::steps::inbound_arrival::InstanceEvent;
use crate::steps::message_target::{find_sent_message, is_same_message};
use crate::steps::outgoing::find_outgoing;
use recado_domain::delivery::{StatusUpdate, may_concern_attempt};
use recado_domain::ids::MessageId;
use recado_domain::inbound::FailedDelivery;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};

/// Records that an accepted message failed later: `sent → dead` with the provider's reason, and a dead letter. A message
/// of another instance is not changed.
pub(super) async fn record_delivery_failure(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    failed: &FailedDelivery,
) -> PortResult<()> {
    let instance = &event.bound.instance.id;
    let now = deps.system().now();
    let (update, expires) = (&failed.update, add_duration(now, deps.settings().delivery_ttl));
    deps.store().record_status(update, expires, None).await?;
    let found = deps.store().find_delivery(&failed.update.key).await?;
    let delivery = found.unwrap_or_default();
    let id = match delivery.message {
        Some(id) => Some(id),
        None => find_by_recipient(deps, event, failed).await?,
    };
    let Some(id) = id else {
        tracing::info!("a message that was not sent from here failed");
        return Ok(());
    };
    let Some(mut message) = find_outgoing(deps, &id).await? else {
        return Ok(());
    };
    if message.instance != *instance {
        tracing::warn!(message_id = %id, "a failure of another instance's message was dropped");
        return Ok(());
    }
    if is_of_an_earlier_attempt(&message, &failed.update, delivery.provider_message_id) {
        tracing::info!(message_id = %id, "an attempt failed that was repeated since");
        return note_failure(deps, event, &message, true).await;
    }
    let why = Some(failed.error.clone());
    if message.out.mark_dead(now, failed.reason, why).is_ok() {
        let record = message.to_record();
        let written = deps.store().update_closed_message(&record, None).await?;
        if written == WriteOutcome::Conflict {
            return Err(PortError::contended("message"));
        }
        count_message_end(instance, MessageEnd::Undelivered);
        note_failure(deps, event, &message, false).await?;
    }
    // A dead letter that was made before is not made again: it may have been deleted since.
    if message.out.copied {
        return Ok(());
    }
    move_to_dead_letters(deps, message).await.map(|_| ())
}

/// Has every rule note the failure of an attempt. `is_repeated`: the message goes out again, or went out again since.
async fn note_failure(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    message: &Outgoing,
    is_repeated: bool,
) -> PortResult<()> {
    let failed = LateFailure { message, is_repeated };
    for rule in deps.features().inbound_rules {
        rule.note_failure(deps, event, &failed).await?;
    }
    Ok(())
}

/// Finds the message that failed among the newest of its recipient: its id may be written for the user id where the send's answer
/// had the one for the number.
async fn find_by_recipient(
    deps: &Deps,
    event: &InstanceEvent<'_>,
    failed: &FailedDelivery,
) -> PortResult<Option<MessageId>> {
    let InstanceEvent { job, bound, .. } = *event;
    let (Some(to), Some(id)) = (&failed.to, &failed.update.provider_message_id) else {
        return Ok(None);
    };
    if !capabilities(deps, bound).echoes_our_id {
        return Ok(None);
    }
    let found = Box::pin(find_sent_message(deps, bound, &job.external, to, id)).await?;
    Ok(found.map(|message| message.message_id()))
}

/// Returns `true` if the failure is of an attempt that was or will be repeated. Such a failure says nothing about the
/// repeat.
fn is_of_an_earlier_attempt(message: &Outgoing, failed: &StatusUpdate, known_as: Option<String>) -> bool {
    let out = &message.out;
    // A queued message is sent again anyway.
    if out.state == OutboxState::Queued {
        return true;
    }
    // The provider gives each attempt its own id. The message may be recorded as sent by an earlier attempt's id.
    let failed_as = failed.provider_message_id.clone().or(known_as);
    if let (OutboxState::Sent { .. }, Some(failed_as), Some(sent_as)) =
        (&out.state, failed_as, &message.provider_message_id)
    {
        return !is_same_message(&failed_as, sent_as);
    }
    out.repeated_at()
        .is_some_and(|claim| !may_concern_attempt(failed.at, claim))
}
