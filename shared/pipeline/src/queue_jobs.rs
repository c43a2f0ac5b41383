//! The messages of the queues `turns` and `outbound`: each holds a job of one of several kinds.

use crate::Deps;
use crate::steps::queue_message::{REQUEUE_AFTER_RECEIVES, decide_verdict, parse_queue_message};
use crate::steps::sending::find_last_start;
use crate::steps::trace_span::continue_trace;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up::enqueue_outbound;
use crate::usecases::reply::LeftSend;
use crate::usecases::{reply, send};
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use recado_domain::dead_letter::{QueueName, TurnsMessage};
use recado_domain::millis::add_duration;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use recado_ports::ports::{EmailSenders, PortError, PortResult};
use recado_ports::records::dead_letters::remove_dead_letter;
use std::time::Duration;
use tracing::Instrument;

/// Handles one message of the queue `turns`. `receives` is how often the queue has delivered it; the function that runs it ends at
/// `deadline`, if it ends.
///
/// The future is boxed here, so that it is compiled with this crate.
pub fn handle_turns_message<'a>(
    deps: &'a Deps,
    body: &'a str,
    receives: u32,
    deadline: Option<Timestamp>,
) -> BoxFuture<'a, Verdict> {
    Box::pin(async move {
        let message: TurnsMessage = match parse_queue_message(deps, QueueName::Turns, body).await {
            Ok(message) => message,
            Err(verdict) => return verdict,
        };
        let job = &message.job;
        let span = tracing::info_span!(
            "turn", job = job.kind_name(), conversation_id = job.conversation().map(display),
            correlation_id = %job.correlation(), receives
        );
        continue_trace(&span, job.correlation(), job.parent());
        async {
            // Boxed to keep this future small: thousands of them may wait side by side.
            let worked = Box::pin(handle_turns_job(deps, &message, receives, deadline)).await;
            decide_verdict(deps, worked, &deps.settings().turns_backoff, receives)
        }
        .instrument(span)
        .await
    })
}

/// Does a job after some preparation. The dead letter of a redriven job is removed first. A job that was received too often is
/// sent again as a new message instead.
async fn handle_turns_job(
    deps: &Deps,
    message: &TurnsMessage,
    receives: u32,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    if let Some(redrive) = &message.redrive {
        remove_dead_letter(deps.store(), &redrive.dead_letter, redrive.failed_at).await?;
    }
    if receives >= REQUEUE_AFTER_RECEIVES {
        tracing::warn!("a job that came back often is sent anew");
        deps.queues()
            .enqueue_turns_job(&message.job, Duration::ZERO)
            .await?;
        return Ok(Verdict::Done);
    }
    if let Some(at) = message.not_before {
        wait_for_fraction(deps, at).await;
    }
    if let TurnsJob::Turn(job) = &message.job {
        let handled = reply::handle_turn_job(deps, job, deadline).await?;
        if let Some(left) = handled.left {
            send_or_enqueue(deps, left, deadline).await?;
        }
        return Ok(handled.verdict);
    }
    let mut handlers = deps.features().job_handlers.iter();
    let worked = handlers.find_map(|handler| handler.handle_turns_job(deps, &message.job, receives));
    match worked {
        Some(worked) => worked.await,
        None => Err(PortError::invalid("job", "no feature does it")),
    }
}

/// The part of a delay that a queue does not keep, which counts whole seconds: less than a second.
const FRACTION_MAX: SignedDuration = SignedDuration::from_secs(1);

/// Waits for the rest of a job's delay. A clock that differs from the sender's makes it no longer.
async fn wait_for_fraction(deps: &Deps, at: Timestamp) {
    let left = at.duration_since(deps.system().now()).min(FRACTION_MAX);
    if left.is_positive() {
        deps.system().sleep(left.unsigned_abs()).await;
    }
}

/// Longest wait of an unfinished send job inside the function, before it is enqueued: a FIFO queue delays no single message.
const WAIT_BEFORE_QUEUE_MAX: SignedDuration = SignedDuration::from_secs(5);

/// Does the send job of a reply that was just committed: no queue stands between the two. What cannot be finished at once is enqueued,
/// such as a message that waits for its slot or for an earlier one. If the process ends before, the turn job comes again and finds the
/// open messages.
async fn send_or_enqueue(deps: &Deps, left: LeftSend, deadline: Option<Timestamp>) -> PortResult<()> {
    let LeftSend { job, begun, rest } = left;
    let verdict = send::handle_send_job(deps, &job, begun, 1, deadline).await;
    if let Some(rest) = rest {
        deps.queues().enqueue_turns_job(&rest, Duration::ZERO).await?;
    }
    let Verdict::Retry { after } = verdict else {
        return Ok(());
    };
    let again_at = add_duration(deps.system().now(), after);
    let has_time = find_last_start(deps, deadline).is_none_or(|last| again_at < last);
    if after <= WAIT_BEFORE_QUEUE_MAX && has_time {
        deps.system().sleep(after.unsigned_abs()).await;
    }
    enqueue_outbound(deps, job.into()).await
}

/// Handles one message of the queue `outbound`. `receives` is how often the queue has delivered it. No attempt begins that may not
/// end before `deadline`.
///
/// The future is boxed here, so that it is compiled with this crate.
pub fn handle_outbound_message<'a>(
    deps: &'a Deps,
    carriers: &'a dyn EmailSenders,
    body: &'a str,
    receives: u32,
    deadline: Option<Timestamp>,
) -> BoxFuture<'a, Verdict> {
    Box::pin(async move {
        let job: OutboundJob = match parse_queue_message(deps, QueueName::Outbound, body).await {
            Ok(job) => job,
            Err(verdict) => return verdict,
        };
        if let OutboundJob::Send(job) = &job {
            return send::handle_send_job(deps, job, None, receives, deadline).await;
        }
        let mut handlers = deps.features().job_handlers.iter();
        let worked = handlers
            .find_map(|handler| handler.handle_outbound_job(deps, carriers, &job, receives, deadline));
        let Some(worked) = worked else {
            let refused = Err(PortError::invalid("job", "no feature does it"));
            return decide_verdict(deps, refused, &deps.settings().outbound_backoff, receives);
        };
        worked.await
    })
}
