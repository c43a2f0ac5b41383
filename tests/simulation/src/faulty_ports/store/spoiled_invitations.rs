//! What a mutation takes out of invitations, their claims and batches, where they are read from the table and written to it.

use super::FaultyPort;
use crate::mutation::Mutation;
use recado_domain::email::{EmailOutbox, EmailState};
use recado_domain::invitations::{Batch, BatchState, Invitation, InvitationState};
use recado_domain::moving::MovedClaim;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{PortResult, Store};
use recado_pipeline::table::{Condition, Kind, NewItem, Record, Version, Write, WriteResult};
use std::sync::atomic::Ordering;

impl<P> FaultyPort<P> {
    /// Returns the batch that a function finds where `body` is stored.
    pub(super) fn spoil_batch(&self, body: String) -> String {
        let is_sender = self.injector.function == "sender";
        let forgets_state = is_sender && self.injector.lacks(Mutation::BatchStateIgnored);
        let keeps_claims = !is_sender && self.injector.lacks(Mutation::CancelledKeepsClaims);
        if !forgets_state && !keeps_claims {
            return body;
        }
        change_body(body, |batch: &mut Batch| {
            if forgets_state {
                batch.state = BatchState::Running;
            } else if batch.state == BatchState::Cancelled {
                batch.state = BatchState::Paused;
            }
        })
    }

    /// Returns the invitation that a function finds where `body` is stored.
    pub(super) fn spoil_invitation(&self, body: String) -> String {
        if self.injector.function != "api" || !self.injector.lacks(Mutation::PossiblySentForgotten) {
            return body;
        }
        change_body(body, |invitation: &mut Invitation| {
            if let InvitationState::Email { outbox } = &mut invitation.state {
                forget_unknown_outcome(outbox);
            }
        })
    }

    /// Returns the writes that are made beside a message where a function makes these.
    pub(super) fn spoil_committed_invitation(&self, writes: Vec<Write>) -> Vec<Write> {
        if is_of_invitation(&writes) && self.injector.lacks(Mutation::InvitationClaimsForgotten) {
            return without_claims(writes);
        }
        writes
    }

    /// Returns the writes of invitations and batches that are made where a function makes these.
    pub(super) fn spoil_invitation_writes(&self, writes: Vec<Write>) -> Vec<Write> {
        let is_unplanned = self.injector.lacks(Mutation::PlanNotStored);
        let is_forgotten = self.injector.lacks(Mutation::BatchesForgotten);
        let is_unclaimed = is_of_invitation(&writes) && self.injector.lacks(Mutation::SingleClaimsForgotten);
        let kept = if is_unclaimed {
            without_claims(writes)
        } else {
            writes
        };
        let spoiled = kept.into_iter().map(|write| match write {
            Write::Put(item, Condition::Absent)
                if is_unplanned && item.key.partition.name == Invitation::KIND =>
            {
                Write::Put(change_item(item, forget_plan), Condition::Absent)
            }
            Write::Put(item, condition @ Condition::Version(_))
                if is_forgotten && item.key.partition.name == Batch::KIND =>
            {
                let item = change_item(item, |batch: &mut Batch| batch.due_at = None);
                Write::Put(item, condition)
            }
            other => other,
        });
        spoiled.collect()
    }
}

impl<S: Store> FaultyPort<S> {
    /// Makes writes, and notes what they say of an e-mail that changes.
    pub(super) async fn write_noting_mail(&self, writes: &[Write]) -> PortResult<WriteResult> {
        let Some(invitation) = find_changed_invitation(writes) else {
            return self.write_spoiled(writes).await;
        };
        let begins_attempt = matches!(
            &invitation.state,
            InvitationState::Email { outbox } if matches!(outbox.state, EmailState::Sending { .. })
        );
        let written = if begins_attempt && self.injector.lacks(Mutation::MailGoesFirst) {
            Ok(vec![Version(1); writes.len()])
        } else {
            self.write_spoiled(writes).await?
        };
        if written.is_ok() {
            self.injector.note_mail_written(&invitation);
        }
        if begins_attempt && self.injector.lacks(Mutation::MailClockNotRead) {
            let now = self.injector.common.simulation.now().as_millisecond();
            self.injector.frozen.store(now, Ordering::Relaxed);
        }
        Ok(written)
    }
}

pub(super) fn is_of_invitation(writes: &[Write]) -> bool {
    writes
        .iter()
        .any(|write| write.key().partition.name == Invitation::KIND)
}

fn without_claims(mut writes: Vec<Write>) -> Vec<Write> {
    writes.retain(|write| write.key().partition.name != MovedClaim::KIND);
    writes
}

/// Returns the invitation that is stored in place of one that was read.
fn find_changed_invitation(writes: &[Write]) -> Option<Invitation> {
    writes.iter().find_map(|write| match write {
        Write::Put(item, Condition::Version(_)) if item.key.partition.name == Invitation::KIND => {
            Some(Invitation::from_body(&item.body).expect("an invitation"))
        }
        _ => None,
    })
}

/// Changes a record. One that cannot be read stays as it is.
fn change_body<T: Record>(body: String, change: impl FnOnce(&mut T)) -> String {
    let Ok(mut record) = T::from_body(&body) else {
        return body;
    };
    change(&mut record);
    record.to_body().expect("it can be written")
}

fn change_item<T: Record>(item: NewItem, change: impl FnOnce(&mut T)) -> NewItem {
    let body = change_body(item.body, change);
    Kind::of::<T>().build_item(&body).expect("it can be written")
}

fn forget_plan(invitation: &mut Invitation) {
    if let InvitationState::Taken { planned } = &mut invitation.state {
        *planned = None;
    }
}

/// The same e-mail, of which each attempt has a known outcome.
fn forget_unknown_outcome(outbox: &mut EmailOutbox) {
    (outbox.maybe_sent, outbox.unknown) = (false, None);
    if let EmailState::Dead { reason, .. } = &mut outbox.state {
        *reason = Reason::EmailRefused;
    }
}
