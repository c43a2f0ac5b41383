//! Lists the instances that work. Agents and their prompts are not read.

use crate::ports::{ConfigurationStore, PageRequest, PortResult};
use recado_domain::config::{Instance, Tenant};
use recado_domain::ids::TenantId;
use std::collections::HashSet;

/// Number of entries that are read at once. On AWS a request reads 1 MB at most, which are fewer.
const PAGE: usize = 2_000;

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
    let tenants = list_all_tenants(store).await?.into_iter();
    let disabled = tenants.filter(|tenant| tenant.disabled);
    let disabled: HashSet<TenantId> = disabled.map(|tenant| tenant.id).collect();
    let mut working = Vec::new();
    let mut page = first_page();
    loop {
        let found = store.list_instances(None, &page).await?;
        let works = |instance: &Instance| !instance.disabled && !disabled.contains(&instance.tenant);
        working.extend(found.items.into_iter().filter(works));
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            return Ok(working);
        }
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
