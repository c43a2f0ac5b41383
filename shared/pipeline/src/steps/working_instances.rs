//! Lists the instances that work, and tenants, page by page: of ten thousand, those of one page are in memory at once. Agents and
//! their prompts are not read.

use recado_domain::budget::MonthlyBudget;
use recado_domain::config::{Instance, Tenant};
use recado_domain::ids::TenantId;
use recado_ports::ports::{PageRequest, PortResult};
use recado_ports::records::configuration::{list_entries, load_configuration};
use recado_ports::table::Table;
use std::collections::HashSet;

/// Number of entries that are read at once. On AWS a request reads 1 MB at most, which are fewer.
const PAGE: usize = 500;

/// Lists the instances of a tenant, sorted by their ids. Those that are disabled are left out, and all of a disabled tenant.
pub async fn list_working_instances(store: &dyn Table, tenant: &TenantId) -> PortResult<Vec<Instance>> {
    let configured = load_configuration(store, Some(tenant)).await?;
    Ok(configured.enabled_instances().cloned().collect())
}

/// All tenants, page by page, sorted by their ids.
#[expect(
    missing_debug_implementations,
    reason = "it borrows a store, which cannot be shown"
)]
pub struct TenantPages<'a> {
    store: &'a dyn Table,
    /// The next page; `None`: all were read.
    next: Option<PageRequest>,
}

impl<'a> TenantPages<'a> {
    pub fn begin(store: &'a dyn Table) -> Self {
        Self {
            store,
            next: Some(PageRequest::first(PAGE)),
        }
    }

    /// Returns the tenants of the next page, which may be none; `None` after the last page.
    pub async fn next_page(&mut self) -> PortResult<Option<Vec<Tenant>>> {
        let Some(page) = self.next.take() else {
            return Ok(None);
        };
        let found = list_entries::<Tenant>(self.store, None, &page).await?;
        self.next = page.follow(found.next_cursor);
        Ok(Some(found.items))
    }
}

/// The working instances of all tenants, page by page.
#[expect(
    missing_debug_implementations,
    reason = "it borrows a store, which cannot be shown"
)]
pub struct WorkingPages<'a> {
    store: &'a dyn Table,
    disabled: HashSet<TenantId>,
    /// The budgets of the tenants that have one.
    pub budgets: Vec<(TenantId, MonthlyBudget)>,
    /// The next page; `None`: all were read.
    next: Option<PageRequest>,
}

impl<'a> WorkingPages<'a> {
    pub async fn begin(store: &'a dyn Table) -> PortResult<Self> {
        let (mut disabled, mut budgets) = (HashSet::new(), Vec::new());
        let mut pages = TenantPages::begin(store);
        while let Some(tenants) = pages.next_page().await? {
            for tenant in tenants {
                budgets.extend(tenant.budget.map(|budget| (tenant.id.clone(), budget)));
                if tenant.disabled {
                    disabled.insert(tenant.id);
                }
            }
        }
        Ok(Self {
            store,
            disabled,
            budgets,
            next: Some(PageRequest::first(PAGE)),
        })
    }

    /// Returns the working instances of the next page, which may be none; `None` after the last page.
    pub async fn next_page(&mut self) -> PortResult<Option<Vec<Instance>>> {
        let Some(page) = self.next.take() else {
            return Ok(None);
        };
        let found = list_entries::<Instance>(self.store, None, &page).await?;
        self.next = page.follow(found.next_cursor);
        let works = |instance: &Instance| !instance.disabled && !self.disabled.contains(&instance.tenant);
        Ok(Some(found.items.into_iter().filter(works).collect()))
    }
}
