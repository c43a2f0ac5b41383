//! What clients send by the API: to anybody, now or later.
//!
//! A message that is to be sent now gets the next ordinal of the contact's conversation; one for later is a record of its
//! own until it falls due. Neither answers the contact nor takes the conversation over.

mod later;
mod now;

use crate::World;
use crate::identity;
use crate::kick;
use crate::person;
use crate::ports::{Aliases, Ambient, Conversations, Directory, KeyClaim, KeyRecord, PortError, PortResult};
use crate::wish::{NotSendable, Ready, WishError, fingerprint, needs_look_ups, ready};
use crate::world::traits;
use jiff::Timestamp;
pub use later::{cancel, fall_due, find};
use recado_domain::config::Bound;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, InstanceId, MessageId, hash_of};
use recado_domain::message::MessageStatus;
use recado_domain::metadata::Metadata;
use recado_domain::millis::shift;
use recado_domain::options::SendOptions;
use recado_domain::recipient::{RecipientError, recipient};
use recado_domain::scheduled::{NotPending, Scheduled, ScheduledId, ScheduledState};

/// How often a conversation that others write too is read again.
const TRIES: usize = 6;

/// How far ahead a message may be scheduled.
const AHEAD_MAX_MS: i64 = 366 * 86_400_000;

/// What a client wants to be sent.
#[derive(Debug, Clone)]
pub struct Send {
    /// To whom: a phone number in any writing, or a WhatsApp address.
    pub to: String,
    /// What it says.
    pub content: Content,
    /// How; ids of messages in it may be ours or the provider's.
    pub options: SendOptions,
    /// The client's key: the same request with the same key is one message.
    pub key: Option<IdempotencyKey>,
    /// What the client keeps with it.
    pub metadata: Option<Metadata>,
    /// When, at the earliest; absent or past: now.
    pub send_at: Option<Timestamp>,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
}

/// A message that is stored, or scheduled.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted {
    /// Its id, a message's or a scheduled message's.
    pub id: MessageId,
    /// Where it lies; absent until it falls due.
    pub conversation: Option<ConversationId>,
    /// How far it is.
    pub status: MessageStatus,
    /// When it is to be sent, if that lay ahead.
    pub send_at: Option<Timestamp>,
    /// The request came before.
    pub repeated: bool,
}

/// Why it was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum DeliverError {
    /// There is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It cannot be sent.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
    /// It names nobody to send to.
    #[error(transparent)]
    Recipient(#[from] RecipientError),
    /// Too far ahead.
    #[error("`send_at` must not be more than a year ahead")]
    TooFarAhead,
    /// The key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// It is no longer pending.
    #[error(transparent)]
    NotPending(#[from] NotPending),
    /// Others kept changing it; trying again helps.
    #[error("the conversation is being changed by others, try again")]
    Busy,
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<WishError> for DeliverError {
    fn from(error: WishError) -> Self {
        match error {
            WishError::Refused(why) => Self::NotSendable(why),
            WishError::Port(error) => Self::Port(error),
        }
    }
}

/// What is sent, once everything about it is known to be sound.
struct Checked {
    bound: Bound,
    to: ContactAddress,
    ready: Ready,
    send: Send,
    claim: Option<KeyClaim>,
}

/// Takes a message that a client wants to be sent on `instance`: stored and kicked, or scheduled.
pub async fn send<W: World>(world: &W, instance: &InstanceId, send: Send) -> Result<Accepted, DeliverError> {
    let bound = world.store().bound_by_id(instance).await?;
    let bound = bound.ok_or(DeliverError::NotFound("instance"))?;
    let to = recipient(traits(world, &bound).addresses, &send.to)?;
    let now = world.ambient().now();
    let ahead = send.send_at.filter(|at| *at > now);
    if ahead.is_some_and(|at| at > shift(now, AHEAD_MAX_MS)) {
        return Err(DeliverError::TooFarAhead);
    }
    let claim = send
        .key
        .clone()
        .map(|key| claim(world, instance, &to, &send, key))
        .transpose()?;
    if let Some(claim) = claim
        .as_ref()
        .filter(|_| needs_look_ups(&send.content, &send.options))
        && let Some(record) = world.store().key(&claim.scope, &claim.key).await?
    {
        return repeated(world, Some(claim), record, &send.correlation).await;
    }
    let mut thread = identity::thread(world, instance, to.as_str()).await?;
    if needs_look_ups(&send.content, &send.options) {
        (thread, _) = person::latest(world, thread).await?;
    }
    let wish = (send.content.clone(), send.options.clone());
    let ready = ready(world, &bound, &thread, wish, ahead).await?;
    let checked = Checked {
        bound,
        to,
        ready,
        send,
        claim,
    };
    match ahead {
        Some(at) => later::schedule(world, checked, at).await,
        None => now::commit(world, checked).await,
    }
}

fn claim<W: World>(
    world: &W,
    instance: &InstanceId,
    to: &ContactAddress,
    send: &Send,
    key: IdempotencyKey,
) -> PortResult<KeyClaim> {
    let ttl = i64::try_from(world.settings().key_ttl.as_millis()).unwrap_or(i64::MAX);
    let now = world.ambient().now();
    let send_at = send.send_at.map(|at| at.as_millisecond().to_string());
    let metadata = send.metadata.as_ref().map_or("", Metadata::as_str);
    let said = fingerprint(&send.content, &send.options)?;
    let (text, more) = said
        .split_first()
        .map_or(("", &[][..]), |(text, more)| (text.as_str(), more));
    let mut parts = vec![
        "send",
        to.as_str(),
        text,
        metadata,
        send_at.as_deref().unwrap_or(""),
    ];
    parts.extend(more.iter().map(String::as_str));
    Ok(KeyClaim {
        scope: instance.to_string(),
        key,
        request_hash: hash_of(&parts, 32),
        // A client that asks again what it scheduled finds it until well after it was sent.
        expires: shift(send.send_at.map_or(now, |at| at.max(now)), ttl),
    })
}

/// The same request again: the same message, and its kick, which a crash may have prevented.
async fn repeated<W: World>(
    world: &W,
    claim: Option<&KeyClaim>,
    record: KeyRecord,
    correlation: &CorrelationId,
) -> Result<Accepted, DeliverError> {
    if claim.is_none_or(|claim| claim.request_hash != record.request_hash) {
        return Err(DeliverError::KeyReused);
    }
    let (mut at, mut send_at) = (record.message.clone(), None);
    if let Ok(id) = ScheduledId::parse(record.message.as_str()) {
        let scheduled = find(world, &id).await?.ok_or(DeliverError::NotFound("message"))?;
        send_at = Some(scheduled.send_at);
        match &scheduled.state {
            ScheduledState::Became { message, .. } => at = message.clone(),
            _ => return Ok(accepted(&scheduled, true)),
        }
    }
    let message = world.store().message(&at).await?;
    let message = message.ok_or(DeliverError::NotFound("message"))?;
    if message.is_open() {
        kick::send(world, &message, correlation).await?;
    }
    Ok(Accepted {
        id: record.message,
        status: message.status(None),
        conversation: Some(message.conversation),
        send_at,
        repeated: true,
    })
}

fn accepted(scheduled: &Scheduled, repeated: bool) -> Accepted {
    Accepted {
        id: scheduled.id.message().clone(),
        conversation: None,
        status: status(scheduled),
        send_at: Some(scheduled.send_at),
        repeated,
    }
}

/// The status of a message that waits for its time, or did so in vain.
pub fn status(scheduled: &Scheduled) -> MessageStatus {
    match scheduled.state {
        ScheduledState::Pending | ScheduledState::Became { .. } => MessageStatus::Pending,
        ScheduledState::Cancelled { .. } => MessageStatus::Cancelled,
        ScheduledState::GivenUp { .. } => MessageStatus::Failed,
    }
}

/// The thread's active conversation, or the one that begins now.
async fn conversation<W: World>(
    world: &W,
    bound: &Bound,
    to: &ContactAddress,
) -> PortResult<recado_domain::conversation::Conversation> {
    // A client may name a person by the identity without a number whose conversation is filed under the number.
    let alias = if to.is_numberless() {
        let other = identity::thread(world, &bound.instance.id, to.as_str()).await?;
        world.store().alias(&other).await?
    } else {
        None
    };
    let to = alias.as_ref().unwrap_or(to);
    let thread = identity::thread(world, &bound.instance.id, to.as_str()).await?;
    let (thread, latest) = person::latest(world, thread).await?;
    let now = world.ambient().now();
    Ok(crate::process::current(
        latest,
        &thread,
        bound,
        to,
        to.phone(),
        now,
    ))
}
