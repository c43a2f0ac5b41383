use super::{
    AcceptedMessage, CheckedDelivery, DeliverError, TRIES, find_or_start_conversation, return_repeated_send,
};
use crate::Deps;
use crate::deps::pair_rate;
use crate::outgoing_check::PreparedContent;
use crate::ports::{CommitOutcome, Conversations, System};
use crate::wake_up;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::rate::Rate;

/// Commits the message to the contact's conversation, together with the client's key, and enqueues a send job.
pub(super) async fn commit_message<W: Deps>(
    deps: &W,
    checked: CheckedDelivery,
) -> Result<AcceptedMessage, DeliverError> {
    let CheckedDelivery {
        bound,
        to,
        ready,
        send,
        claim,
    } = checked;
    for _ in 0..TRIES {
        let mut conversation = find_or_start_conversation(deps, &bound, &to).await?;
        let words = UnnumberedMessage {
            ready: ready.clone(),
            to: &to,
            correlation: &send.correlation,
            key: send.key.as_ref(),
            pair: pair_rate(deps, &bound),
        };
        let mut message = words.append_to_conversation(&mut conversation, deps.system().now());
        if let Some(out) = message.out.as_mut() {
            out.metadata.clone_from(&send.metadata);
        }
        match deps
            .store()
            .commit_message(&conversation, &message, claim.as_ref())
            .await?
        {
            CommitOutcome::Committed => {
                let (id, status) = (message.message_id(), message.status_with_delivery(None));
                tracing::info!(message_id = %id, "taken to be sent");
                wake_up::enqueue_send(deps, &message, &send.correlation).await?;
                return Ok(AcceptedMessage {
                    id,
                    conversation: Some(conversation.id),
                    status,
                    send_at: None,
                    repeated: false,
                });
            }
            CommitOutcome::KeyTaken(record) => {
                return return_repeated_send(deps, claim.as_ref(), record, &send.correlation).await;
            }
            CommitOutcome::Conflict => {}
        }
    }
    Err(DeliverError::Busy)
}

/// A message of a conversation before it has an ordinal.
pub(super) struct UnnumberedMessage<'a> {
    pub(super) ready: PreparedContent,
    pub(super) to: &'a ContactAddress,
    pub(super) correlation: &'a CorrelationId,
    pub(super) key: Option<&'a IdempotencyKey>,
    /// The contact's own rate, where the provider has one.
    pub(super) pair: Option<Rate>,
}

impl UnnumberedMessage<'_> {
    /// Builds the message with the next ordinal of `conversation`, and updates `conversation` so that both can be
    /// written. The message covers nothing: a client of the API has not read the contact's messages.
    pub(super) fn append_to_conversation(self, conversation: &mut Conversation, now: Timestamp) -> Message {
        let ordinal = conversation.append_message(now);
        conversation.rev += 1;
        let to = self.to.clone();
        let mut out = Outbox::new_queued(to, Author::Person, conversation.epoch, Ordinal::default(), now);
        if let Some(at) = self
            .pair
            .and_then(|rate| conversation.reserve_pair_slot(rate, now))
        {
            out.delay_until(at);
        }
        out.options = self.ready.options;
        Message {
            idempotency_key: self.key.cloned(),
            context: self.ready.context,
            ..Message::new_outgoing(
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
