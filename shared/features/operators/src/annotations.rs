//! Changes the labels and notes that people write beside a conversation. Nothing of it is sent, and no model reads it.

use crate::{OperateError, find_conversation};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::conversation::{AnnotationError, Conversation, ConversationLabel, PersonNote};
use recado_domain::ids::ConversationId;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_ports::ports::WriteOutcome;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::collections::BTreeSet;

/// The labels to add to a conversation and to remove from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// Labels to add.
    pub add: BTreeSet<ConversationLabel>,
    /// Labels to remove. One that is to be added, too, stays.
    pub remove: BTreeSet<ConversationLabel>,
}

/// Changes the labels of a conversation, and returns those that it has then.
pub async fn change_labels(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    change: &LabelChange,
) -> Result<BTreeSet<ConversationLabel>, OperateError> {
    let action = AuditAction::ConversationLabelled;
    change_annotations(deps, caller, id, action, |conversation| {
        let changed = conversation.change_labels(&change.add, &change.remove)?;
        Ok((changed, conversation.people.annotations.labels.clone()))
    })
    .await
}

/// Lists the notes of a conversation, the oldest first.
pub async fn list_notes(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
) -> Result<Vec<PersonNote>, OperateError> {
    Ok(find_conversation(deps, caller, id)
        .await?
        .people
        .annotations
        .notes)
}

/// Adds a note of the caller. If the newest note is the caller's and says the same, it is returned: the request repeats an earlier
/// one.
pub async fn add_note(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    text: &str,
) -> Result<PersonNote, OperateError> {
    let now = deps.system().now();
    change_annotations(deps, caller, id, AuditAction::NoteAdded, |conversation| {
        if let Some(note) = conversation.find_repeated_note(&caller.name, text) {
            return Ok((false, note.clone()));
        }
        let note = conversation.add_person_note(&caller.name, text, now)?;
        Ok((true, note))
    })
    .await
}

/// Deletes a note. A note that is gone already counts as unknown.
pub async fn delete_note(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    number: u64,
) -> Result<(), OperateError> {
    let found = change_annotations(deps, caller, id, AuditAction::NoteDeleted, |conversation| {
        let removed = conversation.remove_person_note(number);
        Ok((removed, removed))
    });
    let found = found.await?;
    found.then_some(()).ok_or(OperateError::NotFound("note"))
}

/// Reads a conversation, lets `change` change it and writes it, again if another writer was faster. `change` tells whether something
/// changes, and the result. A change is audited once.
async fn change_annotations<T>(
    deps: &Deps,
    caller: &Caller,
    id: &ConversationId,
    action: AuditAction,
    change: impl Fn(&mut Conversation) -> Result<(bool, T), AnnotationError>,
) -> Result<T, OperateError> {
    let change = &change;
    retry_lost_write(OperateError::Busy, false, |noted| async move {
        let mut conversation = find_conversation(deps, caller, id).await?;
        let (is_changed, outcome) = change(&mut conversation)?;
        if !is_changed {
            return Ok(WriteAttempt::Done(outcome));
        }
        if !noted {
            let tenant = Some(&conversation.tenant);
            let done = action.on_object(tenant, "conversation", conversation.id.to_string());
            audit_action(deps, caller, done).await?;
        }
        Ok(match save_conversation(deps, &mut conversation).await? {
            WriteOutcome::Written => WriteAttempt::Done(outcome),
            WriteOutcome::Conflict => WriteAttempt::Lost(true),
        })
    })
    .await
}
