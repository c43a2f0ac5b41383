//! Waits for messages that cannot leave now. The send job is retried, and the messages behind wait in the same FIFO
//! group.

use super::{StepResult, Stop, cancel};
use crate::Deps;
use crate::steps::verdict::Verdict;
use recado_domain::message::Outgoing;

/// Ends the send job with `verdict`, or cancels `message` if it is a void reply. The outcome of the message's attempt
/// must be stored before this call. Then an earlier takeover is found here, and a later takeover finds the message
/// `queued`. Always returns a [`Stop`].
pub(super) async fn wait_unless_void<T>(
    deps: &impl Deps,
    message: &Outgoing,
    verdict: Verdict,
) -> StepResult<T> {
    cancel::cancel_if_void(deps, message).await?;
    Err(Stop::Later(verdict))
}
