//! Looks for the secrets that entries of the configuration name.

use futures::stream::{self, StreamExt};
use recado_alerts::alert_config::read_alert_config;
use recado_domain::alert::MissingSecret;
use recado_domain::config::{Agent, Calendar, ConfigDocument, NamedSecret};
use recado_domain::tools::Tool;
use recado_pipeline::Deps;
use recado_pipeline::steps::working_instances::{TenantPages, WorkingPages};
use recado_ports::ports::{CredentialState, PageRequest, PortResult};
use recado_ports::records::configuration::list_entries;
use std::collections::HashSet;

/// Number of secrets that are read side by side.
const READ_AT_ONCE: usize = 16;

/// Number of entries that are read at once.
const PAGE: usize = 500;

/// Returns those of the named secrets that are not there. One that cannot be read now counts as there.
pub async fn find_missing(deps: &Deps, named: Vec<NamedSecret<'_>>) -> Vec<MissingSecret> {
    let looks: Vec<_> = named.into_iter().map(|one| look_for(deps, one)).collect();
    let found: Vec<Option<MissingSecret>> = stream::iter(looks).buffered(READ_AT_ONCE).collect().await;
    found.into_iter().flatten().collect()
}

async fn look_for(deps: &Deps, named: NamedSecret<'_>) -> Option<MissingSecret> {
    match deps.providers().check_secret(named.reference).await {
        CredentialState::Missing(why) => Some(MissingSecret {
            tenant: named.tenant.cloned(),
            entry: named.describe_place(),
            why,
        }),
        CredentialState::Present | CredentialState::Simulated | CredentialState::Unclear => None,
    }
}

/// Returns the secrets that are not there and that an entry of a working tenant names, or the alerts. Entries are read page by page,
/// so that the memory does not grow with their number.
pub async fn find_all_missing(deps: &Deps) -> PortResult<Vec<MissingSecret>> {
    let store = deps.store();
    let alerts = ConfigDocument {
        alerts: Some(read_alert_config(store).await?),
        ..ConfigDocument::default()
    };
    let mut missing = find_missing(deps, alerts.list_named_secrets()).await;
    let mut disabled = HashSet::new();
    let mut pages = TenantPages::begin(store);
    while let Some(tenants) = pages.next_page().await? {
        let off = tenants.iter().filter(|tenant| tenant.disabled);
        disabled.extend(off.map(|tenant| tenant.id.clone()));
        let page = ConfigDocument {
            tenants,
            ..ConfigDocument::default()
        };
        missing.extend(find_missing(deps, page.list_named_secrets()).await);
    }
    let mut pages = WorkingPages::begin(store).await?;
    while let Some(instances) = pages.next_page().await? {
        let page = ConfigDocument {
            instances,
            ..ConfigDocument::default()
        };
        missing.extend(find_missing(deps, page.list_named_secrets()).await);
    }
    missing.extend(Box::pin(find_missing_of_agents(deps)).await?);
    missing.retain(|one| {
        one.tenant
            .as_ref()
            .is_none_or(|tenant| !disabled.contains(tenant))
    });
    Ok(missing)
}

/// Returns the secrets that are not there and that agents, their tools and calendars name.
async fn find_missing_of_agents(deps: &Deps) -> PortResult<Vec<MissingSecret>> {
    let (store, mut missing) = (deps.store(), Vec::new());
    let begin = || Some(PageRequest::first(PAGE));
    let (mut calendars, mut tools, mut agents) = (begin(), begin(), begin());
    while calendars.is_some() || tools.is_some() || agents.is_some() {
        let mut page = ConfigDocument::default();
        if let Some(next) = calendars.take() {
            let found = list_entries::<Calendar>(store, None, &next).await?;
            (page.calendars, calendars) = (found.items, next.follow(found.next_cursor));
        }
        if let Some(next) = tools.take() {
            let found = list_entries::<Tool>(store, None, &next).await?;
            (page.tools, tools) = (found.items, next.follow(found.next_cursor));
        }
        if let Some(next) = agents.take() {
            let found = list_entries::<Agent>(store, None, &next).await?;
            (page.agents, agents) = (found.items, next.follow(found.next_cursor));
        }
        missing.extend(find_missing(deps, page.list_named_secrets()).await);
    }
    Ok(missing)
}
