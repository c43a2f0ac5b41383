use crate::World;
use crate::dead::bury;
use crate::ports::{Ambient, Conversations, Deliveries, OutboxStore, PortError, PortResult, Written};
use recado_domain::delivery::{StatusUpdate, tells_of};
use recado_domain::ids::InstanceId;
use recado_domain::inbound::FailedDelivery;
use recado_domain::message::Message;
use recado_domain::millis::shift;
use recado_domain::outbox::OutboxState;

/// An accepted message failed after all: `sent → dead` with the provider's reason, and a dead letter. The event speaks
/// for `instance` only.
pub(super) async fn failed<W: World>(
    world: &W,
    instance: &InstanceId,
    failed: &FailedDelivery,
) -> PortResult<()> {
    let now = world.ambient().now();
    let ttl = i64::try_from(world.settings().delivery_ttl.as_millis()).unwrap_or(i64::MAX);
    world
        .store()
        .record_status(&failed.update, shift(now, ttl))
        .await?;
    let delivery = world.store().delivery(&failed.update.key).await?;
    let (id, known_as) = delivery.map_or((None, None), |delivery| {
        (delivery.message, delivery.provider_message_id)
    });
    let Some(id) = id else {
        tracing::info!("a message that was not sent from here failed");
        return Ok(());
    };
    let Some(mut message) = world.store().message(&id).await? else {
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
    let Some(out) = message.out.as_mut() else {
        return Ok(());
    };
    if out
        .give_up(now, failed.reason, Some(failed.error.clone()))
        .is_ok()
        && world.store().amend(&message).await? == Written::Conflict
    {
        return Err(PortError::unavailable("message", "others kept writing it"));
    }
    // A letter that was made before is not made again: it may have been deleted since.
    if message.out.as_ref().is_some_and(|out| out.copied) {
        return Ok(());
    }
    bury(world, message).await.map(|_| ())
}

/// Whether the failure is of an attempt that was repeated since, or will be: it says nothing of the repeat.
fn is_of_an_earlier_attempt(message: &Message, failed: &StatusUpdate, known_as: Option<String>) -> bool {
    let Some(out) = &message.out else { return false };
    // A queued message goes out again anyway.
    if out.state == OutboxState::Queued {
        return true;
    }
    // The provider knows each attempt by an id of its own; an earlier one may be what the message was found sent by.
    let failed_as = failed.provider_message_id.clone().or(known_as);
    if let (OutboxState::Sent { .. }, Some(failed_as), Some(sent_as)) =
        (&out.state, failed_as, &message.provider_message_id)
    {
        return failed_as != *sent_as;
    }
    out.claimed_at().is_some_and(|claim| !tells_of(failed.at, claim))
}
