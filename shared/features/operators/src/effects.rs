//! Shows people what an agent's tools did, and lets them say how an effect ended that nobody could settle.

use crate::{OperateError, find_conversation};
use recado_actions::effects::change_journal;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::effects::{EffectEntry, EffectState, EntryEnd};
use recado_domain::ids::{ConversationId, CorrelationId};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::wake_up;
use recado_ports::records::effects::find_journal;
use serde::Deserialize;

/// The end of an effect, as a person says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = DecidedState))]
#[serde(rename_all = "snake_case")]
pub enum EffectDecision {
    /// The effect happened.
    Done,
    /// The effect did not happen.
    Failed,
    /// The thing that it was about is gone.
    Void,
}

impl EffectDecision {
    fn to_entry_end(self) -> EntryEnd {
        match self {
            Self::Done => EntryEnd::Done,
            Self::Failed => EntryEnd::Failed { fence: false },
            Self::Void => EntryEnd::Void,
        }
    }

    fn to_state(self) -> EffectState {
        match self {
            Self::Done => EffectState::Done,
            Self::Failed => EffectState::Failed,
            Self::Void => EffectState::Void,
        }
    }
}

/// Lists the effects of the agent for the contact of a conversation, the newest first. They are those of the thread: a later
/// conversation knows them, too.
pub async fn list_effects(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
) -> Result<Vec<EffectEntry>, OperateError> {
    let conversation = find_conversation(deps, caller, id).await?;
    let (tenant, thread) = (&conversation.tenant, conversation.id.thread_id());
    let found = find_journal(deps.store(), tenant, thread).await?;
    let mut entries = found.map(|found| found.record.entries).unwrap_or_default();
    entries.reverse();
    Ok(entries)
}

/// Stores how an effect ended that is unknown, as a person says. Asks for a turn if the agent owes an answer. The same
/// decision again changes nothing.
pub async fn decide_effect(
    deps: &Deps,
    caller: &Caller,
    (id, number): (&ConversationId, u64),
    decision: EffectDecision,
    correlation: &CorrelationId,
) -> Result<EffectEntry, OperateError> {
    let conversation = find_conversation(deps, caller, id).await?;
    let (tenant, thread) = (&conversation.tenant, conversation.id.thread_id());
    let missing = OperateError::NotFound("effect");
    let journal = find_journal(deps.store(), tenant, thread).await?;
    let found = journal.and_then(|journal| journal.record.find_entry(number).cloned());
    let entry = found.ok_or(missing)?;
    if entry.state == decision.to_state() {
        return Ok(entry);
    }
    if entry.state != EffectState::Unknown {
        return Err(OperateError::EffectNotUnknown);
    }
    let object = format!("{}/{number}", conversation.id);
    let action = AuditAction::EffectDecided.on_object(Some(&conversation.tenant), "effect", object);
    let action = action.with_change("unknown", decision.to_state().as_str());
    audit_action(deps, caller, action).await?;
    let changed = change_journal(deps, (tenant, thread), |journal, now| {
        journal.decide_entry(number, decision.to_entry_end(), now)
    });
    let journal = changed.await?;
    tracing::info!(conversation_id = %id, number, by = %caller.name, "a person said how an effect ended");
    if conversation.agent_owes_answer() {
        wake_up::enqueue_turn(deps, &conversation, correlation).await?;
    }
    let decided = journal.record.find_entry(number).cloned();
    decided.ok_or(OperateError::NotFound("effect"))
}
