//! Reads, redrives and deletes dead letters for operators.

mod delete;
mod forecast;
mod redrive;
mod selection;

pub use delete::{DeletionSummary, delete_dead_letter, delete_dead_letters};
pub use forecast::{RedriveForecast, forecast_redrive};
pub use redrive::{RedriveSummary, redrive_dead_letter, redrive_dead_letters};
pub use selection::DeadLetterSelection;

use super::OperateError;
use crate::steps::audit::audit_action;
use crate::steps::unreadable::pass_over_unreadable;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::event::EventPayload;
use recado_domain::ids::InstanceId;
use recado_domain::invitations::InvitationState;
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult};
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::dead_letters::{self, DeadLetterFilter};
use recado_ports::records::invitations::find_invitation;
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
    let done = AuditedAction::on_object(action, tenant, "dead_letter", dead_letter.id.as_str());
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
