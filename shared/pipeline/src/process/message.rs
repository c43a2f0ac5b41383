use super::identity;
use crate::World;
use crate::ports::{Ambient, InboundStored, InboundWrite, Inbox, PortError, PortResult, Queues};
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, Status};
use recado_domain::event::{Enqueued, InboundJob, StoredAs};
use recado_domain::ids::{ConversationId, Ordinal, ThreadId};
use recado_domain::inbound::InboundMessage;
use recado_domain::kick::TurnKick;
use recado_domain::message::{Message, Role};
use recado_domain::millis::shift;
use recado_domain::reason::Reason;
use std::time::Duration;

/// How often a conversation that others write too is read again before the queue is asked to bring the event back.
pub(super) const TRIES: usize = 5;

/// Stores a message of the contact and sets the timer of its turn, in whatever mode: the turn looks at the mode, and a
/// give-back may come first.
pub(super) async fn received<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
) -> PortResult<Enqueued> {
    let stale = is_stale(world, job, inbound);
    let wants = inbound.content.wants_answer() && !stale;
    let place = store(world, job, bound, inbound, wants, stale).await?;
    if !wants {
        return Ok(Enqueued::Nothing);
    }
    send_timer(world, job, bound, &place).await?;
    Ok(Enqueued::Turn(place.ordinal))
}

/// History syncs and retries of long ago are stored, not answered.
pub(super) fn is_stale<W: World>(world: &W, job: &InboundJob, inbound: &InboundMessage) -> bool {
    let limit = i64::try_from(world.settings().stale_after.as_millis()).unwrap_or(i64::MAX);
    inbound
        .sent_at
        .is_some_and(|sent_at| shift(sent_at, limit) < job.received_at)
}

async fn store<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    inbound: &InboundMessage,
    wants: bool,
    stale: bool,
) -> PortResult<StoredAs> {
    for _ in 0..TRIES {
        let (thread, latest) = identity::person(world, job, bound, inbound).await?;
        let (phone, now) = (inbound.phone.clone(), world.ambient().now());
        let mut conversation = current(latest, &thread, bound, &inbound.address, phone, now);
        let Ok(ordinal) = conversation.receive(wants, job.received_at) else {
            continue;
        };
        identity::learn(world, job, &mut conversation, inbound).await?;
        conversation.wrote_from(&inbound.address);
        conversation.regard(&inbound.content, written_at(job, inbound));
        conversation.learn(inbound.name.as_deref(), inbound.phone.as_deref());
        conversation.rev += 1;
        let mut message = record(world, job, &conversation, inbound, Role::User, ordinal);
        message.unanswered = stale.then_some(Reason::Stale);
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
        };
        match world.store().store_inbound(write).await? {
            InboundStored::Yes => {
                return Ok(StoredAs {
                    conversation: conversation.id,
                    ordinal,
                });
            }
            InboundStored::Already(place) => return Ok(place),
            InboundStored::Conflict => {}
        }
    }
    Err(PortError::unavailable("conversation", "others kept writing it"))
}

/// The thread's active conversation, or the one that begins now.
pub(crate) fn current(
    latest: Option<Conversation>,
    thread: &ThreadId,
    bound: &Bound,
    address: &ContactAddress,
    phone: Option<String>,
    now: jiff::Timestamp,
) -> Conversation {
    let numbered = |number| {
        let id = ConversationId::new(thread.clone(), number);
        Conversation::begin(id, bound, address.clone(), phone, now)
    };
    match latest {
        Some(conversation) if conversation.status == Status::Active => conversation,
        Some(resolved) => {
            let mut begun = numbered(resolved.id.number().saturating_add(1));
            begun.follow(&resolved);
            begun
        }
        None => numbered(1),
    }
}

/// When a message was written, as the provider says. One whose clock runs ahead must not put messages after the answers
/// to them.
fn written_at(job: &InboundJob, inbound: &InboundMessage) -> jiff::Timestamp {
    inbound
        .sent_at
        .map_or(job.received_at, |sent_at| sent_at.min(job.received_at))
}

/// The record of a message that came in.
pub(super) fn record<W: World>(
    world: &W,
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
        stored_at: world.ambient().now(),
        correlation: job.correlation.clone(),
        event: Some(job.event.clone()),
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        out: None,
    }
}

async fn send_timer<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
    place: &StoredAs,
) -> PortResult<()> {
    let kick = TurnKick {
        conversation: place.conversation.clone(),
        tenant: bound.tenant.id.clone(),
        ordinal: place.ordinal,
        correlation: job.correlation.clone(),
        due: None,
    };
    let debounce = bound
        .instance
        .debounce_seconds
        .map_or(world.settings().debounce, |seconds| {
            Duration::try_from_secs_f64(seconds).unwrap_or(world.settings().debounce)
        });
    world.queues().send_turn(&kick, debounce).await
}

/// For an event that is given up after its message was stored: the answer is owed all the same.
pub(crate) async fn send_timer_if_stored<W: World>(
    world: &W,
    job: &InboundJob,
    bound: &Bound,
) -> PortResult<()> {
    let stored = world
        .store()
        .event(&job.event)
        .await?
        .and_then(|record| record.stored);
    match stored {
        Some(place) => send_timer(world, job, bound, &place).await,
        None => Ok(()),
    }
}
