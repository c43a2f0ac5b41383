//! The messages of the queue `turns`: most ask for a turn, some expand a batch of invitations.

use crate::usecases::{deliver, reply};
use crate::{Deps, Verdict};
use jiff::Timestamp;

/// Handles one message of the queue `turns`. `receives` is how often the queue has delivered it; the function that runs it ends at
/// `deadline`, if it ends.
pub async fn handle_turns_message(
    deps: &impl Deps,
    body: &str,
    receives: u32,
    deadline: Option<Timestamp>,
) -> Verdict {
    match deliver::parse_batch_job(body) {
        Some(job) => Box::pin(deliver::handle_batch_job(deps, job, receives)).await,
        None => reply::handle_turn_message(deps, body, receives, deadline).await,
    }
}
