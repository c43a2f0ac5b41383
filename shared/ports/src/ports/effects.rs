use super::{PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::effects::{CellSpan, HeldCell, Journal, JournalChange};
use recado_domain::ids::{ConversationId, Ordinal, TenantId, ThreadId};
use std::future::Future;

/// The state that a conversation must have for an effect to begin: the one in which it was drafted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectGuard {
    /// Conversation that must be in AI mode.
    pub conversation: ConversationId,
    /// Epoch that the conversation must have.
    pub epoch: u64,
    /// Ordinal up to which it must be answered.
    pub answered: Ordinal,
    /// Newest ordinal that wants an answer.
    pub turn_upto: Ordinal,
}

/// The result of writing a journal with its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum JournalOutcome {
    /// The journal and its cells were written.
    Written,
    /// The conversation is not as drafted any more: nothing was written.
    Stopped,
    /// Another writer changed the journal since it was read: nothing was written.
    Conflict,
    /// A cell is held by another event: nothing was written.
    CellTaken,
}

/// A store of the journals of effects, and of the cells that events hold. Each journal is written whole.
pub trait EffectJournals: Send + Sync {
    /// Returns the journal of a thread by a strong read; `None` if the agent never did anything for it.
    fn find_journal(&self, thread: &ThreadId) -> impl Future<Output = PortResult<Option<Journal>>> + Send;

    /// Begins an effect in one transaction: checks that the conversation is as `guard` says, writes the journal if its `rev`
    /// is the stored one plus one (1 for the first), and takes each cell of `takes`. A cell can be taken that nobody holds,
    /// whose holder expired by `now`, or that the event holds already. [`JournalOutcome::Stopped`] takes precedence over
    /// [`JournalOutcome::Conflict`], and that over [`JournalOutcome::CellTaken`].
    fn store_begun_effect(
        &self,
        guard: &EffectGuard,
        journal: &Journal,
        takes: &[HeldCell],
        now: Timestamp,
    ) -> impl Future<Output = PortResult<JournalOutcome>> + Send;

    /// Writes a journal if its `rev` is the stored one plus one. Takes and frees cells in the same transaction. Cells are taken
    /// as [`Self::store_begun_effect`] does. A cell that another event holds by now is not freed.
    fn save_journal_with_cells(
        &self,
        journal: &Journal,
        change: &JournalChange,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<JournalOutcome>> + Send;

    /// Deletes a journal if its `rev` is the stored one. A journal that does not exist counts as deleted.
    fn delete_journal(&self, journal: &Journal) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Lists journals of a tenant, those begun first first, at most `limit`. The index may be some seconds old.
    fn list_journals(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Journal>>> + Send;

    /// Lists the journals of a tenant in which an effect is unknown, the longest unknown first, at most `limit`. The index may
    /// be some seconds old.
    fn list_unknown_effects(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Journal>>> + Send;

    /// Lists the journals of a tenant with bookings, at most `limit`. The journal whose earliest booking begins the soonest comes
    /// first. The index may be some seconds old.
    fn list_booked_journals(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Journal>>> + Send;

    /// Lists the cells within `span` that events of the tenant hold at `now`, in their order, by a strong read.
    fn list_held_cells(
        &self,
        tenant: &TenantId,
        span: &CellSpan,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<Vec<HeldCell>>> + Send;

    /// Frees cells that their event still holds, each by itself.
    fn free_held_cells(
        &self,
        tenant: &TenantId,
        cells: &[HeldCell],
    ) -> impl Future<Output = PortResult<()>> + Send;
}
