//! Makes the requests of which the invitations of a batch are made.

use super::super::{InvitationRequest, NamedGuest};
use recado_domain::ids::GuestId;
use recado_domain::invitations::Batch;
use recado_ports::ports::{PortError, PortResult};

/// Returns the request for one of the batch's guests. Without a guest, returns the one that only names what is common to all.
pub(super) fn request_of(batch: &Batch, guest: Option<&GuestId>) -> PortResult<InvitationRequest> {
    let nobody = || GuestId::parse("nobody").map_err(|error| PortError::invalid("batch", error));
    Ok(InvitationRequest {
        tenant: Some(batch.tenant.clone()),
        occasion: batch.occasion.clone(),
        guest: NamedGuest::Id(guest.cloned().map_or_else(nobody, Ok)?),
        channel: batch.channel,
        template: batch.template.clone(),
        variables: batch.variables.clone(),
        metadata: batch.metadata.clone(),
        send_at: None,
        key: None,
        correlation: batch.correlation.clone(),
    })
}
