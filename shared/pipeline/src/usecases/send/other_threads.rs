//! Sends first what was made earlier for the same person under another identity.

use super::{SendContext, StepResult, Stop, handle_open_message, parking};
use crate::Deps;
use crate::steps::outgoing::list_open_outgoing;
use crate::steps::verdict::Verdict;
use jiff::SignedDuration;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
/// Time until a message is retried that waits for a parked message of another thread.
const PARKED_RECHECK: SignedDuration = SignedDuration::from_mins(1);

/// Handles the messages of the person's other threads that must leave before `message`. Reads nothing if no other
/// thread is known.
pub(super) async fn finish_earlier_messages(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> StepResult {
    for beside in &message.out.beside {
        let open = list_open_outgoing(deps, beside.thread_id()).await?;
        let last = open.iter().rposition(|other| other.is_sent_before(message));
        // All messages up to the last match are handled, even if clocks differ: a thread keeps its own order.
        for other in open.into_iter().take(last.map_or(0, |last| last + 1)) {
            match Box::pin(handle_open_message(deps, context, other)).await {
                Ok(()) | Err(Stop::Finished | Stop::Void) => {}
                // The other conversation is parked, and its release sends no job for this message.
                Err(Stop::Later(Verdict::Done)) => {
                    let at = add_duration(deps.system().now(), PARKED_RECHECK);
                    return parking::park_conversation(deps, message, Some(at)).await;
                }
                Err(stop) => return Err(stop),
            }
        }
    }
    Ok(())
}
