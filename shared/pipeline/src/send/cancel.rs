//! A reply that must no longer be sent: people have the conversation, or it went on without it.

use super::{LOST, Step};
use crate::World;
use crate::kick;
use crate::ports::{Ambient, Conversations, OutboxStore, PortResult, Written};
use crate::replies::left;
use recado_domain::conversation::Mode;
use recado_domain::message::Message;
use recado_domain::reason::Reason;

/// Cancels a queued message; what it certainly never answered is owed again if the agent has the conversation.
pub(super) async fn cancel<W: World>(world: &W, mut message: Message) -> PortResult<Step> {
    let now = world.ambient().now();
    let Some(mut conversation) = world.store().conversation(&message.conversation).await? else {
        return Ok(LOST);
    };
    let Some(out) = message.out.as_mut() else {
        return Ok(Step::Next);
    };
    if conversation.mode == Mode::Ai && conversation.epoch == out.epoch {
        // It was taken over when the claim looked and is back in the same epoch only if the claim read wrongly.
        return Ok(LOST);
    }
    let never_left = out.never_left();
    if out.cancel(now, Reason::TakenOver).is_err() {
        return Ok(LOST);
    }
    if never_left && conversation.mode == Mode::Ai {
        let left = left(world, &conversation, Some(message.ordinal)).await?;
        conversation.uncover(left, now);
    }
    // Written also where nothing changes: a give-back that counted this message as leaving must read again.
    conversation.rev += 1;
    if world
        .store()
        .settle(&message, None, None, Some(&conversation))
        .await?
        == Written::Conflict
    {
        return Ok(LOST);
    }
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the conversation was taken over"
    );
    if conversation.mode == Mode::Ai && conversation.owes() {
        kick::turn(world, &conversation, &message.correlation).await?;
    }
    Ok(Step::Next)
}
