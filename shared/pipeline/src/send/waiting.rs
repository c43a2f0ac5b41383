//! Waiting: what cannot leave now comes back, and everything behind it, in the group of what is waited for.

use super::{SendStep, cancel};
use crate::Deps;
use crate::ports::PortResult;
use crate::verdict::Verdict;
use recado_domain::message::Message;

/// Lets `message` wait as `verdict` says, unless it is void: then it is cancelled. What its attempt came to must stand in
/// its record by now: who took the conversation over before this looked is found, and who does so later finds it queued.
pub(super) async fn wait_unless_void<W: Deps>(
    deps: &W,
    message: &Message,
    verdict: Verdict,
) -> PortResult<SendStep> {
    let void = cancel::cancel_if_void(deps, message).await?;
    Ok(void.unwrap_or(SendStep::Stop(verdict)))
}
