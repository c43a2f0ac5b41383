//! Alerts that hold and alerts that ended, and what the last look for alerts left.

use super::audit::format_sort_time;
use super::check_cursor;
use crate::ports::{Page, PageRequest, PortResult, WriteOutcome};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, Table, Versioned, Write, find_readable, list_records,
    list_versions, put_writes,
};
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertState, AlertWatch, Notification};
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::TenantId;
use recado_domain::published_event::{PublishedEvent, derive_alert_events};

/// The partition in which the live alerts of all are listed, sorted by tenant.
const LIVE: &str = "alerts.live";
/// The partition in which the ended alerts of all are listed, sorted by the time of their end.
const ENDED: &str = "alerts.ended";

/// The beginning of the place of an ended alert.
const ENDED_PREFIX: &str = "ended#";

/// The place of the record of the last look.
const LAST_LOOK: &str = "last";

/// The number of alerts that [`commit_alerts`] takes at most. Each that ends takes four writes, and each of ten notifications two.
pub const ALERTS_PER_COMMIT: usize = 16;

/// A condition is live once, and may end often. So a live alert lies under its condition, and an ended one under its end.
impl Record for Alert {
    const KIND: &'static str = "alerts";
    const INDEXES: &'static [&'static str] = &[LIVE, ENDED];
    const IS_PUBLISHED: bool = true;
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        self.subject.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        match self.ended_at {
            Some(ended) => format!("{ENDED_PREFIX}{}", format_sort_of_end(self, ended)),
            None => format!("live#{}", self.condition_key()),
        }
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.expires_at()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let key = if let Some(ended) = self.ended_at {
            Key::new(ENDED, None, format_sort_of_end(self, ended))
        } else {
            let prefix = tenant_prefix(self.subject.tenant.as_ref());
            Key::new(LIVE, None, format!("{prefix}{}", self.condition_key()))
        };
        vec![IndexEntry::new(key).shared()]
    }

    /// An alert that ended is another item than the live one was. So it tells its end when it is stored for the first time.
    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        derive_alert_events(old.map(Self::state), new, at)
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_alert(self)
    }
}

impl Record for AlertWatch {
    const KIND: &'static str = "alert-watch";
    const IS_IDLE: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        LAST_LOOK.to_owned()
    }
}

/// Writes the end of an alert so that later ends are sorted behind earlier ones.
fn format_sort_of_end(alert: &Alert, ended: Timestamp) -> String {
    format!("{}#{}", format_sort_time(ended), alert.id)
}

/// Returns the beginning of the places of a tenant's records in a partition of all. No id contains a `#`.
pub(super) fn tenant_prefix(tenant: Option<&TenantId>) -> String {
    format!("{}#", tenant.map_or("", TenantId::as_str))
}

/// Returns the record that the last look left; the default if there was none, or if it cannot be read.
pub async fn read_alert_watch(table: &dyn Table) -> PortResult<AlertWatch> {
    let found = find_readable::<AlertWatch>(table, None, LAST_LOOK).await?;
    Ok(found.map(|found| found.record).unwrap_or_default())
}

/// Lists the live alerts, watched and firing, of a tenant or of all (`None`), at most `limit`.
pub async fn list_live_alerts(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    limit: usize,
) -> PortResult<Vec<Versioned<Alert>>> {
    let mut query = Query::new(Partition::new(LIVE, None), limit);
    if tenant.is_some() {
        query = query.with_prefix(&tenant_prefix(tenant));
    }
    let page = PageRequest::first(limit);
    Ok(list_versions(table, query, &page, |_: &Alert| true).await?.items)
}

/// Lists the alerts of a tenant or of all (`None`) that ended and are not expired, the latest end first.
pub async fn list_ended_alerts(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> PortResult<Page<Alert>> {
    if tenant.is_some() {
        check_cursor(Alert::KIND, page, |text| is_ended_place(text, ENDED_PREFIX))?;
        let own = Query::new(Partition::new(Alert::KIND, tenant), page.limit);
        let ended = own.with_prefix(ENDED_PREFIX).in_reverse();
        return list_records(table, ended, page, |_| true).await;
    }
    check_cursor(Alert::KIND, page, |text| is_ended_place(text, ""))?;
    let all = Query::new(Partition::new(ENDED, None), page.limit).in_reverse();
    list_records(table, all, page, |_| true).await
}

/// Returns whether a text is the place of an ended alert: this prefix, the time of its end, and its id.
fn is_ended_place(text: &str, prefix: &str) -> bool {
    let place = text.strip_prefix(prefix).and_then(|place| place.split_once('#'));
    place.is_some_and(|(time, id)| time.bytes().all(|digit| digit.is_ascii_digit()) && !id.is_empty())
}

/// Stores changed alerts and the notifications that tell them in one transaction: at most [`ALERTS_PER_COMMIT`] alerts and 10
/// notifications.
///
/// `live` has the live alerts as they were read; an alert that is not among them begins. An ended alert leaves the live ones for the ended
/// ones; a forgotten alert is removed. [`WriteOutcome::Conflict`]: others changed one of them meanwhile, and nothing was written.
pub async fn commit_alerts(
    table: &dyn Table,
    live: &[Versioned<Alert>],
    changed: &[Alert],
    notifications: &[Notification],
) -> PortResult<WriteOutcome> {
    let mut writes = Vec::new();
    for alert in changed {
        match write_alert_change(live, alert)? {
            Some(change) => writes.extend(change),
            None => return Ok(WriteOutcome::Conflict),
        }
    }
    for notification in notifications {
        writes.extend(put_writes(notification)?);
    }
    if writes.is_empty() || table.write(&writes).await?.is_ok() {
        return Ok(WriteOutcome::Written);
    }
    Ok(WriteOutcome::Conflict)
}

/// Returns the writes that store a changed alert. `None`: it is over and was not live.
fn write_alert_change(live: &[Versioned<Alert>], alert: &Alert) -> PortResult<Option<Vec<Write>>> {
    let known = live.iter().find(|known| known.record.id == alert.id);
    if alert.ended_at.is_none() {
        let changed = Versioned::replacing(known.cloned(), alert.clone());
        return Ok(Some(Change::save(&changed)?.writes));
    }
    let Some(known) = known else { return Ok(None) };
    let mut writes = Change::remove(known).writes;
    if alert.state() == AlertState::Ended {
        writes.extend(put_writes(alert)?);
    }
    Ok(Some(writes))
}
