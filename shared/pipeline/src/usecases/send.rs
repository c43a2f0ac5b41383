//! The sender, the only code that sends messages to providers. A send job names a conversation and an ordinal. The
//! sender handles every open message of the contact up to that ordinal, in order, and stops at the first message that
//! cannot be finished now.

mod attachment;
mod attempt;
mod cancel;
mod connection_check;
mod expiry;
mod first_contact;
mod identity_attempt;
mod invitation_gate;
mod other_threads;
mod parking;
mod read_marks;
mod service_window;
mod settle;
mod template_check;
mod thread_hold;
mod unknown_outcome;
mod waiting;

use crate::Deps;
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::give_up::{give_up_message, move_to_dead_letters};
use crate::steps::outgoing::list_open_outgoing;
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES};
use crate::steps::requeue_dead::requeue_dead_message;
use crate::steps::trace_span::continue_trace;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use cancel::NewestEpochs;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::instance::InstanceState;
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::{InvalidTransition, OutboxState};
use recado_domain::reason::Reason;
use recado_domain::wake_up::SendJob;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use std::collections::VecDeque;
use tracing::Instrument;

/// The reason for which a step ends the handling of a message.
#[derive(Debug, thiserror::Error)]
enum Stop {
    /// The message is finished: it was given up, or had been sent before; or its batch is paused. The sender continues with the
    /// next message.
    #[error("the message is finished")]
    Finished,
    /// The message was a void reply and is cancelled. The sender continues with the next message; the agent's other
    /// queued replies of that epoch, or of an earlier epoch, are void too.
    #[error("the message is cancelled")]
    Void,
    /// The message cannot be finished now. The send job ends with this verdict.
    #[error("the message waits")]
    Later(Verdict),
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Stops the send job and retries it soon, for example after a conditional write failed. Continuing with the next
/// message would send reply 2 before reply 1.
const RETRY_SOON: Stop = Stop::Later(Verdict::RETRY_SOON);

impl From<InvalidTransition> for Stop {
    /// The message is in another state than it was read in: the retried send job reads what is stored.
    fn from(_: InvalidTransition) -> Self {
        RETRY_SOON
    }
}

/// The result of a step of a send job.
type StepResult<T = ()> = Result<T, Stop>;

/// Stops the send job and retries it soon if a conditional write failed.
fn require_written(outcome: WriteOutcome) -> StepResult {
    match outcome {
        WriteOutcome::Written => Ok(()),
        WriteOutcome::Conflict => Err(RETRY_SOON),
    }
}

/// Gives up a message. The handling of the message is finished then.
async fn give_up(deps: &Deps, message: Outgoing, reason: Reason, why: Option<String>) -> StepResult {
    let given_up = Box::pin(give_up_message(deps, message, reason, why)).await?;
    given_up.then_some(()).ok_or(RETRY_SOON)
}

/// The data that every step of a send job needs.
#[derive(Debug, Clone, Copy)]
struct SendContext<'a> {
    bound: &'a InstanceConfig,
    /// Time at which the function's run time ends; `None` if there is no limit.
    deadline: Option<Timestamp>,
    /// The instance's state when the message's slot was reserved; `None` before that.
    known: Option<&'a InstanceState>,
    /// Nothing is left of the send job once the message is sent.
    ends_job: bool,
}

/// Returns `true` if the function would end before the provider's answer could be stored. The time that is needed is
/// the provider's time-out and 5 seconds.
fn deadline_is_too_near(deps: &Deps, context: SendContext<'_>, now: Timestamp) -> bool {
    let need = deps
        .settings()
        .provider_timeout
        .saturating_add(SignedDuration::from_secs(5));
    context
        .deadline
        .is_some_and(|deadline| add_duration(now, need) > deadline)
}

/// Handles a send job. `receives` is how often the queue has delivered it. No attempt begins that may not end before `deadline`.
pub(crate) async fn handle_send_job(
    deps: &Deps,
    job: &SendJob,
    receives: u32,
    deadline: Option<Timestamp>,
) -> Verdict {
    let span = tracing::info_span!(
        "send", conversation_id = %job.conversation, correlation_id = %job.correlation, receives
    );
    continue_trace(&span, &job.correlation, job.parent);
    async {
        // Boxed to keep this future small: thousands of them may wait side by side.
        let worked = Box::pin(work_on_job(deps, job, receives, deadline)).await;
        queue_message::decide_verdict(deps, worked, &deps.settings().outbound_backoff, receives)
    }
    .instrument(span)
    .await
}

async fn work_on_job(
    deps: &Deps,
    job: &SendJob,
    receives: u32,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    if receives >= REQUEUE_AFTER_RECEIVES {
        tracing::warn!("a send job that was received too often is sent anew");
        wake_up::enqueue_outbound(deps, job.clone().into()).await?;
        return Ok(Verdict::Done);
    }
    if let Some(redrive) = &job.redrive {
        requeue_dead_message(deps, redrive).await?;
    }
    let open = list_open_outgoing(deps, job.thread_id()).await?;
    let Some(first) = open.first() else {
        return Ok(Verdict::Done);
    };
    let Some(bound) = find_instance_of(deps, &first.instance, &first.tenant).await? else {
        return Ok(Verdict::Retry {
            after: recado_domain::backoff::WAIT_MAX,
        });
    };
    let context = SendContext {
        bound: &bound,
        deadline,
        known: None,
        ends_job: false,
    };
    let mut epochs = NewestEpochs::from_open_messages(&open);
    let mut listed = open
        .iter()
        .filter(|message| job.includes_message(message))
        .collect::<VecDeque<_>>();
    while let Some(message) = listed.pop_front() {
        let context = SendContext {
            ends_job: listed.is_empty(),
            ..context
        };
        match Box::pin(handle_listed_message(deps, context, job, &epochs, message)).await {
            Ok(()) | Err(Stop::Finished) => {}
            Err(Stop::Void) => epochs.record_void_reply(message),
            Err(Stop::Later(verdict)) => return Ok(verdict),
            Err(Stop::Port(error)) => return Err(error),
        }
    }
    Ok(Verdict::Done)
}

/// Handles one of the messages that a send job includes.
async fn handle_listed_message(
    deps: &Deps,
    context: SendContext<'_>,
    job: &SendJob,
    epochs: &NewestEpochs,
    message: &Outgoing,
) -> StepResult {
    if epochs.is_void_reply(message) {
        return Box::pin(cancel_unless_sent(deps, context, message)).await;
    }
    if message.reply_id() != job.reply {
        return Box::pin(move_to_other_group(deps, context, job, message)).await;
    }
    let others = SendContext {
        ends_job: false,
        ..context
    };
    other_threads::finish_earlier_messages(deps, others, message).await?;
    Box::pin(handle_open_message(deps, context, message.clone())).await
}

/// Cancels a void reply before its due time and its slot are checked. The messages behind the reply must not wait for
/// these. If an earlier attempt turns out to have been sent, the reply is marked as sent instead.
async fn cancel_unless_sent(deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> StepResult {
    unknown_outcome::settle_if_already_sent(deps, context, message).await?;
    cancel::cancel_void_reply(deps, message).await
}

/// Moves the send job to the FIFO group in which `message` is handled, and ends this job. The messages behind `message`
/// are handled there too. So two workers never handle the same message, and nothing waits in a group for a message of
/// another group. A void reply, and a message whose time is over, is cancelled here instead: nothing waits for it. What its own group
/// would pass over is passed over here, too: otherwise the groups would hand the job to each other without end.
async fn move_to_other_group(
    deps: &Deps,
    context: SendContext<'_>,
    job: &SendJob,
    message: &Outgoing,
) -> StepResult {
    if cancel::reply_is_void(deps, message).await? {
        return Box::pin(cancel_unless_sent(deps, context, message)).await;
    }
    expiry::cancel_if_expired(deps, context, message).await?;
    invitation_gate::pass_over_waiting(deps, context, message).await?;
    let moved = SendJob {
        redrive: None,
        ..job.clone().in_group_of(message)
    };
    wake_up::enqueue_outbound(deps, moved.into()).await?;
    Err(Stop::Later(Verdict::Done))
}

async fn handle_open_message(deps: &Deps, context: SendContext<'_>, mut message: Outgoing) -> StepResult {
    let now = deps.system().now();
    match message.out.state {
        OutboxState::Queued => {
            Box::pin(identity_attempt::check_identity_attempt(deps, context, &message)).await?;
            unknown_outcome::settle_if_already_sent(deps, context, &message).await?;
            attempt::attempt_send(deps, context, message).await
        }
        OutboxState::Sending { lease_until, .. } if lease_until > now => {
            Err(Stop::Later(Verdict::retry_at(lease_until, now)))
        }
        OutboxState::Sending { .. } => {
            message.out.mark_lease_ended(now)?;
            require_written(deps.store().save_open_message(&message.to_record(), None).await?)?;
            Box::pin(unknown_outcome::reconcile_outcome(deps, context, message)).await
        }
        OutboxState::Unknown { .. } => {
            Box::pin(unknown_outcome::reconcile_outcome(deps, context, message)).await
        }
        // The message is dead, but its dead letter is missing: a crash came in between.
        OutboxState::Dead { .. } => {
            let moved = Box::pin(move_to_dead_letters(deps, message)).await?;
            moved.then_some(()).ok_or(RETRY_SOON)
        }
        OutboxState::Sent { .. } | OutboxState::Cancelled { .. } => Ok(()),
    }
}
