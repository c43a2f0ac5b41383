//! The results for recipients of batches, and the storing of refusals.

use super::super::InvitationError;
use crate::Deps;
use recado_domain::invitations::{Invitation, InvitationState, InvitationStatus, RecipientStatus};
use recado_ports::ports::{
    InvitationOutcome, InvitationRecords, OutboundEntry, PortError, PortResult, System, WriteOutcome,
};

/// The result for a recipient, with the send job that follows.
pub(super) struct MadeInvitation {
    pub(super) status: RecipientStatus,
    pub(super) send: Option<OutboundEntry>,
}

impl From<RecipientStatus> for MadeInvitation {
    fn from(status: RecipientStatus) -> Self {
        Self { status, send: None }
    }
}

/// Returns what became of a recipient whose invitation is stored, and whose send job is enqueued.
pub(super) fn made_of(invitation: &Invitation) -> MadeInvitation {
    let status = status_of(invitation);
    status.unwrap_or(InvitationStatus::Queued.into()).into()
}

/// Returns the status of a recipient whose invitation is stored; `None` if it is to be made a message yet.
pub(super) fn status_of(invitation: &Invitation) -> Option<RecipientStatus> {
    match invitation.state {
        InvitationState::Taken { .. } => None,
        InvitationState::Message { .. } | InvitationState::Email { .. } => {
            Some(InvitationStatus::Queued.into())
        }
        InvitationState::Duplicate { .. } => Some(InvitationStatus::Duplicate.into()),
        InvitationState::Refused { .. } => Some(RecipientStatus::Refused),
    }
}

/// Stores that a guest cannot be invited, and why. `is_stored`: a crash left the invitation.
pub(super) async fn store_refusal(
    deps: &impl Deps,
    mut invitation: Invitation,
    is_stored: bool,
    error: &InvitationError,
) -> PortResult<MadeInvitation> {
    invitation.state = InvitationState::Refused {
        error: error.to_string(),
    };
    let written = if is_stored {
        invitation.raise_revision();
        deps.store().save_invitation(&invitation).await? == WriteOutcome::Written
    } else {
        let now = deps.system().now();
        let begun = deps.store().begin_invitation(&invitation, &[], now).await?;
        begun == InvitationOutcome::Begun
    };
    written
        .then(|| RecipientStatus::Refused.into())
        .ok_or_else(|| PortError::contended("invitation"))
}
