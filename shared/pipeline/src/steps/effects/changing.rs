//! Changes the stored journal of a thread, again where another writer was faster.

use crate::Deps;
use crate::ports::{EffectJournals, JournalOutcome, PortError, PortResult, System, WRITE_TRIES};
use jiff::Timestamp;
use recado_domain::effects::{EntryError, Journal, JournalChange};
use recado_domain::ids::ThreadId;

/// Changes the stored journal by `change`, which may refuse. Returns the journal as it was written.
pub(crate) async fn change_journal(
    deps: &impl Deps,
    thread: &ThreadId,
    change: impl Fn(&mut Journal, Timestamp) -> Result<JournalChange, EntryError>,
) -> PortResult<Result<Journal, EntryError>> {
    for _ in 0..WRITE_TRIES {
        let Some(mut journal) = deps.store().find_journal(thread).await? else {
            return Ok(Err(EntryError::NotFound));
        };
        let now = deps.system().now();
        let cells = match change(&mut journal, now) {
            Ok(cells) => cells,
            Err(refused) => return Ok(Err(refused)),
        };
        journal.rev += 1;
        match deps
            .store()
            .save_journal_with_cells(&journal, &cells, now)
            .await?
        {
            JournalOutcome::Written => return Ok(Ok(journal)),
            JournalOutcome::Stopped | JournalOutcome::Conflict | JournalOutcome::CellTaken => {}
        }
    }
    Err(PortError::contended("journal"))
}
