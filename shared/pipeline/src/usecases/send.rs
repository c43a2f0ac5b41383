//! The sender, the only code that sends messages to providers. A send job names a conversation and an ordinal. The
//! sender handles every open message of the contact up to that ordinal, in order, and stops at the first message that
//! cannot be finished now.

mod attempt;
mod settle;
mod stopped;
mod unknown_outcome;

use crate::Deps;
use crate::hooks::send_gate::SendMoment;
use crate::steps::enabled_instance::find_instance_of;
use crate::steps::first_attempt::{FirstAttempt, ask_gates};
use crate::steps::give_up::move_to_dead_letters;
use crate::steps::outgoing::{list_open_outgoing, requeue_dead_message};
use crate::steps::queue_message::REQUEUE_AFTER_RECEIVES;
use crate::steps::sending::{RETRY_SOON, SendContext, StepResult, Stop, find_last_start};
use crate::steps::trace_span::continue_trace;
use crate::steps::verdict::Verdict;
use crate::steps::{queue_message, wake_up};
use jiff::{SignedDuration, Timestamp};
use recado_domain::message::Outgoing;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::wake_up::SendJob;
use recado_ports::ports::{PortResult, WriteOutcome};
use std::collections::{BTreeMap, VecDeque};
use tracing::Instrument;

/// Time until a message is retried that waits for a parked message of another thread.
const PARKED_RECHECK: SignedDuration = SignedDuration::from_mins(1);

/// Longest time until an attempt is looked at again that another worker makes. It mostly ends long before its lease, and what is behind
/// the message waits for it.
const RUNNING_RECHECK: SignedDuration = SignedDuration::from_secs(2);

/// The result of handling one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum Handled {
    /// The sender continues with the next message: this one is sent, given up or cancelled, or is passed over.
    Finished,
    /// The message was a void reply and is cancelled. The sender continues with the next message; the agent's other
    /// queued replies of that epoch, or of an earlier epoch, are void too.
    Void,
    /// The message cannot be finished now. The send job ends with this verdict.
    Later(Verdict),
}

impl Handled {
    /// The send job is retried soon, and reads what is stored.
    const RETRY_SOON: Self = Self::Later(Verdict::RETRY_SOON);
    /// The send job ends, and another one will come to the message.
    const JOB_DONE: Self = Self::Later(Verdict::Done);

    /// Returns `Finished` if the last write of the message took place; else another worker was faster.
    fn finished_if(is_written: bool) -> Self {
        if is_written {
            Self::Finished
        } else {
            Self::RETRY_SOON
        }
    }
}

/// The newest known epoch of each conversation, by the conversation's number in the thread.
#[derive(Debug)]
struct NewestEpochs(BTreeMap<u32, u64>);

impl NewestEpochs {
    /// Collects the newest epochs from `open` messages. A person's answer carries the epoch that its takeover began.
    fn from_open_messages(open: &[Outgoing]) -> Self {
        let mut epochs = Self(BTreeMap::new());
        for message in open {
            epochs.record_epoch(message, message.out.epoch);
        }
        epochs
    }

    fn record_epoch(&mut self, message: &Outgoing, epoch: u64) {
        let known = self.0.entry(message.conversation.number_in_thread()).or_default();
        *known = epoch.max(*known);
    }

    /// Records that the reply `message` was void, so its conversation has a newer epoch.
    fn record_void_reply(&mut self, message: &Outgoing) {
        self.record_epoch(message, message.out.epoch.saturating_add(1));
    }

    /// Returns `true` if `message` is a queued reply of an earlier epoch.
    fn is_void_reply(&self, message: &Outgoing) -> bool {
        let newest = self.0.get(&message.conversation.number_in_thread()).copied();
        is_queued_reply(message) && newest > Some(message.out.epoch)
    }
}

/// Returns `true` if the message is `queued` and is a reply that a takeover makes void.
fn is_queued_reply(message: &Outgoing) -> bool {
    let out = &message.out;
    out.yields_to_takeover() && out.state == OutboxState::Queued
}

/// Handles a send job. `receives` is how often the queue has delivered it. No attempt begins that may not end before `deadline`. `begun`
/// is the attempt that the commit of the reply began, which is made first.
pub(crate) async fn handle_send_job(
    deps: &Deps,
    job: &SendJob,
    begun: Option<Box<FirstAttempt>>,
    receives: u32,
    deadline: Option<Timestamp>,
) -> Verdict {
    let span = tracing::info_span!(
        "send", conversation_id = %job.conversation, correlation_id = %job.correlation, receives
    );
    continue_trace(&span, &job.correlation, job.parent);
    async {
        // Boxed to keep this future small: thousands of them may wait side by side.
        let worked = Box::pin(async {
            if let Some(begun) = begun
                && let Some(ends) = make_first_attempt(deps, job, *begun, deadline).await?
            {
                return Ok(ends);
            }
            work_on_job(deps, job, receives, deadline).await
        })
        .await;
        queue_message::decide_verdict(deps, worked, &deps.settings().outbound_backoff, receives)
    }
    .instrument(span)
    .await
}

/// Makes the attempt that the commit of a reply began. Returns the verdict with which the job ends, unless other parts are left.
async fn make_first_attempt(
    deps: &Deps,
    job: &SendJob,
    begun: FirstAttempt,
    deadline: Option<Timestamp>,
) -> PortResult<Option<Verdict>> {
    let is_last = begun.message.ordinal == job.upto;
    Ok(
        match attempt::finish_first_attempt(deps, begun, deadline, is_last).await? {
            Handled::Finished if is_last => Some(Verdict::Done),
            Handled::Finished | Handled::Void => None,
            Handled::Later(verdict) => Some(verdict),
        },
    )
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
        capabilities: &deps.providers().capabilities(bound.instance.provider),
        last_start: find_last_start(deps, deadline),
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
        match Box::pin(handle_listed_message(deps, context, job, &epochs, message)).await? {
            Handled::Finished => {}
            Handled::Void => epochs.record_void_reply(message),
            Handled::Later(verdict) => return Ok(verdict),
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
) -> PortResult<Handled> {
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
    if let Some(waits) = finish_earlier_messages(deps, others, message).await? {
        return Ok(waits);
    }
    Box::pin(handle_open_message(deps, context, message.clone())).await
}

/// Cancels a void reply before its due time and its slot are checked. The messages behind the reply must not wait for
/// these. If an earlier attempt turns out to have been sent, the reply is marked as sent instead.
async fn cancel_unless_sent(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> PortResult<Handled> {
    if message.out.maybe_sent
        && let Some(settled) = unknown_outcome::settle_if_already_sent(deps, context, message).await?
    {
        return Ok(settled);
    }
    stopped::cancel_void_reply(deps, message).await
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
) -> PortResult<Handled> {
    if stopped::reply_is_void(deps, message).await? {
        return Box::pin(cancel_unless_sent(deps, context, message)).await;
    }
    if let Err(stop) = ask_gates(deps, context, message, SendMoment::OtherGroup).await {
        return Box::pin(stopped::carry_out(deps, context, message.clone(), stop)).await;
    }
    let moved = SendJob {
        redrive: None,
        ..job.clone().in_group_of(message)
    };
    wake_up::enqueue_outbound(deps, moved.into()).await?;
    Ok(Handled::JOB_DONE)
}

/// Handles the messages of the person's other threads that must leave before `message`. Reads nothing if no other
/// thread is known. `None`: `message` need not wait for them.
async fn finish_earlier_messages(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
) -> PortResult<Option<Handled>> {
    for beside in &message.out.beside {
        let open = list_open_outgoing(deps, beside.thread_id()).await?;
        let last = open.iter().rposition(|other| other.is_sent_before(message));
        // All messages up to the last match are handled, even if clocks differ: a thread keeps its own order.
        for other in open.into_iter().take(last.map_or(0, |last| last + 1)) {
            match Box::pin(handle_open_message(deps, context, other)).await? {
                Handled::Finished | Handled::Void => {}
                // The other conversation is parked, and its release sends no job for this message.
                Handled::Later(Verdict::Done) => {
                    let at = add_duration(deps.system().now(), PARKED_RECHECK);
                    let parks = stopped::park_conversation(deps, message, Some(at));
                    return parks.await.map(Some);
                }
                later @ Handled::Later(_) => return Ok(Some(later)),
            }
        }
    }
    Ok(None)
}

/// Handles one open message by the state that it is in, and does what follows where it does not leave.
async fn handle_open_message(
    deps: &Deps,
    context: SendContext<'_>,
    mut message: Outgoing,
) -> PortResult<Handled> {
    match advance_message(deps, context, &mut message).await {
        Ok(handled) => Ok(handled),
        Err(stop) => Box::pin(stopped::carry_out(deps, context, message, stop)).await,
    }
}

/// Takes an open message on from the state that it is in: attempts it, or finds out how its last attempt ended.
async fn advance_message(
    deps: &Deps,
    context: SendContext<'_>,
    message: &mut Outgoing,
) -> StepResult<Handled> {
    let now = deps.system().now();
    match message.out.state {
        OutboxState::Queued => attempt::attempt_send(deps, context, message).await,
        OutboxState::Sending { lease_until, .. } if lease_until > now => {
            let at = lease_until.min(add_duration(now, RUNNING_RECHECK));
            Err(Stop::Later(Verdict::retry_at(at, now)))
        }
        OutboxState::Sending { .. } => {
            message.out.mark_lease_ended(now)?;
            if deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict {
                return Err(RETRY_SOON);
            }
            Box::pin(unknown_outcome::reconcile_outcome(deps, context, message)).await
        }
        OutboxState::Unknown { .. } => {
            Box::pin(unknown_outcome::reconcile_outcome(deps, context, message)).await
        }
        // The message is dead, but its dead letter is missing: a crash came in between.
        OutboxState::Dead { .. } => {
            let moved = Box::pin(move_to_dead_letters(deps, message.clone())).await?;
            Ok(Handled::finished_if(moved))
        }
        OutboxState::Sent { .. } | OutboxState::Cancelled { .. } => Ok(Handled::Finished),
    }
}
