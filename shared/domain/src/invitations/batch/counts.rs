//! The progress of a batch: the numbers of its recipients by status.

use super::super::InvitationStatus;
use super::{BatchChunk, BatchState, RecipientStatus};
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The numbers of a batch's recipients by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchCounts {
    /// Not sent yet.
    pub queued: usize,
    /// Accepted by the provider.
    pub sent: usize,
    /// On the guest's phone.
    pub delivered: usize,
    /// Seen by the guest.
    pub read: usize,
    /// Failed.
    pub failed: usize,
    /// Invited before.
    pub duplicate: usize,
    /// Refused.
    pub refused: usize,
    /// Cancelled.
    pub cancelled: usize,
}

impl BatchCounts {
    /// Counts the recipients of a batch of this state.
    pub fn count(chunks: &[BatchChunk], state: BatchState) -> Self {
        let mut counts = Self::default();
        for recipient in chunks.iter().flat_map(|chunk| &chunk.recipients) {
            *match recipient.status.within(state) {
                RecipientStatus::Waiting => &mut counts.queued,
                RecipientStatus::Refused => &mut counts.refused,
                RecipientStatus::Invited(status) => counts.count_of(status),
            } += 1;
        }
        counts
    }

    /// Returns the number in which recipients of this status count.
    fn count_of(&mut self, status: InvitationStatus) -> &mut usize {
        match status {
            InvitationStatus::Queued | InvitationStatus::Processing => &mut self.queued,
            InvitationStatus::Sent => &mut self.sent,
            InvitationStatus::Delivered => &mut self.delivered,
            InvitationStatus::Read => &mut self.read,
            InvitationStatus::Failed => &mut self.failed,
            InvitationStatus::Duplicate => &mut self.duplicate,
            InvitationStatus::Cancelled => &mut self.cancelled,
        }
    }
}

/// The end of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchEnd {
    /// Time at which the end was noticed.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Its recipients by what had become of them then.
    pub counts: BatchCounts,
}
