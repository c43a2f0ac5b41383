//! The results for recipients of batches, and the storing of refusals.

use super::super::InvitationError;
use recado_domain::invitations::{Invitation, InvitationState, InvitationStatus, RecipientStatus};
use recado_ports::Deps;
use recado_ports::ports::{OutboundEntry, PortError, PortResult, WriteOutcome};
use recado_ports::records::invitations::{InvitationOutcome, begin_invitation};
use recado_ports::table::{Versioned, write_record};

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

/// Stores that a guest cannot be invited, and why. The invitation is new, or a crash left it.
pub(super) async fn store_refusal(
    deps: &Deps,
    mut invitation: Versioned<Invitation>,
    error: &InvitationError,
) -> PortResult<MadeInvitation> {
    let written = if invitation.is_stored() {
        invitation.record.refuse(error.to_string());
        write_record(deps.store(), &mut invitation).await? == WriteOutcome::Written
    } else {
        invitation.record.state = InvitationState::Refused {
            error: error.to_string(),
        };
        let now = deps.system().now();
        begin_invitation(deps.store(), &mut invitation, &[], now).await? == InvitationOutcome::Begun
    };
    written
        .then(|| RecipientStatus::Refused.into())
        .ok_or_else(|| PortError::contended("invitation"))
}
