//! Changes the stored journal of a thread, again where another writer was faster.

use jiff::Timestamp;
use recado_domain::effects::{CELL, Cell, CellSpan, EffectId, EntryError, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::records::effects::{
    JournalOutcome, find_journal, list_held_cells, save_journal_with_cells,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Versioned;

/// The reason why a journal was not changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The change was refused.
    #[error(transparent)]
    Refused(#[from] EntryError),
    /// A store failed, or others kept writing the journal.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Returns the journal as it was written. `None`: the change was refused.
pub fn allow_refusal(
    changed: Result<Versioned<Journal>, JournalError>,
) -> PortResult<Option<Versioned<Journal>>> {
    match changed {
        Ok(journal) => Ok(Some(journal)),
        Err(JournalError::Refused(_)) => Ok(None),
        Err(JournalError::Port(error)) => Err(error),
    }
}

/// The result of one try to change a journal.
enum ChangeTry {
    /// The journal as it was written.
    Written(Box<Versioned<Journal>>),
    /// Another writer was faster.
    Lost,
    /// Another event holds a cell. The journal that could not be written.
    CellTaken(Box<Journal>),
}

/// Changes the stored journal of a tenant's thread by `change`, which may refuse. Returns the journal as it was written.
pub async fn change_journal(
    deps: &Deps,
    of: (&TenantId, &ThreadId),
    change: impl Fn(&mut Journal, Timestamp) -> Result<JournalChange, EntryError>,
) -> Result<Versioned<Journal>, JournalError> {
    retry_lost_write(PortError::contended("journal"), (), |()| async {
        Ok(match try_to_change(deps, of, &change).await? {
            ChangeTry::Written(journal) => WriteAttempt::Done(*journal),
            ChangeTry::Lost | ChangeTry::CellTaken(_) => WriteAttempt::Lost(()),
        })
    })
    .await
}

/// Has the journal follow a booked event that people moved to `span` or deleted (`None`). The calendar decides where the event is:
/// cells that other events hold by then are left to these, and the booking has a clash. Returns the journal as it was written.
pub async fn follow_booked_event(
    deps: &Deps,
    of: (&TenantId, &ThreadId),
    event: &EffectId,
    span: Option<&CellSpan>,
) -> Result<Versioned<Journal>, JournalError> {
    let contended = PortError::contended("journal");
    retry_lost_write(contended, Vec::new(), |of_others: Vec<Cell>| async move {
        let follows = |journal: &mut Journal, now| {
            Ok(match span {
                Some(span) => journal.follow_booking(event, span.clone(), &of_others, now),
                None => journal.drop_booking(event),
            })
        };
        Ok(match try_to_change(deps, of, &follows).await? {
            ChangeTry::Written(journal) => WriteAttempt::Done(*journal),
            ChangeTry::Lost => WriteAttempt::Lost(of_others),
            ChangeTry::CellTaken(journal) => {
                WriteAttempt::Lost(list_cells_of_others(deps, &journal, event).await?)
            }
        })
    })
    .await
}

async fn try_to_change(
    deps: &Deps,
    (tenant, thread): (&TenantId, &ThreadId),
    change: &impl Fn(&mut Journal, Timestamp) -> Result<JournalChange, EntryError>,
) -> Result<ChangeTry, JournalError> {
    let found = find_journal(deps.store(), tenant, thread).await?;
    let mut journal = found.ok_or(EntryError::NotFound)?;
    let cells = change(&mut journal.record, deps.system().now())?;
    journal.record.raise_revision();
    let saves = save_journal_with_cells(deps.store(), None, &mut journal, &cells);
    Ok(match saves.await? {
        JournalOutcome::Written => ChangeTry::Written(Box::new(journal)),
        JournalOutcome::CellTaken => ChangeTry::CellTaken(Box::new(journal.record)),
        JournalOutcome::Stopped | JournalOutcome::Conflict => ChangeTry::Lost,
    })
}

/// Lists the cells of a booking's time that other events hold now.
async fn list_cells_of_others(deps: &Deps, journal: &Journal, event: &EffectId) -> PortResult<Vec<Cell>> {
    let cells = journal
        .find_booking(event)
        .map(|booking| booking.span.list_cells());
    let cells = cells.unwrap_or_default();
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else {
        return Ok(Vec::new());
    };
    let span = CellSpan {
        calendar: first.calendar.clone(),
        start: first.start,
        end: add_duration(last.start, CELL),
    };
    let now = deps.system().now();
    let mut held = list_held_cells(deps.store(), &journal.tenant, &span).await?;
    held.retain(|held| held.keeps_event_out(event, now));
    Ok(held.into_iter().map(|held| held.cell).collect())
}
