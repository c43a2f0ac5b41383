use super::identity;
use super::removed_content::remove_deleted_content;
use crate::Deps;
use crate::measure::{MessageStage, record_stage};
use crate::ports::{InboundWrite, Inbox, PortError, PortResult, StoreInboundOutcome, System, WRITE_TRIES};
use crate::steps::message_age::is_stale;
use crate::steps::wake_up;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::event::{FollowUpJob, InboundJob, MessagePosition};
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
) -> PortResult<FollowUpJob> {
    let stale = is_stale(deps, job, inbound);
    let wants = inbound.content.expects_answer() && !stale;
    let place = store_message(deps, job, bound, inbound, wants, stale).await?;
    remove_deleted_content(deps, job, bound, &inbound.content).await?;
    if !wants {
        return Ok(FollowUpJob::Nothing);
    }
    wake_up::enqueue_reply_turn(deps, job, bound, &place).await?;
    Ok(FollowUpJob::Turn(place.ordinal))
}

async fn store_message(
    deps: &impl Deps,
    job: &InboundJob,
    bound: &InstanceConfig,
    inbound: &InboundMessage,
    wants: bool,
    stale: bool,
) -> PortResult<MessagePosition> {
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
        match save_with_message(deps, job, &mut conversation, &message).await? {
            StoreInboundOutcome::Stored => {
                let now = deps.system().now();
                record_stage(&bound.instance.id, MessageStage::Inbound, job.received_at, now);
                return Ok(MessagePosition {
                    conversation: conversation.id,
                    ordinal,
                });
            }
            StoreInboundOutcome::AlreadyStored(place) => return Ok(place),
            StoreInboundOutcome::Conflict => {}
        }
    }
    Err(PortError::contended("conversation"))
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
