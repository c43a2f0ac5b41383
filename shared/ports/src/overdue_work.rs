//! All that has been open for too long: what the index names, and the records of the table that are due.

use crate::ports::{OverdueWork, PortResult, Store};
use crate::records::batches::list_due_batches;
use crate::records::effects::list_due_journals;
use crate::records::invitations::list_due_emails;
use crate::records::scheduled_messages::list_due_scheduled;
use jiff::Timestamp;

/// Lists what was overdue at `now`, at most `limit` of each kind. What [`RecordIndexes::list_overdue`] names and each kind of the table
/// take turns, so that many of one list do not keep the others waiting; within each list the longest overdue come first.
pub async fn list_overdue_work(
    store: &dyn Store,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<OverdueWork>> {
    let indexed = store.list_overdue(now, limit).await?;
    let scheduled = list_due_scheduled(store, now, limit).await?.into_iter();
    let scheduled = scheduled.map(|(tenant, scheduled)| OverdueWork::Scheduled { tenant, scheduled });
    let effects = list_due_journals(store, now, limit).await?.into_iter();
    let effects = effects.map(|(tenant, thread)| OverdueWork::Effects { tenant, thread });
    let emails = list_due_emails(store, now, limit).await?.into_iter();
    let emails = emails.map(|(tenant, invitation)| OverdueWork::Email { tenant, invitation });
    let batches = list_due_batches(store, now, limit).await?.into_iter();
    let batches = batches.map(|(tenant, batch)| OverdueWork::Batch { tenant, batch });
    let of_table = scheduled
        .enumerate()
        .chain(effects.enumerate())
        .chain(emails.enumerate())
        .chain(batches.enumerate());
    let mut placed: Vec<(usize, OverdueWork)> = indexed.into_iter().enumerate().chain(of_table).collect();
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, work)| work).collect())
}
