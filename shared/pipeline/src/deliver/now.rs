use super::{Accepted, Checked, DeliverError, TRIES, conversation, repeated};
use crate::World;
use crate::kick;
use crate::ports::{Ambient, Committed, Conversations};
use crate::wish::Ready;
use crate::world::pair_rate;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::rate::Rate;

/// Commits the message to the contact's conversation, with the client's key; then the kick.
pub(super) async fn commit<W: World>(world: &W, checked: Checked) -> Result<Accepted, DeliverError> {
    let Checked {
        bound,
        to,
        ready,
        send,
        claim,
    } = checked;
    for _ in 0..TRIES {
        let mut conversation = conversation(world, &bound, &to).await?;
        let words = Words {
            ready: ready.clone(),
            to: &to,
            correlation: &send.correlation,
            key: send.key.as_ref(),
            pair: pair_rate(world, &bound),
        };
        let mut message = words.number(&mut conversation, world.ambient().now());
        if let Some(out) = message.out.as_mut() {
            out.metadata.clone_from(&send.metadata);
        }
        match world
            .store()
            .commit(&conversation, &message, claim.as_ref())
            .await?
        {
            Committed::Yes => {
                let (id, status) = (message.id(), message.status(None));
                tracing::info!(message_id = %id, "taken to be sent");
                kick::send(world, &message, &send.correlation).await?;
                return Ok(Accepted {
                    id,
                    conversation: Some(conversation.id),
                    status,
                    send_at: None,
                    repeated: false,
                });
            }
            Committed::KeyTaken(record) => {
                return repeated(world, claim.as_ref(), record, &send.correlation).await;
            }
            Committed::Conflict => {}
        }
    }
    Err(DeliverError::Busy)
}

/// What becomes a message of a conversation.
pub(super) struct Words<'a> {
    pub(super) ready: Ready,
    pub(super) to: &'a ContactAddress,
    pub(super) correlation: &'a CorrelationId,
    pub(super) key: Option<&'a IdempotencyKey>,
    /// The contact's own rate, where the provider has one.
    pub(super) pair: Option<Rate>,
}

impl Words<'_> {
    /// The message with the next ordinal of `conversation`, which becomes ready to be written with it. It covers nothing:
    /// who sends by the API has not read what the contact wrote.
    pub(super) fn number(self, conversation: &mut Conversation, now: Timestamp) -> Message {
        let ordinal = conversation.append(now);
        conversation.rev += 1;
        let to = self.to.clone();
        let mut out = Outbox::queued(to, Author::Person, conversation.epoch, Ordinal::default(), now);
        if let Some(at) = self.pair.and_then(|rate| conversation.reserve_pair(rate, now)) {
            out.wait_until(at);
        }
        out.options = self.ready.options;
        Message {
            idempotency_key: self.key.cloned(),
            context: self.ready.context,
            ..Message::outgoing(
                conversation,
                ordinal,
                Role::Operator,
                self.ready.content,
                out,
                now,
                self.correlation,
            )
        }
    }
}
