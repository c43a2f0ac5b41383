//! Batches: invitations of many guests by one request, which a background job expands piece by piece.

mod counts;
mod recipients;
mod schedule;

use super::{InvitationChannel, TemplateValues, write_invitation_id};
use crate::ids::{
    BatchId, CorrelationId, GuestId, InvitationId, InvitationTemplateName, OccasionId, TenantId, TokenName,
    hash_parts,
};
use crate::metadata::Metadata;
use crate::millis::{self, add_duration};
use crate::wake_up::{BatchJob, TurnsJob};
pub use counts::{BatchCounts, BatchEnd};
use jiff::{SignedDuration, Timestamp};
pub use recipients::{BatchChunk, BatchRecipient, RecipientStatus, make_chunk, split_recipients};
pub use schedule::BatchReminder;
use serde::{Deserialize, Serialize};

/// Largest number of recipients of a batch.
pub const BATCH_RECIPIENTS_MAX: usize = 50_000;

/// Number of recipients that a chunk holds.
pub const BATCH_CHUNK: usize = 100;

/// Time for which a sender may rely on what it read of whether a message may leave. Whoever stops a batch waits as long before
/// answering.
pub const BATCH_PERMIT: SignedDuration = SignedDuration::from_secs(2);

/// Time after which `reconcile` restarts an expansion from which nothing was heard.
const EXPANSION_OVERDUE: SignedDuration = SignedDuration::from_mins(2);

/// The state of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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
    /// The delivery of its last recipient reached an end.
    Finished,
}

impl BatchState {
    /// Returns the word for the state.
    pub fn as_str(self) -> &'static str {
        self.into()
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
    /// Time of the backup from which it was restored, if it was under way: invitations that it makes may have been sent since.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Timestamp>,
    /// Its end, once it is finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<BatchEnd>,
    /// Time at which `reconcile` looks at the batch; `None` if nothing is to be done.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Time at which the batch was taken.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time until which it is kept.
    #[serde(with = "millis")]
    pub keep_until: Timestamp,
}

impl Batch {
    /// Returns `true` if invitations are still to be made.
    pub fn is_expanding(&self) -> bool {
        self.state == BatchState::Running && self.expanded < self.recipients
    }

    /// Returns `true` if all invitations were made, and some may not have reached their end.
    pub fn is_ending(&self) -> bool {
        self.state == BatchState::Running && self.expanded >= self.recipients
    }

    /// Returns `true` if invitations of this chunk may exist whose recipients still count as waiting: the batch is paused or cancelled, and
    /// its last piece, which is of this chunk, may have been cut off. Nobody goes on with it until the batch is resumed.
    pub fn is_cut_off_in(&self, chunk: usize) -> bool {
        let is_stopped = matches!(self.state, BatchState::Paused | BatchState::Cancelled);
        is_stopped && chunk == self.expanded / BATCH_CHUNK
    }

    /// Ends a batch of whose recipients none waits any more, with the numbers of what became of them. Returns `false` if it does
    /// not run, or invitations are still to be made.
    pub fn finish(&mut self, counts: BatchCounts, now: Timestamp) -> bool {
        let ends = self.is_ending();
        if ends {
            self.state = BatchState::Finished;
            self.end = Some(BatchEnd { at: now, counts });
            self.due_at = None;
        }
        ends
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

    /// Has `reconcile` look at the batch at `at`, if it waits for its time or has not reached its end.
    pub fn put_off(&mut self, at: Timestamp) {
        let is_open = matches!(self.state, BatchState::Scheduled | BatchState::Running);
        self.due_at = is_open.then_some(at);
    }

    /// Follows an order. Returns `true` if the state is another then.
    pub fn follow(&mut self, order: BatchOrder, now: Timestamp) -> Result<bool, BatchOrderRefused> {
        let wanted = match (order, self.state) {
            (_, BatchState::Finished) => return Err(BatchOrderRefused(self.state)),
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

    /// Returns the job that expands the batch from its recipient number `from` on.
    pub fn make_job(&self, from: usize) -> TurnsJob {
        TurnsJob::Batch(BatchJob {
            tenant: self.tenant.clone(),
            batch: self.id.clone(),
            from,
            correlation: self.correlation.clone(),
        })
    }

    /// Marks a batch of a backup, if it may have sent something between `taken_at` and `now`. Returns `false` if it has ended, or its
    /// time is ahead.
    pub fn doubt_restored(&mut self, taken_at: Timestamp, now: Timestamp) -> bool {
        let may_have_sent =
            self.state != BatchState::Finished && self.send_at.is_none_or(|send_at| send_at <= now);
        if may_have_sent {
            self.restored_from = Some(taken_at);
        }
        may_have_sent
    }
}

#[cfg(test)]
mod tests;
