//! What operators read and do: conversations, messages, takeover, answer, give-back, resolve.

mod answer;
pub mod dead_letters;
mod notices;

use crate::World;
use crate::kick;
use crate::person::{give_back_others, latest, take_over_others};
use crate::ports::{
    Ambient, ConversationFilter, Conversations, Deliveries, Directory, Page, PageRequest, PortError,
    PortResult, Written,
};
use crate::replies::left;
use crate::wish::{NotSendable, WishError};
use crate::world::traits;
pub use answer::{Answer, answer};
pub use notices::notices;
use recado_domain::config::Bound;
use recado_domain::conversation::{Conversation, ConversationError, Mode};
use recado_domain::delivery::{Delivery, DeliveryKey};
use recado_domain::ids::{ConversationId, CorrelationId, MessageId, Ordinal};
use recado_domain::message::{Message, MessageStatus};

/// How often a change is tried against others.
const TRIES: usize = 6;

/// A message with what is known of its delivery.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageView {
    /// The message.
    pub message: Message,
    /// Its status.
    pub status: MessageStatus,
    /// Its delivery's record.
    pub delivery: Option<Delivery>,
}

/// Why an operator's request was not done.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    /// There is no such thing.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// It cannot be sent.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The conversation's state does not allow it.
    #[error(transparent)]
    Refused(#[from] ConversationError),
    /// Others kept changing it; trying again helps.
    #[error("the conversation is being changed by others, try again")]
    Busy,
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<WishError> for OperateError {
    fn from(error: WishError) -> Self {
        match error {
            WishError::Refused(why) => Self::NotSendable(why),
            WishError::Port(error) => Self::Port(error),
        }
    }
}

/// Conversations, the most recently active first.
pub async fn conversations<W: World>(
    world: &W,
    filter: &ConversationFilter,
    page: &PageRequest,
) -> Result<Page<Conversation>, OperateError> {
    Ok(world.store().list(filter, page).await?)
}

/// One conversation; where nobody wrote in this one and it only leads to another of the same person, that one.
pub async fn conversation<W: World>(world: &W, id: &ConversationId) -> Result<Conversation, OperateError> {
    let missing = OperateError::NotFound("conversation");
    let found = world.store().conversation(id).await?.ok_or(missing)?;
    if found.listed_as().is_some() {
        return Ok(found);
    }
    let (_, newest) = latest(world, id.thread().clone()).await?;
    newest.ok_or(OperateError::NotFound("conversation"))
}

/// A conversation's messages, the newest first.
pub async fn messages<W: World>(
    world: &W,
    id: &ConversationId,
    page: &PageRequest,
) -> Result<Page<MessageView>, OperateError> {
    let conversation = conversation(world, id).await?;
    let found = world.store().messages(&conversation.id, page).await?;
    let bound = world.store().bound_by_id(&conversation.instance).await?;
    let items = joined(world, bound.as_ref(), found.items).await?;
    Ok(Page {
        items,
        next_cursor: found.next_cursor,
    })
}

/// One message.
pub async fn message<W: World>(world: &W, id: &MessageId) -> Result<MessageView, OperateError> {
    let message = world
        .store()
        .message(id)
        .await?
        .ok_or(OperateError::NotFound("message"))?;
    let bound = world.store().bound_by_id(&message.instance).await?;
    let views = joined(world, bound.as_ref(), vec![message]).await?;
    views.into_iter().next().ok_or(OperateError::NotFound("message"))
}

/// Joins messages with their deliveries.
pub(crate) async fn joined<W: World>(
    world: &W,
    bound: Option<&Bound>,
    messages: Vec<Message>,
) -> PortResult<Vec<MessageView>> {
    let keys: Vec<Option<DeliveryKey>> = messages
        .iter()
        .map(|message| delivery_key(world, bound, message))
        .collect();
    let asked: Vec<DeliveryKey> = keys.iter().flatten().cloned().collect();
    let mut found = world.store().deliveries(&asked).await?.into_iter();
    let view = |(message, key): (Message, Option<DeliveryKey>)| {
        let delivery = key.and_then(|_| found.next().flatten());
        MessageView {
            status: message.status(delivery.as_ref()),
            message,
            delivery,
        }
    };
    Ok(messages.into_iter().zip(keys).map(view).collect())
}

/// Under what a message's delivery is recorded; `None` for what came in.
fn delivery_key<W: World>(world: &W, bound: Option<&Bound>, message: &Message) -> Option<DeliveryKey> {
    message.out.as_ref()?;
    let bound = bound?;
    let (provider, instance) = (bound.instance.provider, bound.instance.external()?);
    if traits(world, bound).echoes_our_id {
        return Some(DeliveryKey::own(provider, &instance, &message.id()));
    }
    let theirs = message.provider_message_id.as_ref()?;
    Some(DeliveryKey::provider(provider, &instance, theirs))
}

/// Takes a conversation over (`manual`) or gives it back (`ai`): then what nobody answered is owed again.
pub async fn set_mode<W: World>(
    world: &W,
    id: &ConversationId,
    mode: Mode,
    correlation: &CorrelationId,
) -> Result<Conversation, OperateError> {
    let now = world.ambient().now();
    for _ in 0..TRIES {
        let mut conversation = conversation(world, id).await?;
        let changed = match mode {
            Mode::Manual => conversation.take_over(),
            Mode::Ai => {
                let left = left(world, &conversation, None).await?;
                conversation.give_back(left, now)
            }
        };
        // Also when nothing changed: the request may be a repeat of one that crashed before it came so far.
        take_over_others(world, &conversation, correlation).await?;
        if changed {
            conversation.rev += 1;
            if world.store().update(&conversation).await? == Written::Conflict {
                continue;
            }
            tracing::info!(conversation_id = %id, ?mode, "mode changed by a person");
        }
        // What waits to be sent and is void now is cancelled at once.
        kick::change_hands(world, &conversation.id, correlation).await?;
        if mode == Mode::Ai {
            give_back_others(world, &conversation, correlation).await?;
            if conversation.owes() {
                kick::turn(world, &conversation, correlation).await?;
            }
        }
        return Ok(conversation);
    }
    Err(OperateError::Busy)
}

/// Ends a conversation of which its author has seen everything up to `seen` (absent: all there is).
pub async fn resolve<W: World>(
    world: &W,
    id: &ConversationId,
    seen: Option<Ordinal>,
    correlation: &CorrelationId,
) -> Result<Conversation, OperateError> {
    for _ in 0..TRIES {
        let mut conversation = conversation(world, id).await?;
        if conversation.resolve(seen.unwrap_or(conversation.last_inbound))? {
            conversation.rev += 1;
            if world.store().update(&conversation).await? == Written::Conflict {
                continue;
            }
        }
        // Also when nothing changed, as above.
        kick::change_hands(world, &conversation.id, correlation).await?;
        return Ok(conversation);
    }
    Err(OperateError::Busy)
}
