//! Notifications that are not delivered: those that wait for their next attempt, and those that were given up.

use super::alerts::tenant_prefix;
use crate::ports::{PageRequest, PortResult};
use crate::table::{
    IndexEntry, Key, Kind, Partition, Query, Record, Table, Versioned, find_versions, list_versions,
};
use jiff::Timestamp;
use recado_domain::alert::{Notification, NotificationState};
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::TenantId;

/// The partition in which the notifications of all are listed, sorted by state, tenant and id.
const BY_STATE: &str = "notifications.by-state";

impl Record for Notification {
    const KIND: &'static str = "notifications";
    const INDEXES: &'static [&'static str] = &[BY_STATE];
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        self.id.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.expires_at()
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.pending_due_at()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let (state, tenant) = (self.state.as_str(), tenant_prefix(self.tenant.as_ref()));
        let key = Key::new(BY_STATE, None, format!("{state}#{tenant}{}", self.id));
        vec![IndexEntry::new(key).shared()]
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_notification(self)
    }
}

/// Lists the pending notifications that are due at `now`, at most `limit`: those that are due for the longest time come first. The list
/// may be some seconds old.
pub async fn list_due_notifications(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<Versioned<Notification>>> {
    let kind = Kind::of::<Notification>();
    let keys = table.list_due(&kind, now, limit).await?;
    let mut found: Vec<Versioned<Notification>> = find_versions(table, &keys).await?;
    found.retain(|found| found.record.pending_due_at().is_some_and(|due| due <= now));
    found.sort_by_key(|found| found.record.due_at);
    Ok(found)
}

/// Lists the notifications in `state` of a tenant or of all (`None`), sorted by tenant and id, at most `limit`.
pub async fn list_notifications(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    state: NotificationState,
    limit: usize,
) -> PortResult<Vec<Versioned<Notification>>> {
    let of_tenant = tenant.map(|_| tenant_prefix(tenant)).unwrap_or_default();
    let prefix = format!("{}#{of_tenant}", state.as_str());
    let query = Query::new(Partition::new(BY_STATE, None), limit).with_prefix(&prefix);
    let page = PageRequest::first(limit);
    let is_wanted = |notification: &Notification| notification.state == state;
    Ok(list_versions(table, query, &page, is_wanted).await?.items)
}
