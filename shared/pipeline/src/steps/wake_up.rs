//! Enqueues jobs of a conversation, which only name what is to be looked at.

use crate::Deps;
use crate::steps::trace_span::find_parent_span;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::debounce::{Debounce, PrecedingMessages};
use recado_domain::event::{InboundJob, MessagePosition};
use recado_domain::ids::{ConversationId, CorrelationId, Ordinal};
use recado_domain::message::{Message, OutgoingSide};
use recado_domain::wake_up::{AgentReturnJob, OutboundJob, SendJob, TurnJob, TurnsJob};
use recado_ports::ports::{OutboundEntry, PortResult};
use recado_ports::random_id::generate_nonce;

/// Enqueues a send job for all open messages up to `message`, in the FIFO group of `message`.
pub async fn enqueue_send(
    deps: &Deps,
    message: &Message<impl OutgoingSide>,
    correlation: &CorrelationId,
) -> PortResult<()> {
    enqueue_outbound(deps, build_send(message, correlation).into()).await
}

/// Builds a send job for all open messages up to `message`, in the FIFO group of `message`.
pub fn build_send(message: &Message<impl OutgoingSide>, correlation: &CorrelationId) -> SendJob {
    let job = new_send_job(message.conversation.clone(), message.ordinal, correlation);
    job.in_group_of(message)
}

/// Creates a send job in the contact's group for all open messages up to `upto`. Its work goes on below the current span.
fn new_send_job(conversation: ConversationId, upto: Ordinal, correlation: &CorrelationId) -> SendJob {
    SendJob {
        parent: find_parent_span(correlation),
        ..SendJob::new(conversation, upto, correlation.clone())
    }
}

/// Enqueues a send job if the contact has open messages, in the FIFO group of the first of them. A crash after a commit
/// may leave a message without a send job, so every way out of a turn calls this.
pub async fn enqueue_open_sends(
    deps: &Deps,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = deps.store().list_open_messages(conversation.thread_id()).await?;
    let (Some(first), Some(newest)) = (open.first(), open.last()) else {
        return Ok(());
    };
    let upto = newest.conversation.clone();
    let job = new_send_job(upto, newest.ordinal, correlation);
    enqueue_outbound(deps, job.in_group_of(first).into()).await
}

/// Enqueues a send job in the contact's own FIFO group after the conversation changed hands. Nothing is enqueued if the
/// contact has no open messages. Only messages that are not the agent's wait in that group, so void replies are
/// cancelled at once.
pub async fn enqueue_after_handover(
    deps: &Deps,
    conversation: &ConversationId,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let open = deps.store().list_open_messages(conversation.thread_id()).await?;
    let Some(newest) = open.last() else { return Ok(()) };
    let upto = newest.conversation.clone();
    enqueue_outbound(deps, new_send_job(upto, newest.ordinal, correlation).into()).await
}

/// Sends a job to the end of its FIFO group of `outbound`, under a new deduplication id. With the message's id, a job sent at a
/// release would be dropped if it came within the queue's five minutes.
pub async fn enqueue_outbound(deps: &Deps, job: OutboundJob) -> PortResult<()> {
    let deduplication = generate_nonce(deps.system()).to_string();
    deps.queues()
        .enqueue_outbound(&[OutboundEntry { job, deduplication }])
        .await
}

/// Enqueues a turn job for a conversation, due at once.
pub async fn enqueue_turn(
    deps: &Deps,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    deps.queues()
        .enqueue_turns_job(&build_turn(conversation, correlation), std::time::Duration::ZERO)
        .await
}

/// Longest delay of a job on the queue.
const DELAY_MAX: SignedDuration = SignedDuration::from_mins(15);

/// Starts the timer of the agent's return: a job that comes at that time, or after 15 minutes. Nothing is enqueued if
/// the agent does not come back by itself.
pub async fn enqueue_return_timer(
    deps: &Deps,
    conversation: &Conversation,
    correlation: &CorrelationId,
) -> PortResult<()> {
    let Some(due) = conversation.return_due_at() else {
        return Ok(());
    };
    let left = due.duration_since(deps.system().now());
    let delay = left.clamp(SignedDuration::ZERO, DELAY_MAX).unsigned_abs();
    let timer = TurnsJob::AgentReturn(AgentReturnJob {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        correlation: correlation.clone(),
        parent: find_parent_span(correlation),
    });
    deps.queues().enqueue_turns_job(&timer, delay).await
}

/// Builds a turn job for a conversation.
pub fn build_turn(conversation: &Conversation, correlation: &CorrelationId) -> TurnsJob {
    TurnsJob::Turn(TurnJob {
        conversation: conversation.id.clone(),
        tenant: conversation.tenant.clone(),
        ordinal: conversation.turn_upto,
        correlation: correlation.clone(),
        parent: find_parent_span(correlation),
        due: None,
    })
}

/// Enqueues the turn job of a contact's message that was stored at `place`. It is due after the silence.
pub async fn enqueue_reply_turn(
    deps: &Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    place: &MessagePosition,
    silence: SignedDuration,
) -> PortResult<()> {
    let job = build_reply_turn(job, bound, place);
    deps.queues()
        .enqueue_turns_job(&job, silence.unsigned_abs())
        .await
}

/// Builds the turn job of a contact's message that is stored at `place`.
pub fn build_reply_turn(job: &InboundJob, bound: &InstanceConfig, place: &MessagePosition) -> TurnsJob {
    TurnsJob::Turn(TurnJob {
        conversation: place.conversation.clone(),
        tenant: bound.tenant.id.clone(),
        ordinal: place.ordinal,
        correlation: job.correlation.clone(),
        parent: find_parent_span(&job.correlation),
        due: None,
    })
}

/// Returns the debounce of an instance.
pub fn resolve_debounce(deps: &Deps, bound: &InstanceConfig) -> Debounce {
    let settings = deps.settings();
    settings
        .debounce
        .resolve_for(&bound.instance, settings.debounce_bounds)
}

/// Returns how long the turn job of a contact's message waits, which was just added to `conversation`: for the silence after its
/// content, within the longest wait for a burst. `goes_on`: messages before it wait for an answer, too.
pub fn silence_after(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &Conversation,
    content: &Content,
    goes_on: bool,
) -> SignedDuration {
    let before = PrecedingMessages {
        goes_on,
        asked: conversation.questions.asked,
    };
    let silence = resolve_debounce(deps, bound).silence_after(content, before);
    conversation.bound_silence(silence, deps.system().now(), deps.settings().debounce_max)
}

/// Enqueues the turn of an event that is given up after its message was stored: the answer is still owed.
pub async fn enqueue_turn_if_stored(deps: &Deps, job: &InboundJob, bound: &InstanceConfig) -> PortResult<()> {
    let stored = deps
        .store()
        .find_event(&job.event)
        .await?
        .and_then(|record| record.stored);
    match stored {
        Some(place) => {
            let silence = resolve_debounce(deps, bound).silence_after_unknown();
            enqueue_reply_turn(deps, job, bound, &place, silence).await
        }
        None => Ok(()),
    }
}
