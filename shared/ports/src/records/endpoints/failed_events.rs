//! The events that an endpoint did not accept. Each belongs to a generation of its endpoint: one that is removed and made again under its
//! name has another.

use super::super::audit::format_sort_time;
use crate::ports::{Page, PageRequest, PortError, PortResult, WriteOutcome};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, Table, Versioned, WRITES_MAX, Write, find_versions,
    find_with_version, list_versions, put_writes, remove_latest_record, write_record,
};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::webhook_endpoint::FailedEvent;

/// The partition that lists the events that are tried on, by endpoint and by the time of the next attempt.
const DUE: &str = "failed-posts.due";

/// The number of events that are deleted together, each with what leads to it.
const DELETED_AT_ONCE: usize = WRITES_MAX / 2;

impl Record for FailedEvent {
    const KIND: &'static str = "failed-posts";
    const INDEXES: &'static [&'static str] = &[DUE];
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        format_event_place(&self.endpoint, self.cursor)
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires_at())
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let entry = |next: Timestamp| {
            let place = format!(
                "{}#{}",
                format_due_place(&self.endpoint, next),
                sort_of_number(self.cursor)
            );
            IndexEntry::new(Key::new(DUE, self.owner(), place)).shared()
        };
        self.next_at.map(entry).into_iter().collect()
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_failed_event(self)
    }
}

/// Writes a place in the log so that later ones are sorted behind earlier ones.
fn sort_of_number(cursor: EventCursor) -> String {
    format!("{:020}", cursor.0)
}

fn format_event_place(endpoint: &WebhookEndpointId, cursor: EventCursor) -> String {
    format!("{}{}", prefix_of_endpoint(endpoint), sort_of_number(cursor))
}

fn format_due_place(endpoint: &WebhookEndpointId, next: Timestamp) -> String {
    format!("{}{}", prefix_of_endpoint(endpoint), format_sort_time(next))
}

/// Returns the beginning of the places of an endpoint's events.
fn prefix_of_endpoint(endpoint: &WebhookEndpointId) -> String {
    format!("{endpoint}#")
}

/// Returns the event at this place that an endpoint did not accept.
pub async fn find_failed_event(
    table: &dyn Table,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
    cursor: EventCursor,
) -> PortResult<Option<Versioned<FailedEvent>>> {
    find_with_version(table, Some(tenant), &format_event_place(endpoint, cursor)).await
}

/// Lists the events that an endpoint did not accept and that are not expired, the oldest first. The cursor is the place of an event.
pub async fn list_failed_events(
    table: &dyn Table,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
    page: &PageRequest,
) -> PortResult<Page<Versioned<FailedEvent>>> {
    let cursor = page.cursor.as_deref().map(str::parse::<EventCursor>).transpose();
    let cursor = cursor.map_err(|error| PortError::invalid(FailedEvent::KIND, error))?;
    let page = PageRequest {
        limit: page.limit,
        cursor: cursor.map(|cursor| format_event_place(endpoint, cursor)),
    };
    let own = Query::new(Partition::new(FailedEvent::KIND, Some(tenant)), page.limit);
    let own = own.with_prefix(&prefix_of_endpoint(endpoint));
    let mut found = list_versions::<FailedEvent>(table, own, &page, |_| true).await?;
    let last = found.items.last().map(|last| last.record.cursor.to_string());
    found.next_cursor = found.next_cursor.and(last);
    Ok(found)
}

/// Lists those of them whose next attempt is due at `now`, the longest due first, at most `limit`.
pub async fn list_due_failed_events(
    table: &dyn Table,
    tenant: &TenantId,
    endpoint: &WebhookEndpointId,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<Versioned<FailedEvent>>> {
    let due = Query {
        from: Some(prefix_of_endpoint(endpoint)),
        // Behind the time stands the number of an event, and no key holds a character behind this one.
        to: Some(format!("{}\u{10FFFF}", format_due_place(endpoint, now))),
        ..Query::new(Partition::new(DUE, Some(tenant)), limit)
    };
    let page = PageRequest::first(limit);
    // An event may have failed once more since what leads to it was read.
    let is_due = |failed: &FailedEvent| failed.next_at.is_some_and(|next| next <= now);
    Ok(list_versions(table, due, &page, is_due).await?.items)
}

/// Lets an event of the same generation be tried again, from `now` on. `false`: it is not stored any more.
pub async fn redrive_failed_event(
    table: &dyn Table,
    failed: &Versioned<FailedEvent>,
    now: Timestamp,
) -> PortResult<bool> {
    let contended = PortError::contended(FailedEvent::KIND);
    retry_lost_write(contended, failed.clone(), |mut known| async move {
        known.record.redrive_event(now);
        if write_record(table, &mut known).await? == WriteOutcome::Written {
            return PortResult::Ok(WriteAttempt::Done(true));
        }
        let last = &known.record;
        let found = find_failed_event(table, &last.tenant, &last.endpoint, last.cursor).await?;
        let again = found.filter(|found| found.record.generation == last.generation);
        Ok(again.map_or(WriteAttempt::Done(false), WriteAttempt::Lost))
    })
    .await
}

/// Removes an event of the same generation from those that an endpoint did not accept.
pub async fn remove_failed_event(table: &dyn Table, failed: &Versioned<FailedEvent>) -> PortResult<()> {
    let generation = failed.record.generation;
    let is_same = |one: &FailedEvent| one.generation == generation;
    remove_latest_record(table, Some(failed.clone()), is_same).await
}

/// Returns the writes that store events, each in place of one that stands there.
pub(super) async fn list_event_writes(table: &dyn Table, failed: &[FailedEvent]) -> PortResult<Vec<Write>> {
    let keys: Vec<Key> = failed.iter().map(Record::key).collect();
    let mut known = find_versions::<FailedEvent>(table, &keys).await?;
    let mut writes = Vec::new();
    for one in failed {
        match known.iter_mut().find(|known| known.record.cursor == one.cursor) {
            Some(known) => {
                // What led to it goes with it.
                known.record = one.clone();
                writes.extend(Change::save(known)?.writes);
            }
            // There is none, or one that cannot be read.
            None => writes.extend(put_writes(one)?),
        }
    }
    Ok(writes)
}

/// Deletes the events of a generation of an endpoint.
pub(super) async fn delete_failed_events(
    table: &dyn Table,
    (tenant, endpoint): (&TenantId, &WebhookEndpointId),
    generation: u64,
) -> PortResult<()> {
    let mut page = PageRequest::first(DELETED_AT_ONCE);
    loop {
        let mut found = list_failed_events(table, tenant, endpoint, &page).await?;
        found.items.retain(|found| found.record.generation == generation);
        let writes: Vec<Write> = found
            .items
            .iter()
            .flat_map(|found| Change::remove(found).writes)
            .collect();
        if !writes.is_empty() && table.write(&writes).await?.is_err() {
            // One of them is another by now.
            for one in &found.items {
                remove_failed_event(table, one).await?;
            }
        }
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(()),
        }
    }
}
