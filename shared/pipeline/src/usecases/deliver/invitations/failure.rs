//! Tells why invitations failed, and whether any attempt at them may have arrived.

use super::lookup::InvitationView;
use recado_domain::invitations::{InvitationState, InvitationStatus};

/// The words for an invitation that was cancelled although the guest may have it. No other may go in its place.
const MAY_HAVE_ARRIVED: &str =
    "it was cancelled after an attempt of unknown outcome: the guest may have it, and is sent no other";

impl InvitationView {
    /// Returns why the invitation failed, or that the guest may have a cancelled one. The text holds no personal data. `None`: it did
    /// not fail, or nobody knows why.
    pub fn explain_failure(&self) -> Option<String> {
        if self.status == InvitationStatus::Cancelled && !self.is_certainly_unsent() {
            return Some(MAY_HAVE_ARRIVED.to_owned());
        }
        if self.status != InvitationStatus::Failed {
            return None;
        }
        if let InvitationState::Refused { error } = &self.invitation.state {
            return Some(error.clone());
        }
        if let Some(reason) = self.reason {
            return Some(reason.to_string());
        }
        if let InvitationState::Email { outbox } = &self.invitation.state {
            return outbox.last_reason().map(str::to_owned);
        }
        let out = self.message.as_ref()?.message.out.as_ref()?;
        out.history.last()?.why.clone()
    }

    /// Returns `true` if no attempt at it had an unknown outcome.
    pub(super) fn is_certainly_unsent(&self) -> bool {
        if let InvitationState::Email { outbox } = &self.invitation.state {
            return outbox.unknown.is_none();
        }
        let out = self.message.as_ref().and_then(|view| view.message.out.as_ref());
        out.is_none_or(|out| !out.maybe_sent)
    }
}
