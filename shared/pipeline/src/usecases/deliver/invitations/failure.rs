//! Tells why invitations failed, and whether any attempt at them may have arrived.

use super::lookup::InvitationView;
use recado_domain::invitations::{InvitationState, InvitationStatus};

/// The words for an invitation that was cancelled although the guest may have it. No other may go in its place.
const MAY_HAVE_ARRIVED: &str =
    "it was cancelled after an attempt of unknown outcome: the guest may have it, and is sent no other";

/// The words behind the reason of one that failed although the guest may have it.
const FAILED_IN_DOUBT: &str = "the guest may have it, and is sent no other unless a person redrives it";

impl InvitationView {
    /// Returns why the invitation failed, or that the guest may have a cancelled one. The text holds no personal data. `None`: it did
    /// not fail, or nobody knows why.
    pub fn explain_failure(&self) -> Option<String> {
        match self.status {
            InvitationStatus::Cancelled => self.may_have_arrived.then(|| MAY_HAVE_ARRIVED.to_owned()),
            InvitationStatus::Failed => {
                let reason = self.find_reason()?;
                let in_doubt = self
                    .may_have_arrived
                    .then(|| format!("{reason}; {FAILED_IN_DOUBT}"));
                Some(in_doubt.unwrap_or(reason))
            }
            _ => None,
        }
    }

    /// Returns the reason for which it failed, if it is known.
    fn find_reason(&self) -> Option<String> {
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
}
