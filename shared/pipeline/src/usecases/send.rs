//! The sender, the only code that sends messages to providers. A send job names a conversation and an ordinal. The
//! sender handles every open message of the contact up to that ordinal, in order, and stops at the first message that
//! cannot be finished now.

mod attachment;
mod attempt;
mod cancel;
mod connection_check;
mod other_threads;
mod parking;
mod service_window;
mod settle;
mod unknown_outcome;
mod waiting;

use crate::Deps;
use crate::ports::{ConfigurationStore, OutboxStore, PortResult, System, WriteOutcome};
use crate::steps::give_up::move_to_dead_letters;
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES};
use crate::steps::requeue_dead::requeue_dead_message;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use cancel::NewestEpochs;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::dead_letter::QueueName;
use recado_domain::instance::InstanceState;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::wake_up::SendJob;
use tracing::Instrument;

/// The result of handling one open message.
#[derive(Debug)]
enum SendStep {
    /// The message is finished. The sender continues with the next message.
    Next,
    /// The message was a void reply and is cancelled. The sender continues with the next message; the agent's other
    /// queued replies of that epoch, or of an earlier epoch, are void too.
    Void,
    /// The message cannot be finished now. The send job ends with this verdict.
    Stop(Verdict),
}

/// Stops the send job and retries it soon, for example after a conditional write failed. Continuing with the next
/// message would send reply 2 before reply 1.
const RETRY_SOON: SendStep = SendStep::Stop(Verdict::RETRY_SOON);

/// The data that every step of a send job needs.
#[derive(Debug, Clone, Copy)]
struct SendContext<'a> {
    bound: &'a InstanceConfig,
    /// Time at which the function's run time ends; `None` if there is no limit.
    deadline: Option<Timestamp>,
    /// The instance's state when the message's slot was reserved; `None` before that.
    known: Option<&'a InstanceState>,
}

/// Handles one message of the `outbound` queue. `receives` is how often the queue has delivered this message. No
/// attempt begins that may not end before `deadline`.
pub async fn handle_outbound_message<W: Deps>(
    deps: &W,
    body: &str,
    receives: u32,
    deadline: Option<Timestamp>,
) -> Verdict {
    let kick: SendJob = match queue_message::parse_queue_message(deps, QueueName::Outbound, body).await {
        Ok(kick) => kick,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "send", conversation_id = %kick.conversation, correlation_id = %kick.correlation, receives
    );
    async {
        // Boxed to keep this future small: thousands of them may wait side by side.
        let worked = Box::pin(handle_send_job(deps, &kick, receives, deadline)).await;
        queue_message::decide_verdict(deps, worked, &deps.settings().outbound_backoff, receives)
    }
    .instrument(span)
    .await
}

async fn handle_send_job<W: Deps>(
    deps: &W,
    kick: &SendJob,
    receives: u32,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    if receives >= REQUEUE_AFTER_RECEIVES {
        tracing::warn!("a kick that came back often is sent anew");
        wake_up::requeue_send(deps, kick).await?;
        return Ok(Verdict::Done);
    }
    if let Some(redrive) = &kick.redrive {
        requeue_dead_message(deps, redrive).await?;
    }
    let open = deps.store().list_open_messages(kick.thread_id()).await?;
    let Some(instance) = open.first().map(|message| message.instance.clone()) else {
        return Ok(Verdict::Done);
    };
    let Some(bound) = deps.store().instance_config(&instance).await? else {
        tracing::error!(instance_id = %instance, "message of an instance that is no longer configured");
        return Ok(Verdict::Retry {
            after: recado_domain::backoff::WAIT_MAX,
        });
    };
    let context = SendContext {
        bound: &bound,
        deadline,
        known: None,
    };
    let mut epochs = NewestEpochs::from_open_messages(&open);
    for message in open.iter().filter(|message| kick.includes_message(message)) {
        let step = if epochs.is_void_reply(message) {
            cancel_unless_sent(deps, context, message).await?
        } else if message.reply_id() == kick.reply {
            match other_threads::finish_earlier_messages(deps, context, message).await? {
                waits @ SendStep::Stop(_) => waits,
                SendStep::Next | SendStep::Void => {
                    handle_open_message(deps, context, message.clone()).await?
                }
            }
        } else {
            move_to_other_group(deps, context, kick, message).await?
        };
        match step {
            SendStep::Next => {}
            SendStep::Void => epochs.record_void_reply(message),
            SendStep::Stop(verdict) => return Ok(verdict),
        }
    }
    Ok(Verdict::Done)
}

/// Cancels a void reply before its due time and its slot are checked. The messages behind the reply must not wait for
/// these. If an earlier attempt turns out to have been sent, the reply is marked as sent instead.
async fn cancel_unless_sent<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: &Message,
) -> PortResult<SendStep> {
    if let Some(step) = settle_if_already_sent(deps, context, message).await? {
        return Ok(step);
    }
    cancel::cancel_void_reply(deps, message).await
}

/// Moves the send job to the FIFO group in which `message` is handled, and ends this job. The messages behind `message`
/// are handled there too. So two workers never handle the same message, and nothing waits in a group for a message of
/// another group. A void reply is cancelled here instead.
async fn move_to_other_group<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    kick: &SendJob,
    message: &Message,
) -> PortResult<SendStep> {
    if cancel::reply_is_void(deps, message).await? {
        return cancel_unless_sent(deps, context, message).await;
    }
    let moved = SendJob {
        redrive: None,
        ..kick.clone().in_group_of(message)
    };
    wake_up::requeue_send(deps, &moved).await?;
    Ok(SendStep::Stop(Verdict::Done))
}

/// Marks a message as sent if evidence of an earlier attempt has appeared meanwhile. Called before the message is sent
/// again or cancelled. Returns `None` if the message is not marked `maybe_sent` or there is no evidence.
async fn settle_if_already_sent<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    message: &Message,
) -> PortResult<Option<SendStep>> {
    if message.out.as_ref().is_some_and(|out| out.maybe_sent) {
        unknown_outcome::settle_if_confirmed(deps, context, message).await
    } else {
        Ok(None)
    }
}

async fn handle_open_message<W: Deps>(
    deps: &W,
    context: SendContext<'_>,
    mut message: Message,
) -> PortResult<SendStep> {
    let now = deps.system().now();
    let Some(out) = message.out.as_mut() else {
        return Ok(SendStep::Next);
    };
    match out.state.clone() {
        OutboxState::Queued => {
            if let Some(step) = settle_if_already_sent(deps, context, &message).await? {
                return Ok(step);
            }
            attempt::attempt_send(deps, context, message).await
        }
        OutboxState::Sending { lease_until, .. } if lease_until > now => {
            Ok(SendStep::Stop(Verdict::retry_at(lease_until, now)))
        }
        OutboxState::Sending { .. } => {
            if out.mark_lease_ended(now).is_err()
                || deps.store().save_open_message(&message, None).await? == WriteOutcome::Conflict
            {
                return Ok(RETRY_SOON);
            }
            unknown_outcome::reconcile_outcome(deps, context, message).await
        }
        OutboxState::Unknown { .. } => unknown_outcome::reconcile_outcome(deps, context, message).await,
        // The message is dead, but its dead letter is missing: a crash came in between.
        OutboxState::Dead { .. } => Ok(if move_to_dead_letters(deps, message).await? {
            SendStep::Next
        } else {
            RETRY_SOON
        }),
        OutboxState::Sent { .. } | OutboxState::Cancelled { .. } => Ok(SendStep::Next),
    }
}
