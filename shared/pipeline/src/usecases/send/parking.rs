//! Parks conversations whose messages cannot leave now: they wait outside the queue, in order, and cost nothing.

use super::{RETRY_SOON, StepResult, Stop, cancel};
use crate::Deps;
use crate::measure::count_parked;
use crate::steps::verdict::Verdict;
use jiff::{SignedDuration, Timestamp};
use recado_domain::instance::{ConnectionStatus, ParkedConversation};
use recado_domain::message::Outgoing;
use recado_ports::random_id::generate_nonce;

/// Waits longer than this are parked and not left in the queue. A queue can hide a message for
/// longer, but messages with distant slots must not use up a function's concurrency.
pub(super) const PARK_BEYOND: SignedDuration = SignedDuration::from_mins(15);

/// Parks the message's conversation, or cancels the message if it is a void reply. Without `not_before`, the instance's
/// state is read again afterwards. If the instance opened in between, its release did not include this entry: the entry
/// is removed, and the send job is retried soon. Always returns a [`Stop`].
pub(super) async fn park_conversation<T>(
    deps: &Deps,
    message: &Outgoing,
    not_before: Option<Timestamp>,
) -> StepResult<T> {
    cancel::cancel_if_void(deps, message).await?;
    let parked = ParkedConversation {
        instance: message.instance.clone(),
        conversation: message.conversation.clone(),
        version: generate_nonce(deps.system()),
        since: deps.system().now(),
        not_before,
        patience: deps.settings().parked_max,
        reply: message.reply_id(),
    };
    deps.store().put_parked(&parked).await?;
    if not_before.is_some() {
        count_parked(&message.instance);
        return Err(Stop::Later(Verdict::Done));
    }
    let state = deps.store().read_instance_state(&message.instance).await?;
    if state.connection == ConnectionStatus::Open {
        deps.store().remove_parked(&parked).await?;
        return Err(RETRY_SOON);
    }
    count_parked(&message.instance);
    tracing::info!(connection = state.connection.as_str(), "parked");
    Err(Stop::Later(Verdict::Done))
}
