use super::removed_content::remove_deleted_content;
use super::{AppliedEvent, build_event_finish, identity};
use crate::Deps;
use crate::measure::{MessageStage, record_stage};
use crate::ports::{
    AppliedMessage, InboundWrite, Inbox, PortError, PortResult, Queues, StoreInboundOutcome, System,
    WRITE_TRIES,
};
use crate::steps::message_age::is_stale;
use crate::steps::wake_up;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::event::{FollowUpJob, InboundJob, MessagePosition, ProcessingRecord};
use recado_domain::ids::Ordinal;
use recado_domain::inbound::InboundMessage;
use recado_domain::message::{Message, Role};
use recado_domain::reason::Reason;

/// Stores a message of the contact and, if an answer is owed, starts the timer of its turn. The timer starts in every
/// mode: the turn checks the mode, and the conversation may be given back before that.
pub(super) async fn store_contact_message(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    started_at: Timestamp,
) -> PortResult<AppliedEvent> {
    let stale = is_stale(deps, job, inbound);
    let arrival = Arrival {
        job,
        bound,
        inbound,
        stale,
        wants: inbound.content.expects_answer() && !stale,
        started_at,
    };
    let place = match store_message(deps, arrival).await? {
        StoredMessage::WithFollowUp => return Ok(AppliedEvent::Finished),
        StoredMessage::At(place) => place,
    };
    remove_deleted_content(deps, job, bound, &inbound.content).await?;
    if !arrival.wants {
        return Ok(AppliedEvent::Followed(FollowUpJob::Nothing));
    }
    wake_up::enqueue_reply_turn(deps, job, bound, &place).await?;
    Ok(AppliedEvent::Followed(FollowUpJob::Turn(place.ordinal)))
}

/// A contact's message as it came.
#[derive(Clone, Copy)]
struct Arrival<'a> {
    job: &'a InboundJob,
    bound: &'a InstanceConfig,
    inbound: &'a InboundMessage,
    stale: bool,
    /// An answer is owed.
    wants: bool,
    /// Time at which the worker began.
    started_at: Timestamp,
}

/// A contact's message after it was stored.
enum StoredMessage {
    /// The message lies here. Its turn job and the end of its event are still to come.
    At(MessagePosition),
    /// The same transaction enqueued the turn job and finished the event.
    WithFollowUp,
}

async fn store_message(deps: &impl Deps, arrival: Arrival<'_>) -> PortResult<StoredMessage> {
    let Arrival {
        job,
        bound,
        inbound,
        stale,
        wants,
        ..
    } = arrival;
    for _ in 0..WRITE_TRIES {
        let (thread, latest) = identity::find_person_thread(deps, job, bound, inbound).await?;
        let (phone, now) = (inbound.phone.clone(), deps.system().now());
        let mut conversation =
            Conversation::continue_or_start(latest, &thread, bound, &inbound.address, phone, now);
        let Ok(ordinal) = conversation.receive_message(wants, job.received_at) else {
            continue;
        };
        identity::learn_identity(deps, job, &mut conversation, inbound).await?;
        conversation.set_reply_address(&inbound.address);
        conversation.apply_preference(&inbound.content, written_at(job, inbound));
        conversation.update_contact_details(inbound.name.as_deref(), inbound.phone.as_deref());
        let mut message = build_message(deps, job, &conversation, inbound, Role::User, ordinal);
        message.unanswered = stale.then_some(Reason::Stale);
        let (outcome, stored) = save_arrival(deps, arrival, conversation, &message).await?;
        match outcome {
            StoreInboundOutcome::Stored => {
                let now = deps.system().now();
                record_stage(&bound.instance.id, MessageStage::Inbound, job.received_at, now);
                return Ok(stored);
            }
            StoreInboundOutcome::AlreadyStored(place) => return Ok(StoredMessage::At(place)),
            StoreInboundOutcome::Conflict => {}
        }
    }
    Err(PortError::contended("conversation"))
}

/// Stores the message of `arrival`. Where records and queues lie in one database, the same transaction contains all that
/// follows from it. Returns also where the message lies once it is stored.
async fn save_arrival(
    deps: &impl Deps,
    arrival: Arrival<'_>,
    mut conversation: Conversation,
    message: &Message,
) -> PortResult<(StoreInboundOutcome, StoredMessage)> {
    let Arrival { job, bound, .. } = arrival;
    let place = MessagePosition {
        conversation: message.conversation.clone(),
        ordinal: message.ordinal,
    };
    let turn = arrival
        .wants
        .then(|| wake_up::build_reply_turn(deps, job, bound, &place));
    let enqueued = turn
        .as_ref()
        .map_or(FollowUpJob::Nothing, |_| FollowUpJob::Turn(place.ordinal));
    let started_at = arrival.started_at;
    let finish = build_event_finish(deps, job, ProcessingRecord { started_at, enqueued });
    conversation.rev += 1;
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message,
    };
    let applied = AppliedMessage {
        write,
        turn: turn.as_ref().map(|(turn, delay)| (turn, *delay)),
        finish: &finish,
    };
    // Before the event of a deletion is finished, the deleted content is removed.
    let is_deletion = matches!(message.content, Content::Deletion { .. });
    if !is_deletion && let Some(all) = deps.queues().store_and_finish(&applied) {
        return Ok((all.await?, StoredMessage::WithFollowUp));
    }
    let outcome = deps.store().store_inbound(write).await?;
    Ok((outcome, StoredMessage::At(place)))
}

/// Stores an inbound message with its conversation, which gets its next revision.
pub(super) async fn save_with_message(
    deps: &impl Deps,
    job: &InboundJob,
    conversation: &mut Conversation,
    message: &Message,
) -> PortResult<StoreInboundOutcome> {
    conversation.rev += 1;
    let write = InboundWrite {
        event: &job.event,
        conversation,
        message,
    };
    deps.store().store_inbound(write).await
}

/// Returns the time when a message was written, by the provider's clock, but not after its arrival. A provider's clock
/// that is ahead must not place messages after the answers to them.
fn written_at(job: &InboundJob, inbound: &InboundMessage) -> jiff::Timestamp {
    inbound
        .sent_at
        .map_or(job.received_at, |sent_at| sent_at.min(job.received_at))
}

/// Builds the record of an inbound message.
pub(super) fn build_message(
    deps: &impl Deps,
    job: &InboundJob,
    conversation: &Conversation,
    inbound: &InboundMessage,
    role: Role,
    ordinal: Ordinal,
) -> Message {
    Message {
        conversation: conversation.id.clone(),
        ordinal,
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        role,
        content: inbound.content.clone(),
        context: inbound.context.clone(),
        provider_message_id: inbound.provider_message_id.clone(),
        written_at: written_at(job, inbound),
        told_at: inbound.sent_at.filter(|sent_at| *sent_at > job.received_at),
        stored_at: deps.system().now(),
        correlation: job.correlation.clone(),
        event: Some(job.event.clone()),
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        out: None,
    }
}
