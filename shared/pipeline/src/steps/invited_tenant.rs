//! Finds the tenant for which a request about occasions is made.

use crate::Deps;
use recado_domain::access::Caller;
use recado_domain::config::{ConfigNames, EntryRef, Tenant};
use recado_domain::ids::TenantId;
use recado_ports::ports::{PageRequest, PortError, PortResult};
use recado_ports::records::configuration::{find_named_entries, list_entries};

/// The reason why a request has no tenant.
#[derive(Debug, thiserror::Error)]
pub enum TenantChoiceError {
    /// The tenant does not exist within the caller's scope.
    #[error("there is no such tenant")]
    Unknown,
    /// The installation has several tenants, and the request names none.
    #[error("name the tenant: the token opens the whole installation, which has several")]
    Unnamed,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Returns the tenant that a request names, else the token's, else the only one of the installation.
pub async fn choose_tenant(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
) -> Result<Tenant, TenantChoiceError> {
    let Some(id) = named.or(caller.scope.tenant()) else {
        let page = PageRequest::first(2);
        let found = list_entries::<Tenant>(deps.store(), None, &page).await?;
        let mut tenants = found.items.into_iter();
        return match (tenants.next(), tenants.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(TenantChoiceError::Unnamed),
        };
    };
    if !caller.scope.covers(id) {
        return Err(TenantChoiceError::Unknown);
    }
    find_tenant(deps, id).await?.ok_or(TenantChoiceError::Unknown)
}

/// Returns a tenant of the configuration; `None` if it does not exist.
pub async fn find_tenant(deps: &Deps, id: &TenantId) -> PortResult<Option<Tenant>> {
    let names = ConfigNames::of([EntryRef::Tenant(id.clone())]);
    Ok(find_named_entries(deps.store(), &names)
        .await?
        .tenants
        .into_iter()
        .next())
}
