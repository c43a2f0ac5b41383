//! Waits for messages that cannot leave now. The send job is retried, and the messages behind wait in the same FIFO
//! group.

use super::{SendStep, cancel};
use crate::Deps;
use crate::ports::PortResult;
use crate::steps::verdict::Verdict;
use recado_domain::message::Message;

/// Ends the send job with `verdict`, or cancels `message` if it is a void reply. The outcome of the message's attempt
/// must be stored before this call. Then an earlier takeover is found here, and a later takeover finds the message
/// `queued`.
pub(super) async fn wait_unless_void<W: Deps>(
    deps: &W,
    message: &Message,
    verdict: Verdict,
) -> PortResult<SendStep> {
    let void = cancel::cancel_if_void(deps, message).await?;
    Ok(void.unwrap_or(SendStep::Stop(verdict)))
}
