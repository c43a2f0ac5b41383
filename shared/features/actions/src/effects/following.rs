//! Follows events that people changed in the calendar itself.

use crate::effects::DraftedJournal;
use crate::effects::changing::{allow_refusal, change_journal, follow_booked_event};
use jiff::Timestamp;
use recado_domain::effects::{CellSpan, EffectId, Journal, JournalChange};
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;

/// Follows the event of a booking: people moved it to `span`, or deleted it (`None`). The draft's journal has it then.
pub async fn follow_event(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    event: &EffectId,
    span: Option<CellSpan>,
) -> PortResult<()> {
    let of = drafted.journal.record.tenant_and_thread();
    let follows = follow_booked_event(deps, of, event, span.as_ref());
    if let Some(written) = allow_refusal(follows.await)? {
        drafted.note_own_writes(written, 1);
    }
    Ok(())
}

/// Plans the reminders of a booking whose appointment begins at `start`. The draft's journal has them then.
pub async fn plan_reminders(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    event: &EffectId,
    (start, times): (Timestamp, &[Timestamp]),
) -> PortResult<()> {
    write_plainly(deps, drafted, |journal, now| {
        journal.plan_reminders(event, start, times, now);
    })
    .await
}

/// Notes that the contact confirmed a booking. The draft's journal has it then.
pub async fn confirm_booking(deps: &Deps, drafted: &mut DraftedJournal, event: &EffectId) -> PortResult<()> {
    write_plainly(deps, drafted, |journal, now| journal.confirm_booking(event, now)).await
}

/// Notes that another event stands in the calendar at the time of a booking. The draft's journal has it then.
pub async fn note_other_event(deps: &Deps, drafted: &mut DraftedJournal, event: &EffectId) -> PortResult<()> {
    write_plainly(deps, drafted, |journal, now| journal.note_other_event(event, now)).await
}

/// Changes the journal without its cells, and notes the write in the draft.
async fn write_plainly(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    by: impl Fn(&mut Journal, Timestamp),
) -> PortResult<()> {
    let of = drafted.journal.record.tenant_and_thread();
    let changed = change_journal(deps, of, |journal, now| {
        by(journal, now);
        Ok(JournalChange::default())
    });
    if let Some(written) = allow_refusal(changed.await)? {
        drafted.note_own_writes(written, 1);
    }
    Ok(())
}
