//! Deletes the journals of effects: of an erased contact, of a removed tenant, and what is kept no longer.

use crate::Deps;
use jiff::Timestamp;
use recado_domain::effects::{Journal, JournalChange};
use recado_domain::ids::ThreadId;
use recado_ports::ports::{EffectJournals, JournalOutcome, PortError, PortResult, System, WriteOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

/// Deletes the journal of a thread with the cells of its events. The events themselves stay in their calendar. An effect whose
/// end is not stored is forgotten: nobody stores it any more. An erasure waits until its time is over.
pub(crate) async fn erase_journal(deps: &impl Deps, thread: &ThreadId) -> PortResult<()> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(journal) = deps.store().find_journal(thread).await? else {
            return Ok(WriteAttempt::Done(()));
        };
        let deleted = delete_with_cells(deps, &journal).await?;
        Ok(WriteAttempt::after_write(deleted, ()))
    })
    .await
}

/// Deletes a journal. Its cells go first: after a crash in between, the journal still leads to them.
pub(crate) async fn delete_with_cells(deps: &impl Deps, journal: &Journal) -> PortResult<WriteOutcome> {
    let cells = journal.held_cells();
    if !cells.is_empty() {
        deps.store().free_held_cells(&journal.tenant, &cells).await?;
    }
    deps.store().delete_journal(journal).await
}

/// Forgets the effects of a thread that ended `before` or earlier. Returns `true` if something stays: what is owed (an effect
/// that is open, a fence, an event that is still to come), or an effect whose end was stored later. Only its conversation leads to a
/// journal, so the conversation must stay as long.
pub(crate) async fn forget_effects(
    deps: &impl Deps,
    thread: &ThreadId,
    before: Timestamp,
) -> PortResult<bool> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(mut journal) = deps.store().find_journal(thread).await? else {
            return Ok(WriteAttempt::Done(false));
        };
        let now = deps.system().now();
        let forgotten = journal.forget_ended(before, now);
        let something_stays = !journal.is_empty();
        let written = if journal.is_empty() {
            deps.store().delete_journal(&journal).await? == WriteOutcome::Written
        } else if forgotten {
            journal.raise_revision();
            let change = JournalChange::default();
            deps.store()
                .save_journal_with_cells(&journal, &change, now)
                .await?
                == JournalOutcome::Written
        } else {
            true
        };
        Ok(if written {
            WriteAttempt::Done(something_stays)
        } else {
            WriteAttempt::Lost(())
        })
    })
    .await
}
