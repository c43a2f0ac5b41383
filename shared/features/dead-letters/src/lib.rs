//! Reads, redrives and deletes dead letters for operators, and ends those whose retention is over.
//!
//! Its types and rules are in [`recado_domain::dead_letter`].

pub mod dead_letter_retention;
mod forecast;
pub mod letter_routes;
mod redrive;
mod selection;

pub use crate::forecast::{RedriveForecast, forecast_redrive};
pub use crate::redrive::{RedriveSummary, redrive_dead_letter, redrive_dead_letters};
use crate::redrive::{RemovedLetters, clear_queue_copies, record_removed_letter};
pub use crate::selection::DeadLetterSelection;
use crate::selection::{OrderedLetters, select_letters};
use futures::stream::{self, StreamExt};
use recado_contacts::dead_letter_erasure::purge_named_record;
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::EventPayload;
use recado_domain::ids::InstanceId;
use recado_domain::invitations::InvitationState;
use recado_operators::OperateError;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::audit_action;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::dead_letters::{self, DeadLetterFilter, remove_dead_letter};
use recado_ports::records::invitations::find_invitation;
use serde::Serialize;
use serde_json::{Value, json};

/// Number of dead letters that are handled at the same time.
const SIDE_BY_SIDE: usize = 16;

/// A dead letter with the payload that a redrive would handle again.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadLetterWithPayload {
    /// The dead letter.
    pub dead_letter: DeadLetter,
    /// The work that was given up, as it is. That is a provider's event, an outgoing message's content and address, a job of `turns`,
    /// or an unreadable body or record.
    pub payload: Value,
}

/// Lists dead letters, the newest first.
pub async fn list_dead_letters(
    deps: &Deps,
    caller: &Caller,
    filter: DeadLetterFilter,
    page: &PageRequest,
) -> Result<Page<DeadLetter>, OperateError> {
    let filter = narrow_filter(deps, caller, filter).await?;
    Ok(dead_letters::list_dead_letters(deps.store(), &filter, page).await?)
}

/// Limits a filter to what the caller may see. If it names an instance, it is limited to that one's tenant, whose list is the shorter.
async fn narrow_filter(
    deps: &Deps,
    caller: &Caller,
    filter: DeadLetterFilter,
) -> PortResult<DeadLetterFilter> {
    let mut filter = filter.within_scope(&caller.scope);
    if let (None, Some(instance)) = (&filter.tenant, &filter.instance) {
        let bound = pass_over_unreadable(find_config_by_id(deps.store(), instance).await)?;
        filter.tenant = bound.map(|bound| bound.tenant.id.clone());
    }
    Ok(filter)
}

/// Returns a dead letter with its payload.
pub async fn find_dead_letter(
    deps: &Deps,
    caller: &Caller,
    id: &str,
) -> Result<DeadLetterWithPayload, OperateError> {
    let dead_letter = require_dead_letter(deps, caller, id).await?;
    let payload = load_payload(deps, &dead_letter).await?;
    Ok(DeadLetterWithPayload { dead_letter, payload })
}

/// Lists the newest dead letters with their payloads, at most `limit`.
pub async fn newest_with_payloads(
    deps: &Deps,
    caller: &Caller,
    filter: DeadLetterFilter,
    limit: usize,
) -> Result<Vec<DeadLetterWithPayload>, OperateError> {
    let page = PageRequest::first(limit);
    let mut views = Vec::new();
    for dead_letter in list_dead_letters(deps, caller, filter, &page).await?.items {
        let payload = match &dead_letter.what {
            // Many large stored bodies would be too much for one answer. They are shown when a dead letter is read by
            // its id.
            DeadLetterContent::Event(job) => inline_payload(&job.payload),
            _ => load_payload(deps, &dead_letter).await?,
        };
        views.push(DeadLetterWithPayload { dead_letter, payload });
    }
    Ok(views)
}

/// Returns a dead letter; `None` if it does not exist or is outside the caller's scope.
async fn find_letter_within(deps: &Deps, caller: &Caller, id: &str) -> PortResult<Option<DeadLetter>> {
    let found = dead_letters::find_dead_letter(deps.store(), id).await?;
    Ok(found.filter(|found| caller.scope.covers_owner(found.tenant.as_ref())))
}

async fn require_dead_letter(deps: &Deps, caller: &Caller, id: &str) -> Result<DeadLetter, OperateError> {
    let dead_letter = find_letter_within(deps, caller, id).await?;
    dead_letter.ok_or(OperateError::NotFound("dead letter"))
}

/// Counts the dead letters of an instance, or of all in the caller's scope (`None`).
pub async fn count_dead_letters(
    deps: &Deps,
    caller: &Caller,
    instance: Option<&InstanceId>,
) -> Result<u64, OperateError> {
    let counts = dead_letters::count_dead_letters(deps.store(), caller.scope.tenant()).await?;
    Ok(counts.count_of(instance))
}

fn inline_payload(payload: &EventPayload) -> Value {
    match payload {
        EventPayload::Inline(value) => value.clone(),
        EventPayload::Stored(key) => json!({ "stored": key }),
    }
}

/// Loads the payload that a redrive of the dead letter would handle again. `null` if its message does not exist.
async fn load_payload(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<Value> {
    let invalid = |error| PortError::invalid("dead letter", error);
    match &dead_letter.what {
        DeadLetterContent::Event(job) => match &job.payload {
            EventPayload::Stored(key) => {
                let kept = deps.queues().find_payload(key).await?;
                Ok(kept.unwrap_or_else(|| inline_payload(&job.payload)))
            }
            payload @ EventPayload::Inline(_) => Ok(inline_payload(payload)),
        },
        DeadLetterContent::Message { message } => match deps.store().find_message(message).await? {
            Some(message) => {
                let content = serde_json::to_value(&message.content).map_err(invalid)?;
                Ok(json!({ "to": message.recipient(), "content": content }))
            }
            None => Ok(Value::Null),
        },
        DeadLetterContent::Email { tenant, invitation } => {
            let found = find_invitation(deps.store(), tenant, invitation).await?;
            let email = found.as_ref().and_then(|found| match &found.record.state {
                InvitationState::Email { outbox } => outbox.email.as_ref(),
                _ => None,
            });
            serde_json::to_value(email).map_err(invalid)
        }
        DeadLetterContent::Turns(job) => serde_json::to_value(job).map_err(invalid),
        DeadLetterContent::Unreadable { body: text } | DeadLetterContent::Damaged { record: text } => {
            Ok(Value::String(text.clone()))
        }
    }
}

/// Notes in the audit what `caller` does with a dead letter.
async fn audit_letter(
    deps: &Deps,
    caller: &Caller,
    action: AuditAction,
    dead_letter: &DeadLetter,
) -> PortResult<()> {
    let tenant = dead_letter.tenant.as_ref();
    let done = action.on_object(tenant, "dead_letter", dead_letter.id.as_str());
    let what = format!(
        "{} of {}, {}, {}",
        dead_letter.kind_name(),
        dead_letter.queue.as_str(),
        dead_letter.reason.as_str(),
        dead_letter.at
    );
    let after = match action {
        AuditAction::DeadLetterRedriven => "redriven",
        _ => "deleted",
    };
    audit_action(deps, caller, done.with_change(what, after)).await
}

/// The result of deleting many dead letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = PurgeView))]
pub struct DeletionSummary {
    /// Number of dead letters that were selected.
    pub selected: usize,
    /// Number of dead letters that were deleted.
    pub deleted: usize,
    /// Number of dead letters that could not be deleted now.
    pub failed: usize,
    /// `true` if the limit was reached, so that there may be more.
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
    match dead_letters::find_dead_letter(deps.store(), &id).await? {
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
