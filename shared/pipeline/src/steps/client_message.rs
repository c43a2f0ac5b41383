//! Adds a client's message to the recipient's conversation, at once or when its time has come.

use crate::Deps;
use crate::ports::{ContactAliases, PortResult, System};
use crate::steps::outgoing_check::PreparedContent;
use crate::steps::{identity, linked_threads};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, Outbox};
use recado_domain::rate::Rate;

/// Number of tries to write a conversation that others write too.
pub(crate) const TRIES: usize = 6;

/// Returns the recipient's latest conversation if it is active, else a new conversation that begins now.
pub(crate) async fn find_or_start_conversation<W: Deps>(
    deps: &W,
    bound: &InstanceConfig,
    to: &ContactAddress,
) -> PortResult<Conversation> {
    // A client may name a person by the identity without a number while the conversation is filed under the number.
    let alias = if to.is_numberless() {
        let other = identity::derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
        deps.store().find_alias(&other).await?
    } else {
        None
    };
    let to = alias.as_ref().unwrap_or(to);
    let thread = identity::derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
    let (thread, latest) = linked_threads::find_latest_conversation(deps, thread).await?;
    let now = deps.system().now();
    Ok(Conversation::continue_or_start(
        latest,
        &thread,
        bound,
        to,
        to.phone_number(),
        now,
    ))
}

/// A message of a conversation before it has an ordinal.
pub(crate) struct UnnumberedMessage<'a> {
    pub(crate) ready: PreparedContent,
    pub(crate) to: &'a ContactAddress,
    pub(crate) correlation: &'a CorrelationId,
    pub(crate) key: Option<&'a IdempotencyKey>,
    /// The contact's own rate, where the provider has one.
    pub(crate) pair: Option<Rate>,
}

impl UnnumberedMessage<'_> {
    /// Builds the message with the next ordinal of `conversation`, and updates `conversation` so that both can be
    /// written. The message covers nothing: a client of the API has not read the contact's messages.
    pub(crate) fn append_to_conversation(self, conversation: &mut Conversation, now: Timestamp) -> Message {
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
