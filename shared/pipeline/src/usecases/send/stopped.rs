//! Handles messages that do not leave: they wait, are parked, are cancelled or are given up.
//!
//! A parked conversation waits outside the queue, in order, and costs nothing. A void reply is cancelled wherever it would wait: a person
//! has its conversation, or the conversation went on without it. It stays void, because epochs only grow.

use crate::Deps;
use crate::measure::{MessageEnd, count_message_end, count_parked};
use crate::steps::reply_coverage::highest_covered_ordinal;
use crate::steps::sending::{SendContext, Stop};
use crate::steps::unsent_message::{cancel_unsent_message, give_up_unsent_message};
use crate::steps::wake_up;
use crate::usecases::send::unknown_outcome::settle_if_already_sent;
use crate::usecases::send::{Handled, is_queued_reply};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::instance::{ConnectionStatus, ParkedConversation};
use recado_domain::message::Outgoing;
use recado_domain::reason::Reason;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;

/// Does what follows from `stop`. `message` is as its last step left it: the outcome of its attempt is stored. So an earlier takeover is
/// found here, and a later one finds the message `queued`.
pub(super) async fn carry_out(
    deps: &Deps,
    context: SendContext<'_>,
    mut message: Outgoing,
    stop: Stop,
) -> PortResult<Handled> {
    match stop {
        Stop::Finished => Ok(Handled::Finished),
        Stop::Later(verdict) => Ok(Handled::Later(verdict)),
        Stop::Port(error) => Err(error),
        Stop::Wait(verdict) => {
            let cancelled = Box::pin(cancel_if_void(deps, &message)).await?;
            Ok(cancelled.unwrap_or(Handled::Later(verdict)))
        }
        Stop::Park(until) => Box::pin(park_conversation(deps, &message, until)).await,
        Stop::Postpone(until) => {
            if message.out.postpone_overdue(until).is_err()
                || deps.store().save_open_message(&message.to_record(), None).await? == WriteOutcome::Conflict
            {
                return Ok(Handled::RETRY_SOON);
            }
            Box::pin(park_conversation(deps, &message, Some(until))).await
        }
        Stop::Void => Box::pin(cancel_void_reply(deps, &message)).await,
        Stop::Cancel(reason) => Box::pin(cancel_unwanted(deps, context, &message, reason)).await,
        Stop::GiveUp(reason, why) => {
            let given_up = Box::pin(give_up_unsent_message(deps, message, reason, why)).await?;
            Ok(Handled::finished_if(given_up))
        }
    }
}

/// Parks the message's conversation, or cancels the message if it is a void reply. Without `not_before`, the instance's
/// state is read again afterwards. If the instance opened in between, its release did not include this entry: the entry
/// is removed, and the send job is retried soon.
pub(super) async fn park_conversation(
    deps: &Deps,
    message: &Outgoing,
    not_before: Option<Timestamp>,
) -> PortResult<Handled> {
    if let Some(cancelled) = cancel_if_void(deps, message).await? {
        return Ok(cancelled);
    }
    let parked = ParkedConversation {
        instance: message.instance.clone(),
        conversation: message.conversation.clone(),
        version: generate_nonce(deps.system()),
        since: deps.system().now(),
        not_before,
        patience: deps.settings().parked_max,
        reply: message.reply_id(),
    };
    deps.store().put_parked(&parked).await?;
    if not_before.is_some() {
        count_parked(&message.instance);
        return Ok(Handled::JOB_DONE);
    }
    let state = deps.store().read_instance_state(&message.instance).await?;
    if state.connection == ConnectionStatus::Open {
        deps.store().remove_parked(&parked).await?;
        return Ok(Handled::RETRY_SOON);
    }
    count_parked(&message.instance);
    tracing::info!(connection = state.connection.as_str(), "parked");
    Ok(Handled::JOB_DONE)
}

/// Cancels a queued message that is not to leave any more. Nothing follows from it: it answers nothing. If evidence shows that an earlier
/// attempt was sent, the message is marked as sent instead; without evidence it keeps its mark that it may have been.
async fn cancel_unwanted(
    deps: &Deps,
    context: SendContext<'_>,
    message: &Outgoing,
    reason: Reason,
) -> PortResult<Handled> {
    if message.out.maybe_sent
        && let Some(settled) = settle_if_already_sent(deps, context, message).await?
    {
        return Ok(settled);
    }
    let cancelled = cancel_unsent_message(deps, message, reason).await?;
    Ok(Handled::finished_if(cancelled == WriteOutcome::Written))
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

/// Cancels a queued reply if it is void. `None`: it is not void.
async fn cancel_if_void(deps: &Deps, message: &Outgoing) -> PortResult<Option<Handled>> {
    match load_if_reply_void(deps, message).await? {
        Some(conversation) => {
            let written = Box::pin(write_cancellation(deps, message.clone(), conversation)).await;
            written.map(Some)
        }
        None => Ok(None),
    }
}

/// Cancels a reply that was found to be void. If it is not void when it is read again, the send job is retried soon.
pub(super) async fn cancel_void_reply(deps: &Deps, message: &Outgoing) -> PortResult<Handled> {
    let cancelled = cancel_if_void(deps, message).await?;
    // A void reply stays void; if the reply is not void now, the earlier read was wrong.
    Ok(cancelled.unwrap_or(Handled::RETRY_SOON))
}

/// Stores the cancellation of a void reply. If the reply was certainly not sent, the messages that only this reply covered are owed an
/// answer again, by people or by the agent.
async fn write_cancellation(
    deps: &Deps,
    mut message: Outgoing,
    mut conversation: Conversation,
) -> PortResult<Handled> {
    let now = deps.system().now();
    let never_left = message.out.is_certainly_unsent();
    if message.out.mark_cancelled(now, Reason::TakenOver).is_err() {
        return Ok(Handled::RETRY_SOON);
    }
    if never_left {
        let left = highest_covered_ordinal(deps, &conversation, Some(message.ordinal)).await?;
        conversation.reopen_unanswered(left, now);
    }
    for feature in deps.features().after_commit {
        feature
            .reply_was_cancelled(deps, &mut conversation, &message)
            .await?;
    }
    // The conversation is written even if nothing changes: a give-back that counted this message as a valid reply must
    // read again.
    conversation.raise_revision();
    let record = message.to_record();
    let settled = deps
        .store()
        .settle_message(&record, None, None, Some(&conversation));
    if settled.await? == WriteOutcome::Conflict {
        return Ok(Handled::RETRY_SOON);
    }
    count_message_end(&message.instance, MessageEnd::Cancelled);
    tracing::info!(
        ordinal = message.ordinal.0,
        "cancelled: the conversation was taken over"
    );
    if conversation.mode == ConversationMode::Ai && conversation.owes_answer() {
        wake_up::enqueue_turn(deps, &conversation, &message.correlation).await?;
    }
    Ok(Handled::Void)
}
