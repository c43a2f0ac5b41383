//! The attempts at e-mails: noted as they go on, for the checks.

use super::FaultInjector;
use crate::observations::MailAttempt;
use recado_domain::email::EmailState;
use recado_domain::invitations::{Invitation, InvitationState};

impl FaultInjector {
    /// An invitation is written: the attempt that ran at its e-mail has ended, and another one may begin.
    pub fn note_mail_written(&self, invitation: &Invitation) {
        let InvitationState::Email { outbox } = &invitation.state else {
            return;
        };
        let (id, at_ms) = (invitation.id.to_string(), self.common.simulation.elapsed_ms());
        let state = outbox.state.as_str();
        self.common.note(|| format!("{id} is {state}"));
        let mut observations = self.common.observations();
        let of_it = observations.mails.iter_mut().filter(|mail| mail.invitation == id);
        of_it.for_each(|mail| mail.is_settled = true);
        if matches!(outbox.state, EmailState::Sending { .. }) {
            observations.mails.push(MailAttempt {
                invitation: id,
                function: self.number,
                marked: outbox.maybe_sent,
                claimed_ms: at_ms,
                requested_ms: None,
                text: String::new(),
                is_settled: false,
            });
        }
    }

    /// The carrier is asked for an invitation's e-mail. Returns the place of the attempt. It must have been stored, and nobody may have
    /// written since how it ended.
    pub fn note_mail_request(&self, invitation: &str, text: &str) -> Option<usize> {
        let at_ms = self.common.simulation.elapsed_ms();
        self.common
            .note(|| format!("{} gives {invitation} to its carrier", self.function));
        let (place, is_settled) = {
            let mut observations = self.common.observations();
            let mut mails = observations.mails.iter();
            let place = mails.rposition(|mail| mail.function == self.number && mail.invitation == invitation);
            let mut attempt = place.and_then(|place| observations.mails.get_mut(place));
            if let Some(attempt) = attempt.as_mut() {
                attempt.requested_ms = Some(at_ms);
                text.clone_into(&mut attempt.text);
            }
            (place, attempt.is_none_or(|attempt| attempt.is_settled))
        };
        if is_settled {
            self.common.broken(format!(
                "the e-mail of {invitation} is given to its carrier by an attempt that was not stored, or has ended"
            ));
        }
        place
    }
}
