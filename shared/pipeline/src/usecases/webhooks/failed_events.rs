//! Lists the events that an endpoint did not accept, and lets them be tried again.

use super::WebhookError;
use super::managing::find_endpoint;
use crate::steps::audit::audit_action;
use recado_domain::access::Caller;
use recado_domain::audit::{AuditAction, AuditedAction};
use recado_domain::ids::TenantId;
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::FailedEvent;
use recado_ports::Deps;
use recado_ports::ports::{Page, PageRequest};
use recado_ports::records::endpoints::{self, find_failed_event, redrive_failed_event};
use recado_ports::table::Versioned;

/// The number of failed events that are read at a time.
const PAGE: usize = 200;

/// The failed events that are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedChoice {
    /// The one of this place.
    One(EventCursor),
    /// All that were given up.
    All,
}

/// Lists the events that an endpoint did not accept: those that are tried on, and those that were given up.
pub async fn list_failed_events(
    deps: &Deps,
    caller: &Caller,
    (named, id): (Option<&TenantId>, &str),
    page: &PageRequest,
) -> Result<Page<FailedEvent>, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let found = endpoints::list_failed_events(deps.store(), &tenant.id, &endpoint.id, page).await?;
    Ok(found.map(|found| found.record))
}

/// Lets failed events be tried again at once and for as long as the first time. Returns how many.
pub async fn redrive_failed_events(
    deps: &Deps,
    caller: &Caller,
    (named, id): (Option<&TenantId>, &str),
    choice: FailedChoice,
) -> Result<usize, WebhookError> {
    let (tenant, endpoint) = find_endpoint(deps, caller, named, id).await?;
    let store = deps.store();
    let mut chosen = Vec::new();
    match choice {
        FailedChoice::One(cursor) => {
            let found = find_failed_event(store, &tenant.id, &endpoint.id, cursor).await?;
            chosen.push(found.ok_or(WebhookError::NoFailedEvent)?);
        }
        FailedChoice::All => {
            let mut next = Some(PageRequest::first(PAGE));
            while let Some(page) = next {
                let found = endpoints::list_failed_events(store, &tenant.id, &endpoint.id, &page).await?;
                let given_up = |failed: &Versioned<FailedEvent>| failed.record.next_at.is_none();
                chosen.extend(found.items.into_iter().filter(given_up));
                next = page.follow(found.next_cursor);
            }
        }
    }
    let count = chosen.len();
    let action = AuditAction::DeadLetterRedriven;
    let done = AuditedAction::on_object(action, Some(&tenant.id), "webhook_endpoint", endpoint.id.as_str());
    audit_action(deps, caller, done.with_result(format!("{count} failed events"))).await?;
    let now = deps.system().now();
    let mut redriven = 0;
    for failed in &chosen {
        redriven += usize::from(redrive_failed_event(store, failed, now).await?);
    }
    Ok(redriven)
}
