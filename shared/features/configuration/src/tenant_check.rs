//! Checks what a change of the configuration does with tenants.

use crate::prune::has_dead_letters;
use crate::{ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use recado_domain::access::{Caller, Permission};
use recado_domain::config::{ConfigDocument, ConfigEntry, ConfigError, Instance, Tenant};
use recado_pipeline::Deps;
use recado_ports::ports::{ConversationFilter, PageRequest, PortResult};

/// Checks that the caller may make or remove each tenant that `changes` make or remove.
pub(super) fn check_tenant_permission<'a>(
    caller: &Caller,
    changes: impl Iterator<Item = &'a ConfigurationChange>,
) -> Result<(), ConfigureError> {
    if caller.role.permits(Permission::Administer) {
        return Ok(());
    }
    let mut refused = changes.filter_map(|change| match change.what {
        ConfigurationChangeKind::Created => Some((change, "make")),
        ConfigurationChangeKind::Removed => Some((change, "remove")),
        _ => None,
    });
    match refused.find(|(change, _)| change.kind == Tenant::KIND) {
        None => Ok(()),
        Some((change, verb)) => Err(ConfigureError::TenantPermission {
            tenant: change.id.clone(),
            verb,
        }),
    }
}

/// Checks that no instance with a history gets another tenant, which would read that history.
pub(super) async fn check_tenant_changes(
    deps: &Deps,
    change: &ConfigDocument,
    known: &ConfigDocument,
) -> Result<(), ConfigureError> {
    for instance in &change.instances {
        let before = known.instances.iter().find(|known| known.id == instance.id);
        if let Some(before) = before.filter(|before| before.tenant != instance.tenant)
            && has_history(deps, before).await?
        {
            let (instance, tenant) = (&before.id, &before.tenant);
            return Err(ConfigError::new(format!(
                "instance `{instance}` has a history, so it stays with tenant `{tenant}`; configure a new instance"
            ))
            .into());
        }
    }
    Ok(())
}

async fn has_history(deps: &Deps, instance: &Instance) -> PortResult<bool> {
    let page = PageRequest::first(1);
    let conversations = ConversationFilter::of_instance(&instance.tenant, &instance.id);
    let found = deps.store().search_conversations(&conversations, &page).await?;
    Ok(!found.items.is_empty() || has_dead_letters(deps, instance).await?)
}
