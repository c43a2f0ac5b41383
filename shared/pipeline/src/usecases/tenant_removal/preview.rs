//! Counts what is stored of a tenant, before it is removed.

use super::{COUNTED_MAX, RemovalReport, TOKENS};
use recado_domain::config::ConfigDocument;
use recado_domain::ids::TenantId;
use recado_ports::Deps;
use recado_ports::ports::{ConversationFilter, EventOwners, PageRequest, PortResult};
use recado_ports::records::dead_letters::count_dead_letters;
use recado_ports::records::scheduled_messages::list_pending_scheduled;
use recado_ports::records::tokens::list_tokens;

/// Counts what is stored of the tenant, at most [`COUNTED_MAX`] of a kind.
pub(super) async fn count_contents(
    deps: &Deps,
    tenant: &TenantId,
    document: &ConfigDocument,
) -> PortResult<RemovalReport> {
    let store = deps.store();
    let filter = ConversationFilter {
        tenant: Some(tenant.clone()),
        ..ConversationFilter::default()
    };
    let dead_letters = count_dead_letters(store, Some(tenant)).await?.count_of(None);
    let mut report = RemovalReport {
        agents: document.agents.len(),
        instances: document.instances.len(),
        tokens: list_tokens(store, Some(tenant), &PageRequest::first(TOKENS))
            .await?
            .items
            .len(),
        conversations: store
            .search_conversations(&filter, &PageRequest::first(COUNTED_MAX))
            .await?
            .items
            .len(),
        dead_letters: usize::try_from(dead_letters).unwrap_or(usize::MAX),
        ..RemovalReport::default()
    };
    report.events = store
        .list_pending_events(EventOwners::Instances(&document.instances, COUNTED_MAX))
        .await?
        .len();
    for instance in &document.instances {
        let pending = list_pending_scheduled(store, tenant, &instance.id).await?;
        report.scheduled += pending.len();
    }
    Ok(report)
}
