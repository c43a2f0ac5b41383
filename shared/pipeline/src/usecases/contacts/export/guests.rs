use crate::steps::guests::find_guests;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::TenantId;
use recado_domain::invitations::{Guest, Invitation};
use recado_ports::Deps;
use recado_ports::ports::{PortResult, join_pages};
use recado_ports::records::invitations::list_invitations;
use serde::Serialize;
use std::collections::BTreeSet;

const PAGE: usize = 200;

/// A guest with the invitations.
#[derive(Debug, Serialize)]
pub struct ExportedGuest {
    /// The guest.
    pub guest: Guest,
    /// The invitations, the oldest first.
    pub invitations: Vec<Invitation>,
}

/// Reads the person's guests with their invitations.
pub(super) async fn export_guests(
    deps: &Deps,
    tenant: &TenantId,
    addresses: &BTreeSet<ContactAddress>,
) -> PortResult<Vec<ExportedGuest>> {
    let mut exported = Vec::new();
    for guest in find_guests(deps, tenant, addresses).await? {
        let Guest {
            tenant, occasion, id, ..
        } = &guest;
        let invitations = join_pages(PAGE, |page| async move {
            list_invitations(deps.store(), tenant, occasion, Some(id), &page).await
        })
        .await?;
        exported.push(ExportedGuest { guest, invitations });
    }
    Ok(exported)
}
