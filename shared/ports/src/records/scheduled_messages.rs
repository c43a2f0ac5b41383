//! Messages that are to be sent later. One that is due becomes a message of a conversation in the transaction that stores its new state
//! ([`Conversations::commit_messages`](crate::ports::Conversations::commit_messages) with [`Change::save`] beside).

use super::list_due_ids;
use crate::ports::{CommitOutcome, PortResult};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, Table, Versioned, Write, commit_change, find_by_index,
    find_with_version, list_all_versions,
};
use jiff::Timestamp;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};

/// The partition in which a scheduled message is found by its id alone.
const BY_ID: &str = "scheduled-messages.by-id";
/// The partition in which a tenant's pending ones are listed by their instances.
const PENDING: &str = "scheduled-messages.pending";

/// The number of pending ones of a page. One more is looked at, and stores read 100 records in a request.
const PAGE: usize = 99;

impl Record for ScheduledMessage {
    const KIND: &'static str = "scheduled-messages";
    const INDEXES: &'static [&'static str] = &[BY_ID, PENDING];

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.id.to_string()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        self.expires_at()
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.send_due_at()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let by_id = IndexEntry::new(Key::new(BY_ID, None, self.id.as_str()));
        let pending = self.send_due_at().map(|_| {
            let sort = format!("{}{}", prefix_of_instance(&self.instance), self.id);
            IndexEntry::new(Key::new(PENDING, self.owner(), sort))
        });
        std::iter::once(by_id).chain(pending).collect()
    }
}

/// Returns the beginning of the places of an instance's pending ones. No id contains a `#`.
fn prefix_of_instance(instance: &InstanceId) -> String {
    format!("{instance}#")
}

/// Stores a new scheduled message together with the writes `beside`. [`CommitOutcome::Conflict`]: there is one with this id.
pub async fn put_scheduled(
    table: &dyn Table,
    scheduled: &ScheduledMessage,
    beside: &[Write],
) -> PortResult<CommitOutcome> {
    let new = Change::save(&Versioned::new(scheduled.clone()))?;
    commit_change(table, &new, beside).await
}

/// Returns a scheduled message of a tenant; `None` if it does not exist.
pub async fn find_scheduled(
    table: &dyn Table,
    tenant: &TenantId,
    id: &ScheduledId,
) -> PortResult<Option<Versioned<ScheduledMessage>>> {
    find_with_version(table, Some(tenant), id.as_str()).await
}

/// Returns the scheduled message with an id, whosever it is; `None` if it does not exist. It takes a read more than
/// [`find_scheduled`].
pub async fn find_scheduled_by_id(
    table: &dyn Table,
    id: &ScheduledId,
) -> PortResult<Option<Versioned<ScheduledMessage>>> {
    find_by_index(table, &Key::new(BY_ID, None, id.as_str())).await
}

/// Lists the pending scheduled messages of an instance, all of them.
pub async fn list_pending_scheduled(
    table: &dyn Table,
    tenant: &TenantId,
    instance: &InstanceId,
) -> PortResult<Vec<Versioned<ScheduledMessage>>> {
    let all = Query::new(Partition::new(PENDING, Some(tenant)), PAGE);
    let all = all.with_prefix(&prefix_of_instance(instance));
    let is_pending = |scheduled: &ScheduledMessage| scheduled.send_due_at().is_some();
    list_all_versions(table, all, is_pending).await
}

/// Lists the scheduled messages that are due at `now`, at most `limit`, the longest due first, with their tenants. The list may be some
/// seconds old.
pub async fn list_due_scheduled(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<(TenantId, ScheduledId)>> {
    list_due_ids::<ScheduledMessage, _, _>(table, now, limit, ScheduledId::parse).await
}
