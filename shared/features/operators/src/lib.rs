//! The operators' use cases: they list conversations and messages, take over, answer, give back, resolve,
//! label, note, and settle effects. The agent's return and the provider's notices are here, too.
//!
//! Its types and rules are in [`recado_domain::conversation`].

pub mod agent_return;
pub mod annotation_routes;
mod annotations;
mod answer;
pub mod conversation_routes;
pub mod effect_routes;
mod effects;
mod joined_messages;
pub mod message_routes;
pub mod notice_routes;
pub mod operator_problems;
pub mod overdue_returns;

use recado_actions::effects::JournalError;
use recado_message_views::answer_view::add_answers;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::budget_reading::add_costs;
use recado_pipeline::steps::enabled_instance::find_instance_within;
use recado_pipeline::steps::linked_threads::{find_latest_conversation, give_back_others, take_over_others};
use recado_pipeline::steps::message_view::{MessageView, find_message_view, join_deliveries};

pub use crate::annotations::{LabelChange, add_note, change_labels, delete_note, list_notes};
pub use crate::answer::{OperatorAnswer, answer_as_operator};
pub use crate::effects::{EffectDecision, decide_effect, list_effects};
pub use crate::joined_messages::list_joined_messages;
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::answer::ExplainedAnswer;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::conversation::{
    AnnotationError, Conversation, ConversationError, ConversationMode, ConversationStatus,
};
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::effects::EntryError;
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, MessageId, Ordinal};
use recado_domain::notice::Notice;
use recado_pipeline::Deps;
use recado_pipeline::steps::outgoing_check::{NotSendable, OutgoingContentError};
use recado_pipeline::steps::reply_coverage::highest_covered_ordinal;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{
    ConversationFilter, ConversationPage, Page, PageRequest, PortError, PortResult, UnacknowledgedFilter,
    WriteOutcome,
};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::notices;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// The reason for which an operator's request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum OperateError {
    /// The named record does not exist.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The message cannot be sent.
    #[error(transparent)]
    NotSendable(#[from] NotSendable),
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The conversation's state does not allow the request.
    #[error(transparent)]
    Refused(#[from] ConversationError),
    /// The label or note is refused.
    #[error(transparent)]
    Annotation(#[from] AnnotationError),
    /// The effect is not one whose end nobody knows.
    #[error("how this effect ended is known, or it is still under way")]
    EffectNotUnknown,
    /// The record of the dead letter cannot be read, so nothing can be redriven.
    #[error("the record of this dead letter cannot be read; it can be deleted")]
    DamagedLetter,
    /// Others kept changing the conversation. The client may try again.
    #[error("the conversation is being changed by others, try again")]
    Busy,
    /// A store or queue failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl From<JournalError> for OperateError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Refused(EntryError::NotFound) => Self::NotFound("effect"),
            JournalError::Refused(EntryError::NotHeld) => Self::EffectNotUnknown,
            JournalError::Port(error) => Self::Port(error),
        }
    }
}

impl From<OutgoingContentError> for OperateError {
    fn from(error: OutgoingContentError) -> Self {
        match error {
            OutgoingContentError::Refused(why) => Self::NotSendable(why),
            OutgoingContentError::Port(error) => Self::Port(error),
        }
    }
}

/// Lists conversations, the most recently active first.
pub async fn list_conversations(
    deps: &Deps,
    caller: &Caller,
    filter: ConversationFilter,
    page: &PageRequest,
) -> Result<ConversationPage, OperateError> {
    let filter = filter.within_scope(&caller.scope);
    Ok(deps.store().search_conversations(&filter, page).await?)
}

/// Returns a conversation. If nobody wrote in it and it only leads to another conversation of the same person, returns
/// that other conversation. A conversation outside the caller's scope counts as unknown.
pub async fn find_conversation(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
) -> Result<Conversation, OperateError> {
    let within = |found: &Conversation| caller.scope.covers(&found.tenant);
    let missing = OperateError::NotFound("conversation");
    let found = deps.store().find_conversation(id).await?;
    let found = found.filter(within).ok_or(missing)?;
    if found.listed_status().is_some() {
        return Ok(found);
    }
    let (_, newest) = find_latest_conversation(deps, id.thread_id().clone()).await?;
    let is_left = |newest: &Conversation| found.erased_at.is_none() && newest.erased_at.is_none();
    newest
        .filter(within)
        .filter(is_left)
        .ok_or(OperateError::NotFound("conversation"))
}

/// Explains, for each conversation, the answer that it owes: who or what it waits for. `None` if it owes none.
pub async fn explain_owed_answers(
    deps: &Deps,
    conversations: &[Conversation],
) -> Result<Vec<Option<ExplainedAnswer>>, OperateError> {
    Ok(recado_message_views::answer_view::explain_owed_answers(deps, conversations).await?)
}

/// Lists a conversation's messages, the newest first: those of the contact with their answers, and each with its cost.
pub async fn list_messages(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    page: &PageRequest,
) -> Result<Page<MessageView>, OperateError> {
    let conversation = find_conversation(deps, caller, id).await?;
    let found = deps.store().list_messages(&conversation.id, page).await?;
    let bound = find_config_by_id(deps.store(), &conversation.instance).await?;
    let mut items = join_deliveries(deps, bound.as_deref(), found.items).await?;
    add_answers(deps, &conversation, &mut items).await?;
    add_costs(deps, bound.as_deref(), &mut items).await?;
    Ok(Page {
        items,
        next_cursor: found.next_cursor,
    })
}

/// Returns a message with its delivery.
pub async fn find_message(deps: &Deps, caller: &Caller, id: &MessageId) -> Result<MessageView, OperateError> {
    let view = find_message_view(deps, caller, id).await?;
    view.ok_or(OperateError::NotFound("message"))
}

/// Takes a conversation over (`manual`) or gives it back to the agent (`ai`). After a give-back, messages that nobody
/// answered are owed an answer again.
pub async fn set_conversation_mode(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    mode: ConversationMode,
    correlation: &CorrelationId,
) -> Result<Conversation, OperateError> {
    let now = deps.system().now();
    let changes = |noted| write_mode(deps, caller, (id, mode), correlation, (now, noted));
    let conversation = retry_lost_write(OperateError::Busy, false, changes).await?;
    // A send job is enqueued, so that queued messages that are void now are cancelled at once.
    wake_up::enqueue_after_handover(deps, &conversation.id, correlation).await?;
    wake_up::enqueue_return_timer(deps, &conversation, correlation).await?;
    if mode == ConversationMode::Ai {
        Box::pin(give_back_others(deps, &conversation, correlation)).await?;
        if conversation.owes_answer() {
            wake_up::enqueue_turn(deps, &conversation, correlation).await?;
        }
    }
    Ok(conversation)
}

/// Writes the conversation with this mode, if it has another one. `noted`: the audit has the change already.
async fn write_mode(
    deps: &Deps,
    caller: &Caller,
    (id, mode): (&ConversationId, ConversationMode),
    correlation: &CorrelationId,
    (now, noted): (Timestamp, bool),
) -> Result<WriteAttempt<Conversation, bool>, OperateError> {
    let (action, after) = match mode {
        ConversationMode::Manual => (AuditAction::ConversationTakenOver, "manual"),
        ConversationMode::Ai => (AuditAction::ConversationGivenBack, "ai"),
    };
    let mut conversation = find_conversation(deps, caller, id).await?;
    let before = conversation.clone();
    let handed_over = match mode {
        ConversationMode::Manual => take_over_until_return(deps, &mut conversation, now).await?,
        ConversationMode::Ai => {
            let left = highest_covered_ordinal(deps, &conversation, None).await?;
            conversation.give_back_to_agent(left, now)
        }
    };
    if handed_over {
        conversation.sign_handover(&caller.name, now);
    }
    let changed = conversation.sign_taking(&caller.name, now) || handed_over;
    if changed && !noted {
        audit_action(deps, caller, conversation_action(action, &before, after)).await?;
    }
    // Boxed to keep this future small. Done even if nothing changed: the request may repeat an earlier request that crashed before this step.
    Box::pin(take_over_others(deps, &conversation, correlation)).await?;
    if changed {
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
            return Ok(WriteAttempt::Lost(true));
        }
        tracing::info!(conversation_id = %id, ?mode, by = %caller.name, "mode changed by a person");
    }
    Ok(WriteAttempt::Done(conversation))
}

/// Takes a conversation over, until the agent comes back as its instance says. Returns `false` if people had it already.
async fn take_over_until_return(
    deps: &Deps,
    conversation: &mut Conversation,
    now: Timestamp,
) -> PortResult<bool> {
    if !conversation.take_over() {
        return Ok(false);
    }
    let bound = find_config_by_id(deps.store(), &conversation.instance).await?;
    let returns = bound.map(|bound| bound.instance.agent_returns);
    conversation.restart_return(returns.unwrap_or_default(), now);
    Ok(true)
}

/// Lists the conversations in which a person owes an answer, those that wait the longest first.
pub async fn list_waiting_conversations(
    deps: &Deps,
    caller: &Caller,
    filter: ConversationFilter,
    page: &PageRequest,
) -> Result<Page<Conversation>, OperateError> {
    let filter = filter.within_scope(&caller.scope);
    Ok(deps.store().list_waiting_conversations(&filter, page).await?)
}

/// Resolves a conversation, unless a message newer than `seen` came in. `seen` is the newest ordinal that the operator
/// saw; `None`: all messages. A newer message is an error.
pub async fn resolve_conversation(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    seen: Option<Ordinal>,
    correlation: &CorrelationId,
) -> Result<Conversation, OperateError> {
    let conversation = retry_lost_write(OperateError::Busy, false, |noted| async move {
        let mut conversation = find_conversation(deps, caller, id).await?;
        let before = conversation.clone();
        if conversation.resolve_if_seen(seen.unwrap_or(conversation.last_inbound))? {
            conversation.sign_handover(&caller.name, deps.system().now());
            if !noted {
                let action = AuditAction::ConversationResolved;
                audit_action(deps, caller, conversation_action(action, &before, "resolved")).await?;
            }
            if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
                return Ok(WriteAttempt::Lost(true));
            }
            tracing::info!(conversation_id = %id, by = %caller.name, "resolved by a person");
        }
        Ok::<_, OperateError>(WriteAttempt::Done(conversation))
    })
    .await?;
    // Done even if nothing changed: the request may repeat an earlier request that crashed before this step.
    wake_up::enqueue_after_handover(deps, &conversation.id, correlation).await?;
    Ok(conversation)
}

/// Returns what a person does with a conversation. A mode and a status say what it was before.
fn conversation_action(action: AuditAction, before: &Conversation, after: &str) -> AuditedAction {
    let known = match (before.status, before.mode) {
        (ConversationStatus::Resolved, _) => "resolved",
        (ConversationStatus::Active, ConversationMode::Ai) => "ai",
        (ConversationStatus::Active, ConversationMode::Manual) => "manual",
    };
    action
        .on_object(Some(&before.tenant), "conversation", before.id.to_string())
        .with_change(known, after)
}

/// Lists the provider's notices about the account of the instance's number, the newest first. The list is empty if the
/// configuration does not name the account.
pub async fn list_notices(
    deps: &Deps,
    caller: &Caller,
    instance: &InstanceId,
) -> Result<Vec<Notice>, OperateError> {
    let bound = find_instance_within(deps, caller, instance).await?;
    let instance = &bound.ok_or(OperateError::NotFound("instance"))?.instance;
    match &instance.account_id {
        Some(account) => Ok(notices::list_notices(deps.store(), instance.provider, account).await?),
        None => Ok(Vec::new()),
    }
}

/// Lists the messages that their provider accepted and WhatsApp did not acknowledge in time. They are those of one instance, or
/// of all within the caller's scope.
pub async fn list_unacknowledged(
    deps: &Deps,
    caller: &Caller,
    instance: Option<InstanceId>,
    page: &PageRequest,
) -> PortResult<Page<UnacknowledgedMessage>> {
    let filter = UnacknowledgedFilter {
        tenant: caller.scope.tenant().cloned(),
        instance,
        due_from: None,
    };
    let now = deps.system().now();
    deps.store().list_unacknowledged(&filter, now, page).await
}

/// Records that a person looked at the messages up to `seen`, and returns the conversation. Nothing is written if nobody is waited
/// for, or if that much was looked at before.
pub async fn record_seen(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    seen: Ordinal,
) -> Result<Conversation, OperateError> {
    retry_lost_write(OperateError::Busy, (), |()| async move {
        let mut conversation = find_conversation(deps, caller, id).await?;
        if conversation.record_seen(seen)
            && save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict
        {
            return Ok(WriteAttempt::Lost(()));
        }
        Ok::<_, OperateError>(WriteAttempt::Done(conversation))
    })
    .await
}
