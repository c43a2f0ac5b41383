//! Deletes the journals of effects: of an erased contact, of a removed tenant, and what is kept no longer.

use jiff::Timestamp;
use recado_domain::effects::{Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_ports::Deps;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::effects::{
    JournalOutcome, find_journal, free_held_cells, save_journal_with_cells,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, remove_record};

/// Deletes the journal of a thread with the cells of its events. The events themselves stay in their calendar. An effect whose
/// end is not stored is forgotten: nobody stores it any more. An erasure waits until its time is over.
pub(crate) async fn erase_journal(deps: &Deps, tenant: &TenantId, thread: &ThreadId) -> PortResult<()> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(journal) = find_journal(deps.store(), tenant, thread).await? else {
            return Ok(WriteAttempt::Done(()));
        };
        let deleted = delete_with_cells(deps, &journal).await?;
        Ok(WriteAttempt::after_write(deleted, ()))
    })
    .await
}

/// Deletes a journal. Its cells go first: after a crash in between, the journal still leads to them. `false`: it was changed since.
async fn delete_with_cells(deps: &Deps, journal: &Versioned<Journal>) -> PortResult<bool> {
    let cells = journal.record.held_cells();
    if !cells.is_empty() {
        free_held_cells(deps.store(), &journal.record.tenant, &cells).await?;
    }
    remove_record(deps.store(), journal).await
}

/// Forgets the effects of a thread that ended `before` or earlier. Returns `true` if something stays: what is owed (an effect
/// that is open, a fence, an event that is still to come), or an effect whose end was stored later. Only its conversation leads to a
/// journal, so the conversation must stay as long.
pub(crate) async fn forget_effects(
    deps: &Deps,
    (tenant, thread): (&TenantId, &ThreadId),
    before: Timestamp,
) -> PortResult<bool> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        let Some(mut journal) = find_journal(deps.store(), tenant, thread).await? else {
            return Ok(WriteAttempt::Done(false));
        };
        let forgotten = journal.record.forget_ended(before, deps.system().now());
        let something_stays = !journal.record.is_empty();
        let written = if journal.record.is_empty() {
            remove_record(deps.store(), &journal).await?
        } else if forgotten {
            journal.record.raise_revision();
            let change = JournalChange::default();
            save_journal_with_cells(deps.store(), None, &mut journal, &change).await?
                == JournalOutcome::Written
        } else {
            true
        };
        Ok(WriteAttempt::after_write(written, something_stays))
    })
    .await
}
