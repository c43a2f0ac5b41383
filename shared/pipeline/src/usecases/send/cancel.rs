//! Cancels void replies: a person has the conversation, or the conversation went on without the reply. A void reply
//! stays void, because epochs only grow.

use super::{RETRY_SOON, StepResult, Stop, require_written};
use crate::Deps;
use crate::measure::{MessageEnd, count_message_end};
use crate::steps::effects::{describe_done_effects, is_left_by_agent};
use crate::steps::reply_coverage::highest_covered_ordinal;
use crate::steps::wake_up;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::effects::EffectEntry;
use recado_domain::message::Outgoing;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_ports::ports::PortResult;
use std::collections::BTreeMap;

/// The newest known epoch of each conversation, by the conversation's number in the thread.
#[derive(Debug)]
pub(super) struct NewestEpochs(BTreeMap<u32, u64>);

impl NewestEpochs {
    /// Collects the newest epochs from `open` messages. A person's answer carries the epoch that its takeover began.
    pub(super) fn from_open_messages(open: &[Outgoing]) -> Self {
        let mut epochs = Self(BTreeMap::new());
        for message in open {
            epochs.record_epoch(message, message.out.epoch);
        }
        epochs
    }

    fn record_epoch(&mut self, message: &Outgoing, epoch: u64) {
        let known = self.0.entry(message.conversation.number_in_thread()).or_default();
        *known = epoch.max(*known);
    }

    /// Records that the reply `message` was void, so its conversation has a newer epoch.
    pub(super) fn record_void_reply(&mut self, message: &Outgoing) {
        self.record_epoch(message, message.out.epoch.saturating_add(1));
    }

    /// Returns `true` if `message` is a queued reply of an earlier epoch.
    pub(super) fn is_void_reply(&self, message: &Outgoing) -> bool {
        let newest = self.0.get(&message.conversation.number_in_thread()).copied();
        is_queued_reply(message) && newest > Some(message.out.epoch)
    }
}

/// Returns `true` if the message is `queued` and is a reply that a takeover makes void.
fn is_queued_reply(message: &Outgoing) -> bool {
    let out = &message.out;
    out.yields_to_takeover() && out.state == OutboxState::Queued
}

/// Returns the conversation of a queued reply that is void. `None` if the reply is not void, or `message` is no queued
/// reply.
async fn load_if_reply_void(deps: &Deps, message: &Outgoing) -> PortResult<Option<Conversation>> {
    if !is_queued_reply(message) {
        return Ok(None);
    }
    let conversation = deps.store().find_conversation(&message.conversation).await?;
    let epoch = message.out.epoch;
    Ok(conversation
        .filter(|conversation| conversation.mode != ConversationMode::Ai || conversation.epoch != epoch))
}

/// Returns `true` if `message` is a queued reply that is void now.
pub(super) async fn reply_is_void(deps: &Deps, message: &Outgoing) -> PortResult<bool> {
    Ok(load_if_reply_void(deps, message).await?.is_some())
}

/// Cancels a queued reply if it is void, and stops then.
pub(super) async fn cancel_if_void(deps: &Deps, message: &Outgoing) -> StepResult {
    match load_if_reply_void(deps, message).await? {
        Some(conversation) => Box::pin(write_cancellation(deps, message.clone(), conversation)).await,
        None => Ok(()),
    }
}

/// Cancels a reply that was found to be void. If it is not void when it is read again, the send job is retried soon.
/// Always returns a [`Stop`].
pub(super) async fn cancel_void_reply<T>(deps: &Deps, message: &Outgoing) -> StepResult<T> {
    cancel_if_void(deps, message).await?;
    // A void reply stays void; if the reply is not void now, the earlier read was wrong.
    Err(RETRY_SOON)
}

/// Leaves a note in a conversation that people have. The note tells what was done for the messages that a cancelled reply would
/// have answered.
async fn note_effects_of_reply(
    deps: &Deps,
    conversation: &mut Conversation,
    reply: &Outgoing,
) -> PortResult<()> {
    let turn = reply.out.turn.as_ref();
    let known = turn.and_then(|turn| Some((turn.effects_upto?, turn.asked_at?)));
    let known = known.filter(|(upto, _)| *upto > 0 && is_left_by_agent(conversation));
    let Some((upto, asked_at)) = known else {
        return Ok(());
    };
    let covers = reply.out.covers;
    let is_of_turn = |entry: &EffectEntry| entry.is_of_turn(&reply.conversation, (upto, covers), asked_at);
    if let Some(note) = describe_done_effects(deps, conversation, is_of_turn).await? {
        conversation.note_for_people(&note, deps.system().now());
    }
    Ok(())
}

/// Stores the cancellation of a void reply, and stops. If the reply was certainly not sent, the messages that only this reply
/// covered are owed an answer again, by people or by the agent.
async fn write_cancellation(
    deps: &Deps,
    mut message: Outgoing,
    mut conversation: Conversation,
) -> StepResult {
    let now = deps.system().now();
    let never_left = message.out.is_certainly_unsent();
    message.out.mark_cancelled(now, Reason::TakenOver)?;
    if never_left {
        let left = highest_covered_ordinal(deps, &conversation, Some(message.ordinal)).await?;
        conversation.reopen_unanswered(left, now);
    }
    note_effects_of_reply(deps, &mut conversation, &message).await?;
    // The conversation is written even if nothing changes: a give-back that counted this message as a valid reply must
    // read again.
    conversation.raise_revision();
    let record = message.to_record();
    let settled = deps
        .store()
        .settle_message(&record, None, None, Some(&conversation));
    require_written(settled.await?)?;
    count_message_end(&message.instance, MessageEnd::Cancelled);
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the conversation was taken over"
    );
    if conversation.mode == ConversationMode::Ai && conversation.owes_answer() {
        wake_up::enqueue_turn(deps, &conversation, &message.correlation).await?;
    }
    Err(Stop::Void)
}
