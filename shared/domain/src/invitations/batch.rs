//! Batches: invitations of many guests by one request, which a background job expands piece by piece.

mod schedule;

use super::{InvitationChannel, InvitationStatus, TemplateValues, write_invitation_id};
use crate::ids::{
    BatchId, ConversationId, CorrelationId, GuestId, InvitationId, InvitationTemplateName, OccasionId,
    Ordinal, TenantId, ThreadId, TokenName, hash_parts,
};
use crate::metadata::Metadata;
use crate::millis::{self, add_duration};
use crate::wake_up::TurnJob;
use jiff::{SignedDuration, Timestamp};
pub use schedule::BatchReminder;
use serde::{Deserialize, Serialize};

/// Largest number of recipients of a batch.
pub const BATCH_RECIPIENTS_MAX: usize = 50_000;

/// Number of recipients that a chunk holds.
pub const BATCH_CHUNK: usize = 100;

/// Time for which a sender may rely on what it read of a batch. Whoever stops a batch waits as long before answering.
pub const BATCH_PERMIT: SignedDuration = SignedDuration::from_secs(2);

/// Time after which `reconcile` restarts an expansion from which nothing was heard.
const EXPANSION_OVERDUE: SignedDuration = SignedDuration::from_mins(2);

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchState {
    /// Its recipients are being stored. A crash leaves it so, and the repeated request goes on.
    Preparing,
    /// It waits for its time.
    Scheduled,
    /// Its invitations are made and sent.
    Running,
    /// Nothing of it is sent until it is resumed.
    Paused,
    /// Nothing of it is sent any more.
    Cancelled,
}

impl BatchState {
    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Scheduled => "scheduled",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An order about a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOrder {
    /// Send nothing of it for now.
    Pause,
    /// Go on.
    Resume,
    /// Send nothing of it any more.
    Cancel,
}

/// The error for an order that a batch cannot follow in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the batch is {}", .0.as_str())]
pub struct BatchOrderRefused(pub BatchState);

/// A batch of invitations: one template to many guests of an occasion. Its recipients are in [`BatchChunk`]s.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The tenant that invites.
    pub tenant: TenantId,
    /// The id; it tells when the batch was made.
    pub id: BatchId,
    /// The occasion.
    pub occasion: OccasionId,
    /// The channel.
    pub channel: InvitationChannel,
    /// The template.
    pub template: InvitationTemplateName,
    /// Values of variables that the request gave.
    #[serde(default, skip_serializing_if = "TemplateValues::is_empty")]
    pub variables: TemplateValues,
    /// Metadata of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Name of the token that ordered the batch.
    pub by: TokenName,
    /// Correlation id of the request.
    pub correlation: CorrelationId,
    /// Hash of the request, by which a repetition with the same idempotency key is recognized.
    pub request_hash: String,
    /// The state.
    pub state: BatchState,
    /// Number of recipients.
    pub recipients: usize,
    /// Number of recipients, from the first on, whose invitations were made.
    pub expanded: usize,
    /// Time before which nothing of it leaves.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub send_at: Option<Timestamp>,
    /// The reminder of an occasion that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminder: Option<BatchReminder>,
    /// Time at which `reconcile` looks at the batch; `None` if nothing is to be done.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Time at which the batch was taken.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time until which it is kept.
    #[serde(with = "millis")]
    pub keep_until: Timestamp,
    /// Revision: grows at every write.
    pub rev: u64,
}

impl Batch {
    /// Returns `true` if invitations are still to be made.
    pub fn is_expanding(&self) -> bool {
        self.state == BatchState::Running && self.expanded < self.recipients
    }

    /// Returns the number of the batch's chunks.
    pub fn count_chunks(&self) -> usize {
        self.recipients.div_ceil(BATCH_CHUNK)
    }

    /// Returns the id of a guest's invitation. It is known before the invitation is made.
    pub fn derive_invitation_id(&self, guest: &GuestId) -> InvitationId {
        let hash = hash_parts(&["batch", self.id.as_str(), guest.as_str()], 8);
        let bits = u64::from_str_radix(&hash, 16).unwrap_or_default();
        write_invitation_id(self.send_at.unwrap_or(self.created_at), bits)
    }

    /// Notes that the first `expanded` recipients have their invitations, and when the batch is overdue next.
    pub fn record_step(&mut self, expanded: usize, now: Timestamp) {
        self.expanded = self.expanded.max(expanded);
        self.put_off(add_duration(now, EXPANSION_OVERDUE));
    }

    /// Has `reconcile` look at the batch at `at`, if invitations are still to be made.
    pub fn put_off(&mut self, at: Timestamp) {
        let is_open = self.state == BatchState::Scheduled || self.is_expanding();
        self.due_at = is_open.then_some(at);
        self.rev += 1;
    }

    /// Follows an order. Returns `true` if the state is another then.
    pub fn follow(&mut self, order: BatchOrder, now: Timestamp) -> Result<bool, BatchOrderRefused> {
        let wanted = match (order, self.state) {
            (BatchOrder::Cancel, _) => BatchState::Cancelled,
            (BatchOrder::Pause, BatchState::Scheduled | BatchState::Running | BatchState::Paused) => {
                BatchState::Paused
            }
            (BatchOrder::Resume, BatchState::Paused) => self.choose_open_state(now),
            (BatchOrder::Resume, BatchState::Scheduled | BatchState::Running) => self.state,
            (_, state) => return Err(BatchOrderRefused(state)),
        };
        let is_new = wanted != self.state;
        if is_new {
            self.state = wanted;
            self.record_step(self.expanded, now);
            self.await_time(now);
        }
        Ok(is_new)
    }

    /// Returns the job that expands the batch from its recipient number `from` on. The job names a conversation that nobody has.
    pub fn make_job(&self, from: usize) -> TurnJob {
        TurnJob {
            conversation: ConversationId::new(self.derive_thread(), 1),
            tenant: self.tenant.clone(),
            ordinal: Ordinal(from as u64),
            correlation: self.correlation.clone(),
            due: None,
            file: None,
            batch: Some(self.id.clone()),
        }
    }

    #[expect(clippy::expect_used, reason = "32 hexadecimal digits are a valid thread")]
    fn derive_thread(&self) -> ThreadId {
        let hash = hash_parts(&["batch", self.tenant.as_str(), self.id.as_str()], 16);
        ThreadId::parse(&hash).expect("32 hexadecimal digits")
    }
}

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
    /// Returns `true` if the status may change after the invitation was made.
    pub fn may_change(self) -> bool {
        !matches!(
            self,
            Self::Waiting | Self::Read | Self::Duplicate | Self::Refused | Self::Cancelled
        )
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
                if recipient.status == RecipientStatus::Waiting {
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

    /// Returns `true` if statuses may have changed that were last looked at before `before`.
    pub fn is_stale(&self, before: Timestamp) -> bool {
        let may_change = |one: &BatchRecipient| one.status.may_change() && one.guest.is_some();
        self.counted_at.is_none_or(|at| at <= before) && self.recipients.iter().any(may_change)
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

/// The numbers of a batch's recipients by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Counts recipients. Of a cancelled batch nothing leaves any more, so what waits there counts as cancelled.
    pub fn count(chunks: &[BatchChunk], state: BatchState) -> Self {
        let mut counts = Self::default();
        let is_cancelled = state == BatchState::Cancelled;
        for recipient in chunks.iter().flat_map(|chunk| &chunk.recipients) {
            *match recipient.status {
                RecipientStatus::Waiting | RecipientStatus::Queued if is_cancelled => &mut counts.cancelled,
                RecipientStatus::Waiting | RecipientStatus::Queued | RecipientStatus::Processing => {
                    &mut counts.queued
                }
                RecipientStatus::Sent => &mut counts.sent,
                RecipientStatus::Delivered => &mut counts.delivered,
                RecipientStatus::Read => &mut counts.read,
                RecipientStatus::Failed => &mut counts.failed,
                RecipientStatus::Duplicate => &mut counts.duplicate,
                RecipientStatus::Refused => &mut counts.refused,
                RecipientStatus::Cancelled => &mut counts.cancelled,
            } += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests;
