use crate::World;
use crate::dead::bury;
use crate::ports::{Ambient, Conversations, Deliveries, OutboxStore, PortError, PortResult, Written};
use recado_domain::inbound::FailedDelivery;
use recado_domain::millis::shift;

/// An accepted message failed after all: `sent → dead` with the provider's reason, and a dead letter.
pub(super) async fn failed<W: World>(world: &W, failed: &FailedDelivery) -> PortResult<()> {
    let now = world.ambient().now();
    let ttl = i64::try_from(world.settings().delivery_ttl.as_millis()).unwrap_or(i64::MAX);
    world
        .store()
        .record_status(&failed.update, shift(now, ttl))
        .await?;
    let Some(id) = world
        .store()
        .delivery(&failed.update.key)
        .await?
        .and_then(|delivery| delivery.message)
    else {
        tracing::info!("a message that was not sent from here failed");
        return Ok(());
    };
    let Some(mut message) = world.store().message(&id).await? else {
        return Ok(());
    };
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
    bury(world, message).await.map(|_| ())
}
