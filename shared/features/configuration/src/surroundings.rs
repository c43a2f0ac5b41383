//! Reads the part of the configuration that a change touches. So a check costs the same among ten thousand tenants.

use recado_domain::config::{ConfigDocument, ConfigNames};
use recado_domain::ids::TenantId;
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::{find_named_entries, load_configuration};

/// Number of tenants that are read one by one at most. Of more, the whole configuration is read at once.
const TENANTS_MAX: usize = 32;

/// Reads what the check of `names` needs: all tenants that they touch, each with its calendars, tools, agents and instances, and the
/// tenants with which these would share variables. `own` is a tenant that is read in any case.
pub(super) async fn read_surroundings(
    deps: &Deps,
    names: &ConfigNames,
    own: Option<&TenantId>,
) -> PortResult<ConfigDocument> {
    let store = deps.store();
    let mut tenants = names.list_tenants();
    if tenants.len() > TENANTS_MAX {
        return load_configuration(store, None).await;
    }
    let found = find_named_entries(store, names).await?;
    tenants.extend(found.list_owners());
    tenants.extend(own.cloned());
    // Stored destinations refer to further tenants and instances.
    let mut further = ConfigNames {
        variable_parts: tenants.iter().map(TenantId::variable_part).collect(),
        ..ConfigNames::default()
    };
    further.add_destinations(&found);
    tenants.extend(find_named_entries(store, &further).await?.list_owners());
    if tenants.len() > TENANTS_MAX {
        return load_configuration(store, None).await;
    }
    let mut entries = Vec::new();
    for tenant in &tenants {
        entries.extend(load_configuration(store, Some(tenant)).await?.list_entries());
    }
    Ok(ConfigDocument {
        alerts: found.alerts,
        prices: found.prices,
        ..entries.into_iter().collect()
    })
}
