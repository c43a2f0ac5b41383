//! Follows events that people changed in the calendar itself.

use super::DraftedJournal;
use super::changing::change_journal;
use crate::Deps;
use crate::ports::PortResult;
use recado_domain::effects::{CellSpan, EffectId, EntryError};

/// Follows the event of a booking: people moved it to `span`, or deleted it (`None`). The draft's journal has it then.
pub(crate) async fn follow_event(
    deps: &impl Deps,
    drafted: &mut DraftedJournal,
    event: &EffectId,
    span: Option<CellSpan>,
) -> PortResult<()> {
    let changed = change_journal(deps, &drafted.journal.thread, |journal, now| {
        Ok::<_, EntryError>(match &span {
            Some(span) => journal.follow_booking(event, span.clone(), now),
            None => journal.drop_booking(event),
        })
    });
    if let Ok(written) = changed.await? {
        drafted.note_own_writes(written, 1);
    }
    Ok(())
}
