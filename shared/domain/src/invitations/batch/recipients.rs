//! Recipients of a batch, and what became of each.

use super::super::InvitationStatus;
use super::{BATCH_CHUNK, Batch, BatchState};
use crate::ids::{BatchId, GuestId, TenantId};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The status of a recipient of a batch, as far as it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecipientStatus {
    /// Its invitation is not made yet.
    Waiting,
    /// Nothing can be sent: there is no such guest, no number, or no value of a variable.
    Refused,
    /// The invitation was made, and has this status.
    #[serde(untagged)]
    Invited(InvitationStatus),
}

impl From<InvitationStatus> for RecipientStatus {
    fn from(status: InvitationStatus) -> Self {
        Self::Invited(status)
    }
}

impl RecipientStatus {
    /// Returns `true` if the status may change after the invitation was made.
    pub fn may_change(self) -> bool {
        matches!(self, Self::Invited(status) if status.may_change())
    }

    /// Returns `true` until the delivery reached an end: it was sent, or never will be.
    pub fn is_open(self) -> bool {
        self.is_waiting() || self == Self::Invited(InvitationStatus::Processing)
    }

    /// Returns `true` if no attempt to send began.
    fn is_waiting(self) -> bool {
        matches!(self, Self::Waiting | Self::Invited(InvitationStatus::Queued))
    }

    /// Returns `true` if nothing reached the guest, and nothing will.
    pub fn has_failed(self) -> bool {
        matches!(self, Self::Refused | Self::Invited(InvitationStatus::Failed))
    }

    /// Returns `true` if it was cancelled.
    pub fn is_cancelled(self) -> bool {
        self == Self::Invited(InvitationStatus::Cancelled)
    }

    /// Returns the status as it counts in a batch of this state. Of a cancelled batch nothing leaves any more, so what waits there
    /// counts as cancelled.
    #[must_use]
    pub fn within(self, state: BatchState) -> Self {
        if state == BatchState::Cancelled && self.is_waiting() {
            return InvitationStatus::Cancelled.into();
        }
        self
    }

    /// Returns the status with this word.
    pub fn parse(word: &str) -> Option<Self> {
        let own = [Self::Waiting, Self::Refused].into_iter();
        let invited = InvitationStatus::parse(word).map(Self::Invited);
        own.chain(invited).find(|status| status.as_str() == word)
    }

    /// Returns the word for the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Refused => "refused",
            Self::Invited(status) => status.as_str(),
        }
    }
}

/// A recipient of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRecipient {
    /// The guest; `None` once its contact was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<GuestId>,
    /// The status.
    pub status: RecipientStatus,
}

impl BatchRecipient {
    /// Returns `true` until its delivery reached an end. Nothing is awaited for a guest who was erased.
    pub fn is_open(&self) -> bool {
        self.guest.is_some() && self.status.is_open()
    }
}

/// A part of a batch's recipients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchChunk {
    /// The tenant of the batch.
    pub tenant: TenantId,
    /// The batch.
    pub batch: BatchId,
    /// Number of the chunk, counted from 0.
    pub number: usize,
    /// The recipients, at most [`BATCH_CHUNK`].
    pub recipients: Vec<BatchRecipient>,
    /// Time at which the statuses were last looked at.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub counted_at: Option<Timestamp>,
    /// Time until which it is kept.
    #[serde(with = "millis")]
    pub keep_until: Timestamp,
}

impl BatchChunk {
    /// Notes what became of recipients, each named by its place, that wait yet. The status of others is newer, and stays.
    pub fn note_made<'a>(&mut self, made: impl IntoIterator<Item = &'a (usize, RecipientStatus)>) {
        for (place, status) in made {
            let recipient = self.recipients.get_mut(*place);
            if let Some(waiting) = recipient.filter(|one| one.status == RecipientStatus::Waiting) {
                waiting.status = *status;
            }
        }
    }

    /// Notes the statuses of recipients, each named by its place, that were looked at until `now`. `None`: the invitation or its message is
    /// gone. If that was never sent, it was erased, or people deleted it.
    pub fn note_look(
        &mut self,
        statuses: impl IntoIterator<Item = (usize, Option<RecipientStatus>)>,
        now: Timestamp,
    ) {
        for (place, status) in statuses {
            if let Some(recipient) = self.recipients.get_mut(place) {
                recipient.status = match status {
                    Some(status) => status,
                    None if recipient.status.is_open() => InvitationStatus::Cancelled.into(),
                    None => recipient.status,
                };
            }
        }
        self.counted_at = Some(now);
    }

    /// Forgets these guests. Returns `false` if none of them is among the recipients.
    pub fn forget_guests(&mut self, is_forgotten: impl Fn(&GuestId) -> bool) -> bool {
        let mut found = false;
        for recipient in &mut self.recipients {
            if recipient.guest.as_ref().is_some_and(&is_forgotten) {
                recipient.guest = None;
                if recipient.status.is_waiting() {
                    recipient.status = InvitationStatus::Cancelled.into();
                }
                found = true;
            }
        }
        found
    }

    /// Returns `true` if the statuses were last looked at between `since` and `now`. A later time is of a clock that was set back.
    pub fn was_looked_at_within(&self, since: Timestamp, now: Timestamp) -> bool {
        self.counted_at.is_some_and(|at| at > since && at <= now)
    }

    /// Returns `true` until all deliveries reached an end.
    pub fn is_open(&self) -> bool {
        self.recipients.iter().any(BatchRecipient::is_open)
    }
}

/// Makes a chunk of a batch, with these recipients.
pub fn make_chunk(batch: &Batch, number: usize, guests: &[GuestId]) -> BatchChunk {
    let waits = |guest: &GuestId| BatchRecipient {
        guest: Some(guest.clone()),
        status: RecipientStatus::Waiting,
    };
    BatchChunk {
        tenant: batch.tenant.clone(),
        batch: batch.id.clone(),
        number,
        recipients: guests.iter().map(waits).collect(),
        counted_at: None,
        keep_until: batch.keep_until,
    }
}

/// Makes the chunks of a batch with these recipients.
pub fn split_recipients(batch: &Batch, guests: &[GuestId]) -> Vec<BatchChunk> {
    let chunks = guests.chunks(BATCH_CHUNK).enumerate();
    chunks
        .map(|(number, some)| make_chunk(batch, number, some))
        .collect()
}
