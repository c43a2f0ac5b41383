//! Lists the instances that work. Agents and their prompts are not read.

use crate::ports::{ConfigurationStore, PageRequest, PortResult};
use recado_domain::budget::MonthlyBudget;
use recado_domain::config::{Instance, Tenant};
use recado_domain::ids::TenantId;
use std::collections::HashSet;

/// Number of entries that are read at once. On AWS a request reads 1 MB at most, which are fewer.
const PAGE: usize = 500;

/// Lists the instances of `tenant`, or of all tenants (`None`), sorted by their ids. Those that are disabled or whose
/// tenant is disabled are left out.
pub(crate) async fn list_working_instances(
    store: &impl ConfigurationStore,
    tenant: Option<&TenantId>,
) -> PortResult<Vec<Instance>> {
    if tenant.is_some() {
        let configured = store.read_configuration(tenant).await?;
        return Ok(configured.enabled_instances().cloned().collect());
    }
    let mut working = Vec::new();
    let mut pages = WorkingPages::begin(store).await?;
    while let Some(found) = pages.next_page().await? {
        working.extend(found);
    }
    Ok(working)
}

/// The working instances of all tenants, page by page: those of one page are in memory at once.
pub(crate) struct WorkingPages<'a, S> {
    store: &'a S,
    disabled: HashSet<TenantId>,
    /// The budgets of the tenants that have one.
    pub(crate) budgets: Vec<(TenantId, MonthlyBudget)>,
    /// The next page; `None`: all were read.
    next: Option<PageRequest>,
}

impl<'a, S: ConfigurationStore> WorkingPages<'a, S> {
    pub(crate) async fn begin(store: &'a S) -> PortResult<Self> {
        let (mut disabled, mut budgets, mut page) = (HashSet::new(), Vec::new(), first_page());
        loop {
            let found = store.list_tenants(&page).await?;
            for tenant in found.items {
                budgets.extend(tenant.budget.map(|budget| (tenant.id.clone(), budget)));
                if tenant.disabled {
                    disabled.insert(tenant.id);
                }
            }
            page.cursor = found.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
        Ok(Self {
            store,
            disabled,
            budgets,
            next: Some(first_page()),
        })
    }

    /// Returns the working instances of the next page, which may be none; `None` after the last page.
    pub(crate) async fn next_page(&mut self) -> PortResult<Option<Vec<Instance>>> {
        let Some(page) = self.next.take() else {
            return Ok(None);
        };
        let found = self.store.list_instances(None, &page).await?;
        self.next = found.next_cursor.map(|cursor| PageRequest {
            cursor: Some(cursor),
            ..page
        });
        let works = |instance: &Instance| !instance.disabled && !self.disabled.contains(&instance.tenant);
        Ok(Some(found.items.into_iter().filter(works).collect()))
    }
}

/// Lists all tenants, sorted by their ids.
pub(crate) async fn list_all_tenants(store: &impl ConfigurationStore) -> PortResult<Vec<Tenant>> {
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = store.list_tenants(&page).await?;
        all.extend(found.items);
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            return Ok(all);
        }
    }
}

fn first_page() -> PageRequest {
    PageRequest {
        limit: PAGE,
        cursor: None,
    }
}
