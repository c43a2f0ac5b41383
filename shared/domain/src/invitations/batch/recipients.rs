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
    /// Its message waits to be sent.
    Queued,
    /// Its message is being sent, or nobody knows yet whether it was.
    Processing,
    /// The provider accepted the message.
    Sent,
    /// The message is on the guest's phone.
    Delivered,
    /// The guest has seen it.
    Read,
    /// The message could not be sent.
    Failed,
    /// The same template went to the guest before.
    Duplicate,
    /// Nothing can be sent: there is no such guest, no number, or no value of a variable.
    Refused,
    /// The message was cancelled.
    Cancelled,
}

impl From<InvitationStatus> for RecipientStatus {
    fn from(status: InvitationStatus) -> Self {
        match status {
            InvitationStatus::Queued => Self::Queued,
            InvitationStatus::Processing => Self::Processing,
            InvitationStatus::Sent => Self::Sent,
            InvitationStatus::Delivered => Self::Delivered,
            InvitationStatus::Read => Self::Read,
            InvitationStatus::Failed => Self::Failed,
            InvitationStatus::Cancelled => Self::Cancelled,
            InvitationStatus::Duplicate => Self::Duplicate,
        }
    }
}

impl RecipientStatus {
    const ALL: [Self; 10] = [
        Self::Waiting,
        Self::Queued,
        Self::Processing,
        Self::Sent,
        Self::Delivered,
        Self::Read,
        Self::Failed,
        Self::Duplicate,
        Self::Refused,
        Self::Cancelled,
    ];

    /// Returns `true` if the status may change after the invitation was made.
    pub fn may_change(self) -> bool {
        !matches!(
            self,
            Self::Waiting | Self::Read | Self::Duplicate | Self::Refused | Self::Cancelled
        )
    }

    /// Returns `true` until the delivery reached an end: it was sent, or never will be.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Waiting | Self::Queued | Self::Processing)
    }

    /// Returns the status as it counts in a batch of this state. Of a cancelled batch nothing leaves any more, so what waits there
    /// counts as cancelled.
    #[must_use]
    pub fn within(self, state: BatchState) -> Self {
        match self {
            Self::Waiting | Self::Queued if state == BatchState::Cancelled => Self::Cancelled,
            other => other,
        }
    }

    /// Returns the status with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns the word for the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Processing => "processing",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Read => "read",
            Self::Failed => "failed",
            Self::Duplicate => "duplicate",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
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
    /// Revision: grows at every write.
    pub rev: u64,
}

impl BatchChunk {
    /// Forgets these guests. Returns `false` if none of them is among the recipients.
    pub fn forget_guests(&mut self, is_forgotten: impl Fn(&GuestId) -> bool) -> bool {
        let mut found = false;
        for recipient in &mut self.recipients {
            if recipient.guest.as_ref().is_some_and(&is_forgotten) {
                recipient.guest = None;
                if matches!(
                    recipient.status,
                    RecipientStatus::Waiting | RecipientStatus::Queued
                ) {
                    recipient.status = RecipientStatus::Cancelled;
                }
                found = true;
            }
        }
        if found {
            self.rev += 1;
        }
        found
    }

    /// Returns `true` if the statuses were last looked at before `before`.
    pub fn was_looked_at_before(&self, before: Timestamp) -> bool {
        self.counted_at.is_none_or(|at| at <= before)
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
        rev: 1,
    }
}

/// Makes the chunks of a batch with these recipients.
pub fn split_recipients(batch: &Batch, guests: &[GuestId]) -> Vec<BatchChunk> {
    let chunks = guests.chunks(BATCH_CHUNK).enumerate();
    chunks
        .map(|(number, some)| make_chunk(batch, number, some))
        .collect()
}
