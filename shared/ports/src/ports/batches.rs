use super::{InvitationClaim, Page, PageRequest, PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Invitation};
use recado_domain::message::Message;
use std::future::Future;

/// The result of beginning a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a batch that was not begun must not be sent"]
pub enum BatchOutcome {
    /// The batch and its claim are stored.
    Begun,
    /// Nothing was stored: another batch has claimed the key.
    Claimed(BatchId),
}

/// An invitation with the message that it becomes.
#[derive(Debug)]
pub struct CommittedInvitation<'a> {
    /// The invitation, which names its message.
    pub invitation: &'a Invitation,
    /// Its claims.
    pub claims: &'a [InvitationClaim],
    /// The conversation of the message.
    pub conversation: &'a Conversation,
    /// The message.
    pub message: &'a Message,
}

/// The result of committing an invitation with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an invitation that was not committed must not be sent"]
pub enum InvitationCommit {
    /// Invitation, claims, conversation and message are stored.
    Committed,
    /// Nothing was stored: another invitation has claimed the key.
    Claimed(InvitationId),
    /// Nothing was stored: another writer changed the conversation, or stored an invitation with this id.
    Conflict,
}

/// A store of batches of invitations and their recipients. What expired counts as absent. A batch is in [`super::OverdueIndex`]
/// under its `due_at`.
pub trait BatchRecords: Send + Sync {
    /// Stores a new batch and, if given, its claim in one transaction, as [`super::InvitationRecords::begin_invitation`] does for
    /// an invitation.
    fn begin_batch(
        &self,
        batch: &Batch,
        claim: Option<&InvitationClaim>,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<BatchOutcome>> + Send;

    /// Returns a batch by a strong read.
    fn find_batch(
        &self,
        tenant: &TenantId,
        id: &BatchId,
    ) -> impl Future<Output = PortResult<Option<Batch>>> + Send;

    /// Writes a batch if its `rev` is the stored one plus one.
    fn save_batch(&self, batch: &Batch) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Lists the batches of a tenant, the newest first.
    fn list_batches(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Batch>>> + Send;

    /// Writes a chunk of recipients if its `rev` is the stored one plus one (1 for the first).
    fn save_batch_chunk(&self, chunk: &BatchChunk) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Returns a chunk of recipients by a strong read.
    fn find_batch_chunk(
        &self,
        tenant: &TenantId,
        batch: &BatchId,
        number: usize,
    ) -> impl Future<Output = PortResult<Option<BatchChunk>>> + Send;

    /// Lists all chunks of a batch by their numbers.
    fn list_batch_chunks(
        &self,
        tenant: &TenantId,
        batch: &BatchId,
    ) -> impl Future<Output = PortResult<Vec<BatchChunk>>> + Send;

    /// Stores a new invitation with its message in one transaction: the invitation and its claims as
    /// [`super::InvitationRecords::begin_invitation`] does, and conversation and message as
    /// [`super::Conversations::commit_message`] does.
    fn commit_invitation(
        &self,
        committed: &CommittedInvitation<'_>,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<InvitationCommit>> + Send;

    /// Returns those of these invitations that exist and can be read, in any order, by strong reads in few requests. One that cannot be
    /// read still keeps another one of its id from being committed.
    fn read_invitations(
        &self,
        tenant: &TenantId,
        ids: &[InvitationId],
    ) -> impl Future<Output = PortResult<Vec<Invitation>>> + Send;
}
