use crate::{OperateError, conversation_action, find_conversation, find_message};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::AgentReturn;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationError};
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, Ordinal};
use recado_domain::message::{Message, NewOutgoing, PreparedContent};
use recado_domain::options::SendOptions;
use recado_domain::outbox::Author;
use recado_domain::outgoing::OutgoingError;
use recado_domain::rate::Rate;
use recado_domain::signature::Signature;
use recado_pipeline::Deps;
use recado_pipeline::deps::{capabilities, pair_rate};
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::idempotency::{IdempotencyClaim, find_claimed, hold_claimed, make_claim};
use recado_pipeline::steps::linked_threads::take_over_others;
use recado_pipeline::steps::message_view::MessageView;
use recado_pipeline::steps::outgoing_check::{NotSendable, prepare_content, request_fingerprint};
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

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
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    answer: OperatorAnswer,
) -> Result<MessageView, OperateError> {
    let of = (id, &answer);
    let commits = |prepared| try_to_commit_answer(deps, caller, of, prepared);
    retry_lost_write(OperateError::Busy, None, commits).await
}

/// Stores the answer, unless its key was used before. An answer that an earlier attempt `prepared` is in the audit already.
async fn try_to_commit_answer(
    deps: &Deps,
    caller: &Caller,
    (id, answer): (&ConversationId, &OperatorAnswer),
    prepared: Option<PreparedAnswer>,
) -> Result<WriteAttempt<MessageView, Option<PreparedAnswer>>, OperateError> {
    let mut conversation = find_conversation(deps, caller, id).await?;
    let claim = make_answer_claim(deps, &conversation, answer).await?;
    if let Some(held) = find_claimed(deps, claim.as_ref()).await? {
        if claim.is_none_or(|claim| !claim.is_request_of(&held)) {
            return Err(OperateError::KeyReused);
        }
        let correlation = &answer.correlation;
        wake_up::enqueue_after_handover(deps, id, correlation).await?;
        let conversation = find_conversation(deps, caller, id).await?;
        wake_up::enqueue_return_timer(deps, &conversation, correlation).await?;
        let message = Box::pin(find_message(deps, caller, &held.message)).await?;
        return Ok(WriteAttempt::Done(message));
    }
    if conversation.is_finished() {
        return Err(ConversationError::Resolved.into());
    }
    let prepared = if let Some(prepared) = prepared {
        prepared
    } else {
        let prepared = Box::pin(prepare_answer(deps, &conversation, answer)).await?;
        let action = AuditAction::ConversationAnswered;
        audit_action(deps, caller, conversation_action(action, &conversation, "manual")).await?;
        prepared
    };
    let (made, starts_timer) = build_answer_message(deps, caller, &mut conversation, answer, &prepared);
    // Boxed to keep this future small, as the others here.
    Box::pin(take_over_others(deps, &conversation, &answer.correlation)).await?;
    let beside = hold_claimed(claim.as_ref(), &made.message_id())?;
    let messages = std::slice::from_ref(&made);
    let committed = deps.store().commit_messages(&conversation, messages, &beside);
    if WriteOutcome::from(committed.await?) == WriteOutcome::Conflict {
        return Ok(WriteAttempt::Lost(Some(prepared)));
    }
    tracing::info!(conversation_id = %id, ordinal = made.ordinal.0, by = %caller.name, "answered by a person");
    wake_up::enqueue_send(deps, &made, &answer.correlation).await?;
    if starts_timer {
        wake_up::enqueue_return_timer(deps, &conversation, &answer.correlation).await?;
    }
    let status = made.status_with_delivery(None);
    Ok(WriteAttempt::Done(MessageView {
        message: made,
        status,
        delivery: None,
        answer: None,
        file_url: None,
        cost: None,
    }))
}

/// Makes the claim of the client's key, if it named one.
async fn make_answer_claim(
    deps: &Deps,
    conversation: &Conversation,
    answer: &OperatorAnswer,
) -> PortResult<Option<IdempotencyClaim>> {
    let Some(key) = &answer.key else { return Ok(None) };
    let said = request_fingerprint(&answer.content, &answer.options)?;
    let parts: Vec<&str> = std::iter::once("answer")
        .chain(said.iter().map(String::as_str))
        .collect();
    let scope = (&conversation.tenant, conversation.id.to_string());
    make_claim(deps, scope, key, &parts, None).await.map(Some)
}

/// An answer that can be sent, with what the instance adds.
struct PreparedAnswer {
    ready: PreparedContent,
    /// The contact's own rate, where the provider has one.
    pair: Option<Rate>,
    signature: Option<Signature>,
    agent_returns: AgentReturn,
}

/// Prepares the answer's content, and reads what the configuration says about it. If the instance is no longer
/// configured, nothing can be sent and the error is `NotFound`.
async fn prepare_answer(
    deps: &Deps,
    conversation: &Conversation,
    answer: &OperatorAnswer,
) -> Result<PreparedAnswer, OperateError> {
    let bound = find_config_by_id(deps.store(), &conversation.instance).await?;
    let bound = bound.ok_or(OperateError::NotFound("instance"))?;
    if !bound.is_enabled() {
        return Err(NotSendable::InstanceDisabled.into());
    }
    let content = (answer.content.clone(), answer.options.clone());
    let ready = prepare_content(deps, &bound, conversation.id.thread_id(), content, None).await?;
    let signature = bound.instance.people_signature.clone();
    check_signed_length(
        &ready.content,
        signature.as_ref(),
        capabilities(deps, &bound).text_max,
    )?;
    Ok(PreparedAnswer {
        ready,
        pair: pair_rate(deps, &bound),
        signature,
        agent_returns: bound.instance.agent_returns,
    })
}

/// Refuses a text that is too long for one message together with the signature.
fn check_signed_length(
    content: &Content,
    signature: Option<&Signature>,
    max: usize,
) -> Result<(), NotSendable> {
    let (Content::Text { text }, Some(signature)) = (content, signature) else {
        return Ok(());
    };
    let max = max.saturating_sub(signature.added_length());
    if text.encode_utf16().count() <= max {
        return Ok(());
    }
    let why = format!("is too long with the signature: at most {max} characters");
    Err(OutgoingError::InvalidField { field: "text", why }.into())
}

/// Builds the message of an answer and changes the conversation accordingly. Returns also `true` if the timer of the
/// agent's return is to be started.
fn build_answer_message(
    deps: &Deps,
    caller: &Caller,
    conversation: &mut Conversation,
    answer: &OperatorAnswer,
    prepared: &PreparedAnswer,
) -> (Message, bool) {
    let now = deps.system().now();
    let seen = answer.seen.unwrap_or(conversation.last);
    let had = conversation.mode;
    let ordinal = conversation.record_operator_answer(seen, true, now);
    if conversation.mode != had {
        conversation.sign_handover(&caller.name, now);
    }
    conversation.sign_person(&caller.name, now);
    let starts_timer = conversation.restart_return(prepared.agent_returns, now);
    conversation.raise_revision();
    let new = NewOutgoing {
        author: Author::Person,
        to: conversation.address.clone(),
        ordinal,
        covers: seen,
        ready: prepared.ready.clone(),
        pair_rate: prepared.pair,
        key: answer.key.as_ref(),
        correlation: &answer.correlation,
    };
    let mut message = new.queue_in(conversation, now);
    message.out.signature.clone_from(&prepared.signature);
    message.out.sign_last_step(Some(&caller.name));
    (message.into_record(), starts_timer)
}
