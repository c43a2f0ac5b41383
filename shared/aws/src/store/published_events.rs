//! Reads the log of published events, and deletes a tenant's. [`super::publishing`] writes it.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::log_head::parse_number;
use super::publishing::number_of_time;
use super::record_query::RecordQuery;
use async_trait::async_trait;
use jiff::SignedDuration;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_ports::ports::{
    LogPlace, LoggedEvent, PortError, PortResult, PublishedEvents, PublishedPage, System,
};

/// The number of records that are read at a time. Each holds what was published together, one event at least.
const READ_AT_ONCE: usize = 50;

/// Time by which the clocks of functions may differ, and to which a change's own time is rounded. 1 minute.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(1);

/// Returns the events of a record behind `after`.
pub(super) fn parse_logged(
    what: &'static str,
    item: &Item,
    after: EventCursor,
) -> PortResult<Vec<LoggedEvent>> {
    let text = item::get_string(item, "events").unwrap_or_default();
    let events: Vec<PublishedEvent> =
        serde_json::from_str(text).map_err(|error| PortError::invalid(what, error))?;
    let first = parse_number(item, "first");
    let first = first.ok_or_else(|| PortError::invalid(what, "events without a number"))?;
    let logged = (first.0..).zip(events).map(|(number, event)| LoggedEvent {
        cursor: EventCursor(number),
        event,
    });
    Ok(logged.filter(|logged| logged.cursor > after).collect())
}

fn query_log(tenant: Option<&TenantId>, after: EventCursor, limit: usize) -> RecordQuery {
    let keys = Expression::new("#pk = :pk AND #sk > :after")
        .with_text(":pk", keys::event_log_pk(tenant))
        .with_text(":after", keys::event_log_sk(after));
    RecordQuery::of_table(keys).up_to(limit)
}

impl<A: System> DynamoStore<A> {
    /// Deletes the oldest records of a tenant's log, at most `limit`, and before each its copy in the installation's log.
    pub(super) async fn delete_event_log(&self, tenant: &TenantId, limit: usize) -> PortResult<usize> {
        const WHAT: &str = "finding a tenant's events";
        let query = query_log(Some(tenant), EventCursor::START, limit);
        let found = self.table.query_records(WHAT, &query).await?;
        let copies = found.iter().filter_map(TableKey::from_item).map(|key| TableKey {
            pk: keys::event_log_pk(None),
            sk: key.sk,
        });
        let copies = copies.map(TableKey::into_key_item).collect();
        self.delete_found(copies).await?;
        self.delete_found(found).await
    }

    /// Returns the place behind which the events from a place on lie. Before a time it may be a minute early: numbers tell when events
    /// were published, by the clock of a function.
    async fn find_place(&self, from: LogPlace) -> PortResult<EventCursor> {
        let since = match from {
            LogPlace::After(cursor) => return Ok(cursor),
            LogPlace::Before(since) => Some(since),
            LogPlace::Newest => None,
        };
        let newest = self.find_newest_number().await?;
        let first = since.map(|since| number_of_time(add_duration(since, -CLOCKS_DIFFER)));
        Ok(first.map_or(newest, |first| newest.min(EventCursor(first.0.saturating_sub(1)))))
    }
}

#[async_trait]
impl<A: System> PublishedEvents for DynamoStore<A> {
    async fn list_published_events(
        &self,
        tenant: Option<&TenantId>,
        from: LogPlace,
        limit: usize,
    ) -> PortResult<PublishedPage> {
        const WHAT: &str = "listing published events";
        let now = self.table.system.now();
        let after = self.find_place(from).await?;
        if limit == 0 {
            return Ok(PublishedPage::end_at(after));
        }
        // Lower places need no look at the head: whatever is published from now on has a higher number.
        if after > number_of_time(now) && after > self.find_newest_number().await? {
            return Err(PortError::invalid(WHAT, "the place is ahead of the log"));
        }
        let query = query_log(tenant, after, limit.clamp(1, READ_AT_ONCE));
        let (mut events, mut start) = (Vec::new(), None);
        loop {
            let (items, next) = self.table.query_page(WHAT, &query, start).await?;
            for item in items.into_iter().filter_map(|item| item::unexpired(item, now)) {
                let logged = item::keep_readable(parse_logged(WHAT, &item, after));
                events.extend(logged.into_iter().flatten());
            }
            start = next;
            if events.len() >= limit || start.is_none() {
                break;
            }
        }
        events.truncate(limit);
        let next = events.last().map_or(after, |last: &LoggedEvent| last.cursor);
        Ok(PublishedPage { events, next })
    }
}
