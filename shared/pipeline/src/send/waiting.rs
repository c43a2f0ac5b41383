//! Waiting: what cannot leave now comes back, and everything behind it, in the group of what is waited for.

use super::{Step, cancel};
use crate::World;
use crate::ports::PortResult;
use crate::verdict::Verdict;
use recado_domain::message::Message;

/// Lets `message` wait as `verdict` says, unless it is void: then it is cancelled. What its attempt came to must stand in
/// its record by now: who took the conversation over before this looked is found, and who does so later finds it queued.
pub(super) async fn wait<W: World>(world: &W, message: &Message, verdict: Verdict) -> PortResult<Step> {
    let void = cancel::if_void(world, message).await?;
    Ok(void.unwrap_or(Step::Stop(verdict)))
}
