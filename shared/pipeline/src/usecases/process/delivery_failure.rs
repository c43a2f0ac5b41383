use crate::Deps;
use crate::measure::{MessageEnd, count_message_end};
use crate::steps::give_up::move_to_dead_letters;
use crate::steps::outgoing::find_outgoing;
use recado_domain::delivery::{StatusUpdate, may_concern_attempt};
use recado_domain::ids::InstanceId;
use recado_domain::inbound::FailedDelivery;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::{Deliveries, OutboxStore, PortError, PortResult, System, WriteOutcome};

/// Records that an accepted message failed later: `sent → dead` with the provider's reason, and a dead letter. A message
/// of another instance than `instance` is not changed.
pub(super) async fn record_delivery_failure(
    deps: &impl Deps,
    instance: &InstanceId,
    failed: &FailedDelivery,
) -> PortResult<()> {
    let now = deps.system().now();
    deps.store()
        .record_status(&failed.update, add_duration(now, deps.settings().delivery_ttl))
        .await?;
    let delivery = deps.store().find_delivery(&failed.update.key).await?;
    let (id, known_as) = delivery.map_or((None, None), |delivery| {
        (delivery.message, delivery.provider_message_id)
    });
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
    if is_of_an_earlier_attempt(&message, &failed.update, known_as) {
        tracing::info!(message_id = %id, "an attempt failed that was repeated since");
        return Ok(());
    }
    let marked = message
        .out
        .mark_dead(now, failed.reason, Some(failed.error.clone()));
    if marked.is_ok() {
        if deps.store().update_closed_message(&message.to_record()).await? == WriteOutcome::Conflict {
            return Err(PortError::contended("message"));
        }
        count_message_end(instance, MessageEnd::Undelivered);
    }
    // A dead letter that was made before is not made again: it may have been deleted since.
    if message.out.copied {
        return Ok(());
    }
    move_to_dead_letters(deps, message).await.map(|_| ())
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
        return failed_as != *sent_as;
    }
    out.last_claimed_at()
        .is_some_and(|claim| !may_concern_attempt(failed.at, claim))
}
