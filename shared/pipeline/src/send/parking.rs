//! Parking: what cannot leave now waits beside the queue, in order, and costs nothing.

use super::{Step, cancel};
use crate::World;
use crate::chance::nonce;
use crate::ports::{Ambient, Instances, PortResult};
use crate::verdict::Verdict;
use jiff::Timestamp;
use recado_domain::instance::{Connection, Parked};
use recado_domain::message::Message;

/// Parks the message's conversation, unless the message is void, then reads the state again: an instance that opened in
/// between has released what it knew of, and that was not this.
pub(super) async fn park<W: World>(
    world: &W,
    message: &Message,
    not_before: Option<Timestamp>,
) -> PortResult<Step> {
    if let Some(step) = cancel::if_void(world, message).await? {
        return Ok(step);
    }
    let parked = Parked {
        instance: message.instance.clone(),
        conversation: message.conversation.clone(),
        version: nonce(world.ambient()),
        since: world.ambient().now(),
        not_before,
        patience_ms: world.settings().patience_ms(),
        reply: message.reply(),
    };
    world.store().park(&parked).await?;
    if not_before.is_some() {
        return Ok(Step::Stop(Verdict::Done));
    }
    let state = world.store().instance_state(&message.instance).await?;
    if state.connection == Connection::Open {
        world.store().unpark(&parked).await?;
        return Ok(Step::Stop(Verdict::SOON));
    }
    tracing::info!(connection = state.connection.as_str(), "parked");
    Ok(Step::Stop(Verdict::Done))
}
