use super::{MessageView, OperateError, TRIES, conversation, message};
use crate::World;
use crate::kick;
use crate::person::take_over_others;
use crate::ports::{Ambient, Committed, Conversations, Directory, KeyClaim, PortResult};
use crate::wish::{Ready, fingerprint, ready};
use crate::world::pair_rate;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, Ordinal, hash_of};
use recado_domain::message::{Message, Role};
use recado_domain::millis::shift;
use recado_domain::options::SendOptions;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::rate::Rate;

/// A person's answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What they say.
    pub content: Content,
    /// How; ids of messages in it may be ours or the provider's.
    pub options: SendOptions,
    /// The newest ordinal that they had on screen; absent: all there is.
    pub seen: Option<Ordinal>,
    /// The client's key: the same answer with the same key is one message.
    pub key: Option<IdempotencyKey>,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
}

/// Answers as a person: the message, what it covers, and the takeover if the agent had the conversation, in one
/// transaction; then the kick.
pub async fn answer<W: World>(
    world: &W,
    id: &ConversationId,
    answer: Answer,
) -> Result<MessageView, OperateError> {
    let claim = answer
        .key
        .clone()
        .map(|key| claim(world, id, &answer, key))
        .transpose()?;
    let mut known = None;
    for _ in 0..TRIES {
        let mut conversation = conversation(world, id).await?;
        if let Some(claim) = &claim
            && let Some(record) = world.store().key(&claim.scope, &claim.key).await?
        {
            return repeated(world, id, claim, record, &answer.correlation).await;
        }
        if conversation.is_over() {
            return Err(recado_domain::conversation::ConversationError::Resolved.into());
        }
        let (ready, pair) = match &known {
            Some(known) => known,
            None => known.insert(made_ready(world, &conversation, &answer).await?),
        };
        let made = make(world, &mut conversation, &answer, ready, *pair);
        take_over_others(world, &conversation, &answer.correlation).await?;
        match world.store().commit(&conversation, &made, claim.as_ref()).await? {
            Committed::Yes => {
                tracing::info!(conversation_id = %id, ordinal = made.ordinal.0, "answered by a person");
                kick::send(world, &made, &answer.correlation).await?;
                let status = made.status(None);
                return Ok(MessageView {
                    message: made,
                    status,
                    delivery: None,
                });
            }
            Committed::Conflict | Committed::KeyTaken(_) => {}
        }
    }
    Err(OperateError::Busy)
}

fn claim<W: World>(
    world: &W,
    id: &ConversationId,
    answer: &Answer,
    key: IdempotencyKey,
) -> PortResult<KeyClaim> {
    let ttl = i64::try_from(world.settings().key_ttl.as_millis()).unwrap_or(i64::MAX);
    let said = fingerprint(&answer.content, &answer.options)?;
    let parts: Vec<&str> = std::iter::once("answer")
        .chain(said.iter().map(String::as_str))
        .collect();
    Ok(KeyClaim {
        scope: id.to_string(),
        key,
        request_hash: hash_of(&parts, 32),
        expires: shift(world.ambient().now(), ttl),
    })
}

/// The same request again: the same message, and its kick, which a crash may have prevented.
async fn repeated<W: World>(
    world: &W,
    id: &ConversationId,
    claim: &KeyClaim,
    record: crate::ports::KeyRecord,
    correlation: &CorrelationId,
) -> Result<MessageView, OperateError> {
    if record.request_hash != claim.request_hash {
        return Err(OperateError::KeyReused);
    }
    kick::change_hands(world, id, correlation).await?;
    message(world, &record.message).await
}

/// What is said, and how fast the contact may be written to. An instance that is no longer configured sends nothing.
async fn made_ready<W: World>(
    world: &W,
    conversation: &Conversation,
    answer: &Answer,
) -> Result<(Ready, Option<Rate>), OperateError> {
    let bound = world.store().bound_by_id(&conversation.instance).await?;
    let bound = bound.ok_or(OperateError::NotFound("instance"))?;
    let wish = (answer.content.clone(), answer.options.clone());
    let ready = ready(world, &bound, conversation.id.thread(), wish, None).await?;
    Ok((ready, pair_rate(world, &bound)))
}

fn make<W: World>(
    world: &W,
    conversation: &mut Conversation,
    answer: &Answer,
    ready: &Ready,
    pair: Option<Rate>,
) -> Message {
    let now = world.ambient().now();
    let seen = answer.seen.unwrap_or(conversation.last);
    let ordinal = conversation.answer(seen, true, now);
    conversation.rev += 1;
    let to = conversation.address.clone();
    let mut out = Outbox::queued(to, Author::Person, conversation.epoch, seen, now);
    if let Some(at) = pair.and_then(|rate| conversation.reserve_pair(rate, now)) {
        out.wait_until(at);
    }
    out.options = ready.options.clone();
    Message {
        context: ready.context.clone(),
        idempotency_key: answer.key.clone(),
        ..Message::outgoing(
            conversation,
            ordinal,
            Role::Operator,
            ready.content.clone(),
            out,
            now,
            &answer.correlation,
        )
    }
}
