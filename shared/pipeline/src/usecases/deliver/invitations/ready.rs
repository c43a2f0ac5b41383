//! Invitations with all that is needed to send them.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::ids::{BatchId, CorrelationId, hash_parts};
use recado_domain::invitations::{Batch, Guest, Invitation, InvitationState, ScheduledInvitation};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_ports::ports::{InvitationClaim, PortError, PortResult};
use serde_json::json;
use std::sync::Arc;

/// The way by which an invitation goes.
pub(super) enum InvitationWay {
    /// The invitation becomes a message of a client.
    Message { phone: String, content: Box<Content> },
    /// The invitation holds its e-mail itself.
    Email,
}

/// An invitation with all that is needed to send it.
pub(super) struct ReadyInvitation {
    pub(super) bound: Arc<InstanceConfig>,
    pub(super) guest: Guest,
    pub(super) zone: TimeZone,
    pub(super) way: InvitationWay,
    pub(super) invitation: Invitation,
    pub(super) correlation: CorrelationId,
    pub(super) send_at: Option<Timestamp>,
    pub(super) batch: Option<BatchId>,
    /// The time after which it is not sent, of a reminder.
    pub(super) useful_until: Option<Timestamp>,
}

impl ReadyInvitation {
    /// Notes the batch that the invitation belongs to, which may be paused or cancelled.
    pub(super) fn join_batch(&mut self, batch: &Batch) {
        if let InvitationState::Email { outbox } = &mut self.invitation.state {
            outbox.batch = Some(batch.id.clone());
        }
        self.batch = Some(batch.id.clone());
        self.useful_until = batch.reminder.as_ref().map(|reminder| reminder.begins_at);
    }

    /// Returns the claim of guest and template: for `window` from the time on at which the invitation leaves.
    pub(super) fn make_claim(&self, window: SignedDuration, now: Timestamp) -> InvitationClaim {
        let leaves_at = self.send_at.map_or(now, |at| at.max(now));
        InvitationClaim {
            key: self.dedupe_key(),
            until: add_duration(leaves_at, window),
            replaces: None,
        }
    }

    /// Returns the invitation as its message notes it.
    pub(super) fn describe_sent(&self) -> ScheduledInvitation {
        ScheduledInvitation {
            id: self.invitation.id.clone(),
            occasion: self.invitation.occasion.clone(),
            guest: self.invitation.guest.clone(),
            batch: self.batch.clone(),
            useful_until: self.useful_until,
        }
    }

    /// Returns the metadata by which its message names the invitation.
    pub(super) fn name_in_metadata(&self) -> PortResult<Option<Metadata>> {
        let Invitation {
            id, occasion, guest, ..
        } = &self.invitation;
        let names = json!({"invitation": id, "occasion": occasion, "guest": guest});
        let metadata = names.as_object().map(Metadata::from_object).transpose();
        metadata.map_err(|error| PortError::invalid("invitation", error))
    }

    /// Returns the key that other invitations of the same template to the same guest claim, too. Each reminder has one of its own.
    fn dedupe_key(&self) -> String {
        let Invitation {
            occasion,
            guest,
            template,
            ..
        } = &self.invitation;
        match self.batch.as_ref().filter(|_| self.useful_until.is_some()) {
            Some(reminder) => hash_parts(&["reminder", reminder.as_str(), guest.as_str()], 16),
            None => hash_parts(
                &["dedupe", occasion.as_str(), guest.as_str(), template.as_str()],
                16,
            ),
        }
    }
}
