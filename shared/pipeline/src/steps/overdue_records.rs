//! All that has been open for too long: what the index of open records names, and the records of features that are due.

use crate::Deps;
use crate::hooks::feature_timer::DueRecord;
use jiff::Timestamp;
use recado_ports::ports::{OverdueWork, PortResult};

/// A record that is overdue.
#[derive(Debug)]
pub enum OverdueRecord {
    /// A record of the path of a message.
    OfPath(OverdueWork),
    /// A record of a feature, and the name by which the report of `reconcile` counts it.
    OfFeature {
        counted_as: &'static str,
        record: Box<dyn DueRecord>,
    },
}

/// Lists what was overdue at `now`, at most `limit` of each kind. What the index names and the records of each timer take turns, so that
/// many of one list do not keep the others waiting; within each list the longest overdue come first.
pub async fn list_overdue_records(
    deps: &Deps,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<OverdueRecord>> {
    let indexed = deps.store().list_overdue(now, limit).await?;
    let mut placed: Vec<(usize, OverdueRecord)> = indexed
        .into_iter()
        .map(|work| give_to_its_feature(deps, work))
        .enumerate()
        .collect();
    for timer in deps.features().feature_timers {
        let due = timer.list_due_records(deps, now, limit).await?.into_iter();
        let due = due.map(|record| OverdueRecord::OfFeature {
            counted_as: timer.name_in_report(),
            record,
        });
        placed.extend(due.enumerate());
    }
    placed.sort_by_key(|(place, _)| *place);
    Ok(placed.into_iter().map(|(_, record)| record).collect())
}

/// Gives what the index names to the feature whose record it is, if it is one's.
fn give_to_its_feature(deps: &Deps, work: OverdueWork) -> OverdueRecord {
    let claimed = deps.features().feature_timers.iter().find_map(|timer| {
        let record = timer.claim_indexed_record(&work)?;
        Some(OverdueRecord::OfFeature {
            counted_as: timer.name_in_report(),
            record,
        })
    });
    claimed.unwrap_or(OverdueRecord::OfPath(work))
}
