use super::FaultyPort;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::email::{EmailOutbox, EmailState};
use recado_domain::ids::{GuestId, InvitationId, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, InvitationState, LogMonth};
use recado_domain::reason::Reason;
use recado_pipeline::ports::{
    InvitationClaim, InvitationOutcome, InvitationRecords, Page, PageRequest, PortResult, Store, WriteOutcome,
};
use recado_testkit::delegate_calls;
use std::sync::atomic::Ordering;

impl<S: Store> InvitationRecords for FaultyPort<S> {
    delegate_calls! {
        list_invitations_of_month(
            tenant: &TenantId, month: LogMonth, page: &PageRequest
        ) -> Page<Invitation>;
        find_emailed_invitation(tenant: &TenantId, carrier_id: &str) -> Option<Invitation>;
        list_invitations(
            tenant: &TenantId, occasion: &OccasionId, guest: Option<&GuestId>, page: &PageRequest
        ) -> Page<Invitation>;
    }

    async fn find_invitation(&self, tenant: &TenantId, id: &InvitationId) -> PortResult<Option<Invitation>> {
        let finds = self.inner.find_invitation(tenant, id);
        let mut found = self.around("find_invitation", finds).await?;
        if self.injector.function == "api"
            && self.injector.lacks(Mutation::PossiblySentForgotten)
            && let Some(invitation) = found.as_mut()
            && let InvitationState::Email { outbox } = &mut invitation.state
        {
            forget_unknown_outcome(outbox);
        }
        Ok(found)
    }

    async fn begin_invitation(
        &self,
        invitation: &Invitation,
        claims: &[InvitationClaim],
        now: Timestamp,
    ) -> PortResult<InvitationOutcome> {
        let is_forgotten = self.injector.lacks(Mutation::SingleClaimsForgotten);
        let claims = if is_forgotten { &[] } else { claims };
        let mut invitation = invitation.clone();
        if self.injector.lacks(Mutation::PlanNotStored)
            && let InvitationState::Taken { planned } = &mut invitation.state
        {
            *planned = None;
        }
        let begins = self.inner.begin_invitation(&invitation, claims, now);
        self.around("begin_invitation", begins).await
    }

    async fn save_invitation(&self, invitation: &Invitation) -> PortResult<WriteOutcome> {
        let begins_attempt = matches!(
            &invitation.state,
            InvitationState::Email { outbox } if matches!(outbox.state, EmailState::Sending { .. })
        );
        let effect = async {
            let is_unwritten = begins_attempt && self.injector.lacks(Mutation::MailGoesFirst);
            let written = if is_unwritten {
                WriteOutcome::Written
            } else {
                self.inner.save_invitation(invitation).await?
            };
            if written == WriteOutcome::Written {
                self.injector.note_mail_written(invitation);
            }
            if begins_attempt && self.injector.lacks(Mutation::MailClockNotRead) {
                let now = self.injector.common.simulation.now().as_millisecond();
                self.injector.frozen.store(now, Ordering::Relaxed);
            }
            Ok(written)
        };
        self.around("save_invitation", effect).await
    }
}

/// The same e-mail, of which each attempt has a known outcome.
fn forget_unknown_outcome(outbox: &mut EmailOutbox) {
    (outbox.maybe_sent, outbox.unknown) = (false, None);
    if let EmailState::Dead { reason, .. } = &mut outbox.state {
        *reason = Reason::EmailRefused;
    }
}
