use super::redrive::{RemovedLetters, clear_queue_copies, record_removed_letter};
use super::selection::{DeadLetterSelection, OrderedLetters, select_letters};
use super::{SIDE_BY_SIDE, audit_letter, require_dead_letter};
use crate::steps::dead_letter_erasure::purge_named_record;
use crate::steps::queue_message::format_error_chain;
use crate::usecases::operate::OperateError;
use futures::stream::{self, StreamExt};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::dead_letter::DeadLetter;
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::dead_letters::{find_dead_letter, remove_dead_letter};

/// The result of deleting several dead letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletionSummary {
    /// Number of dead letters that were selected.
    pub selected: usize,
    /// Number of dead letters that were deleted.
    pub deleted: usize,
    /// Number of dead letters that could not be deleted now.
    pub failed: usize,
    /// `true` if more dead letters match than the limit allows.
    pub more: bool,
}

/// Deletes a dead letter for good. The audit keeps who deleted it.
pub async fn delete_dead_letter(deps: &Deps, caller: &Caller, id: &str) -> Result<(), OperateError> {
    let dead_letter = require_dead_letter(deps, caller, id).await?;
    let deleted = delete_audited_letter(deps, &dead_letter, caller).await?;
    let mut gone = RemovedLetters::new();
    record_removed_letter(&mut gone, &dead_letter);
    clear_queue_copies(deps, &gone).await;
    if deleted {
        Ok(())
    } else {
        // Somebody else deleted or redrove the dead letter at the same moment.
        Err(OperateError::NotFound("dead letter"))
    }
}

/// Deletes several dead letters for good. The audit keeps who deleted each.
pub async fn delete_dead_letters(
    deps: &Deps,
    caller: &Caller,
    selection: &DeadLetterSelection,
) -> Result<DeletionSummary, OperateError> {
    let selected = select_letters(deps, caller, selection).await?;
    let mut done = DeletionSummary {
        selected: selected.count,
        more: selected.more,
        ..DeletionSummary::default()
    };
    let ids = selected
        .lines
        .into_iter()
        .flat_map(OrderedLetters::into_letter_ids);
    let mut gone = RemovedLetters::new();
    let mut dead_letters = stream::iter(ids)
        .map(|id| delete_listed_letter(deps, id, caller))
        .buffer_unordered(SIDE_BY_SIDE);
    while let Some(outcome) = dead_letters.next().await {
        match outcome {
            Ok(Some(dead_letter)) => {
                record_removed_letter(&mut gone, &dead_letter);
                done.deleted += 1;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = %format_error_chain(&error), "a dead letter was not deleted");
                done.failed += 1;
            }
        }
    }
    clear_queue_copies(deps, &gone).await;
    Ok(done)
}

async fn delete_listed_letter(deps: &Deps, id: String, caller: &Caller) -> PortResult<Option<DeadLetter>> {
    match find_dead_letter(deps.store(), &id).await? {
        Some(dead_letter) => Ok(delete_audited_letter(deps, &dead_letter, caller)
            .await?
            .then_some(dead_letter)),
        None => Ok(None),
    }
}

/// Purges the record of a dead letter, then deletes the dead letter. The record is purged first, so that no remaining
/// copy revives it and no new dead letter is made of it. The audit has who deletes it before that. A crash in between leaves
/// a dead letter that can be deleted again. Returns `false` if the dead letter was already gone.
async fn delete_audited_letter(deps: &Deps, dead_letter: &DeadLetter, caller: &Caller) -> PortResult<bool> {
    audit_letter(deps, caller, AuditAction::DeadLetterDeleted, dead_letter).await?;
    purge_named_record(deps, dead_letter, Some(&caller.name)).await?;
    let deleted = remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    if deleted {
        tracing::warn!(dead_letter = %dead_letter.id, correlation_id = %dead_letter.correlation, by = %caller.name, "deleted by an operator");
    }
    Ok(deleted)
}
