use super::{MessageView, OperateError, conversation_action, find_conversation, find_message};
use crate::Deps;
use crate::deps::pair_rate;
use crate::ports::{
    CommitOutcome, ConfigurationStore, Conversations, IdempotencyClaim, IdempotencyRecord, PortResult,
    System, WRITE_TRIES,
};
use crate::steps::audit::audit_action;
use crate::steps::idempotency::{find_claimed, make_claim};
use crate::steps::linked_threads::take_over_others;
use crate::steps::outgoing_check::{NotSendable, prepare_content, request_fingerprint};
use crate::steps::wake_up;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::message::{Message, NewOutgoing, PreparedContent};
use recado_domain::options::SendOptions;
use recado_domain::outbox::Author;
use recado_domain::rate::Rate;

/// An answer that a person gives in a conversation.
#[derive(Debug, Clone)]
pub struct OperatorAnswer {
    /// Content of the answer.
    pub content: Content,
    /// Options of the send. Message ids in them may be ours or the provider's.
    pub options: SendOptions,
    /// The newest ordinal that the person had on screen; `None`: all messages that there are.
    pub seen: Option<Ordinal>,
    /// The client's idempotency key. The same answer with the same key is one message.
    pub key: Option<IdempotencyKey>,
    /// Correlation id, which follows the answer through every queue, record and log line.
    pub correlation: CorrelationId,
}

/// Stores a person's answer and enqueues its send job. The message, the ordinals that it covers and, if the agent had
/// the conversation, the takeover are stored in one transaction. A repeated request with the same key returns the first
/// request's message.
pub async fn answer_as_operator(
    deps: &impl Deps,
    caller: &Caller,
    id: &ConversationId,
    answer: OperatorAnswer,
) -> Result<MessageView, OperateError> {
    let claim = match answer.key.clone() {
        Some(key) => Some(make_answer_claim(deps, id, &answer, key).await?),
        None => None,
    };
    let (mut known, mut noted) = (None, false);
    for _ in 0..WRITE_TRIES {
        let mut conversation = find_conversation(deps, caller, id).await?;
        if let Some(record) = find_claimed(deps, claim.as_ref()).await? {
            return return_repeated_answer(deps, caller, id, claim.as_ref(), record, &answer.correlation)
                .await;
        }
        if conversation.is_finished() {
            return Err(recado_domain::conversation::ConversationError::Resolved.into());
        }
        let (ready, pair) = match &known {
            Some(known) => known,
            None => known.insert(prepare_answer(deps, &conversation, &answer).await?),
        };
        if !std::mem::replace(&mut noted, true) {
            let action = AuditAction::ConversationAnswered;
            audit_action(deps, caller, conversation_action(action, &conversation, "manual")).await?;
        }
        let made = build_answer_message(deps, caller, &mut conversation, &answer, ready, *pair);
        take_over_others(deps, &conversation, &answer.correlation).await?;
        match deps
            .store()
            .commit_message(&conversation, &made, claim.as_ref())
            .await?
        {
            CommitOutcome::Committed => {
                tracing::info!(conversation_id = %id, ordinal = made.ordinal.0, by = %caller.name, "answered by a person");
                wake_up::enqueue_send(deps, &made, &answer.correlation).await?;
                let status = made.status_with_delivery(None);
                return Ok(MessageView {
                    message: made,
                    status,
                    delivery: None,
                });
            }
            CommitOutcome::Conflict | CommitOutcome::KeyTaken(_) => {}
        }
    }
    Err(OperateError::Busy)
}

async fn make_answer_claim(
    deps: &impl Deps,
    id: &ConversationId,
    answer: &OperatorAnswer,
    key: IdempotencyKey,
) -> PortResult<IdempotencyClaim> {
    let said = request_fingerprint(&answer.content, &answer.options)?;
    let parts: Vec<&str> = std::iter::once("answer")
        .chain(said.iter().map(String::as_str))
        .collect();
    make_claim(deps, id.to_string(), key, &parts, None).await
}

/// Returns the message of the first request with this key. Its send job is enqueued again, because a crash may have
/// prevented it. If the first request was a different one, the error is `KeyReused`.
async fn return_repeated_answer(
    deps: &impl Deps,
    caller: &Caller,
    id: &ConversationId,
    claim: Option<&IdempotencyClaim>,
    record: IdempotencyRecord,
    correlation: &CorrelationId,
) -> Result<MessageView, OperateError> {
    if !record.is_of(claim) {
        return Err(OperateError::KeyReused);
    }
    wake_up::enqueue_after_handover(deps, id, correlation).await?;
    find_message(deps, caller, &record.message).await
}

/// Prepares the answer's content, and finds the contact's own rate. If the instance is no longer configured, nothing
/// can be sent and the error is `NotFound`.
async fn prepare_answer(
    deps: &impl Deps,
    conversation: &Conversation,
    answer: &OperatorAnswer,
) -> Result<(PreparedContent, Option<Rate>), OperateError> {
    let bound = deps.store().instance_config(&conversation.instance).await?;
    let bound = bound.ok_or(OperateError::NotFound("instance"))?;
    if !bound.is_enabled() {
        return Err(NotSendable::InstanceDisabled.into());
    }
    let content = (answer.content.clone(), answer.options.clone());
    let ready = prepare_content(deps, &bound, conversation.id.thread_id(), content, None).await?;
    Ok((ready, pair_rate(deps, &bound)))
}

fn build_answer_message(
    deps: &impl Deps,
    caller: &Caller,
    conversation: &mut Conversation,
    answer: &OperatorAnswer,
    ready: &PreparedContent,
    pair: Option<Rate>,
) -> Message {
    let now = deps.system().now();
    let seen = answer.seen.unwrap_or(conversation.last);
    let had = conversation.mode;
    let ordinal = conversation.record_operator_answer(seen, true, now);
    if conversation.mode != had {
        conversation.sign_handover(&caller.name, now);
    }
    conversation.rev += 1;
    let new = NewOutgoing {
        author: Author::Person,
        to: conversation.address.clone(),
        ordinal,
        covers: seen,
        ready: ready.clone(),
        pair_rate: pair,
        key: answer.key.as_ref(),
        correlation: &answer.correlation,
    };
    let mut message = new.queue_in(conversation, now);
    message.out.sign_last_step(Some(&caller.name));
    message.into_record()
}
