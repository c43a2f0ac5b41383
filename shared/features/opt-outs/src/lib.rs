//! Notes who wants no unsolicited messages, by a message or an unsubscribe link, and lists them.
//!
//! Its types and rules are in [`recado_domain::opt_out`].

pub mod opt_out;
pub mod opt_out_routes;
pub mod unsubscribe;

use recado_domain::access::Caller;
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutSource, UnsubscribeToken};
use recado_pipeline::Deps;
use recado_pipeline::steps::identity::load_identity_key;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult};
use recado_ports::records::opt_outs;

/// The reason why an unsubscribe link did nothing.
#[derive(Debug, thiserror::Error)]
pub enum UnsubscribeError {
    /// This installation did not make the link.
    #[error("the link is not one of this installation")]
    UnknownLink,
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Returns `true` if this installation made the token of a link. It reads nothing of the person.
pub async fn is_unsubscribe_token(deps: &Deps, token: &str) -> PortResult<bool> {
    let key = load_identity_key(deps).await?;
    Ok(UnsubscribeToken::open_token(&key, token).is_some())
}

/// Ends messages for the person of a link. The same link may be followed again. A link outlives its tenant: nothing is stored for a
/// tenant that was removed or is being removed, and nothing is sent for it either.
pub async fn unsubscribe_by_link(deps: &Deps, token: &str) -> Result<(), UnsubscribeError> {
    let key = load_identity_key(deps).await?;
    let opened = UnsubscribeToken::open_token(&key, token).ok_or(UnsubscribeError::UnknownLink)?;
    let stored = find_tenant(deps, &opened.tenant).await?;
    if stored.is_none_or(|tenant| tenant.removing_since.is_some()) {
        return Ok(());
    }
    let preference = OptOut {
        tenant: opened.tenant,
        recipient: opened.recipient,
        address: None,
        is_stopped: true,
        at: deps.system().now(),
        source: OptOutSource::Link,
    };
    let is_changed = opt_outs::apply_opt_out(deps.store(), &preference).await?;
    tracing::info!(tenant = %preference.tenant, is_changed, "a person unsubscribed by a link");
    Ok(())
}

/// Lists the preferences of a tenant's recipients. `None`: the tenant is outside the caller's scope.
pub async fn list_opt_outs(
    deps: &Deps,
    caller: &Caller,
    tenant: &TenantId,
    page: &PageRequest,
) -> PortResult<Option<Page<OptOut>>> {
    if !caller.scope.covers(tenant) {
        return Ok(None);
    }
    opt_outs::list_opt_outs(deps.store(), tenant, page)
        .await
        .map(Some)
}
