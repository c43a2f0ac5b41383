use super::super::lookup::{ContactQuery, FoundContact};
use crate::Deps;
use crate::ports::{InvitationRecords, PageRequest, PortResult};
use crate::steps::guests::find_guests;
use recado_domain::invitations::{Guest, Invitation};
use serde::Serialize;

/// A guest with the invitations.
#[derive(Debug, Serialize)]
pub struct ExportedGuest {
    /// The guest.
    pub guest: Guest,
    /// The newest invitations, at most 200.
    pub invitations: Vec<Invitation>,
}

/// Reads the person's guests with their invitations.
pub(super) async fn export_guests(
    deps: &impl Deps,
    query: &ContactQuery,
    found: &[FoundContact],
) -> PortResult<Vec<ExportedGuest>> {
    let addresses = found
        .iter()
        .flat_map(|contact| contact.addresses.clone())
        .collect();
    let mut exported = Vec::new();
    let page = PageRequest {
        limit: 200,
        cursor: None,
    };
    for guest in find_guests(deps, &query.tenant, &addresses).await? {
        let sent = deps
            .store()
            .list_invitations(&guest.tenant, &guest.occasion, Some(&guest.id), &page)
            .await?;
        exported.push(ExportedGuest {
            guest,
            invitations: sent.items,
        });
    }
    Ok(exported)
}
