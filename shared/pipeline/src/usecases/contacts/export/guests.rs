use crate::steps::guests::find_guests;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::TenantId;
use recado_domain::invitations::{Guest, Invitation};
use recado_ports::Deps;
use recado_ports::ports::{PageRequest, PortResult};
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
        let (mut invitations, mut page) = (Vec::new(), PageRequest::first(PAGE));
        loop {
            let (tenant, occasion) = (&guest.tenant, &guest.occasion);
            let sent = list_invitations(deps.store(), tenant, occasion, Some(&guest.id), &page).await?;
            invitations.extend(sent.items);
            page.cursor = sent.next_cursor;
            if page.cursor.is_none() {
                break;
            }
        }
        exported.push(ExportedGuest { guest, invitations });
    }
    Ok(exported)
}
