//! Messages that a provider accepted and WhatsApp did not acknowledge, by their owner: `tenant/instance`.

use crate::db_error::{DbError, DbResult};
use crate::sql_records::{decode_column, keep_readable, to_sql_limit};
use jiff::Timestamp;
use recado_domain::alert::UnacknowledgedStatus;
use recado_domain::delivery::{AwaitedAcknowledgement, Delivery, UnacknowledgedMessage};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::{Page, PageRequest, UnacknowledgedCounts, UnacknowledgedFilter};
use rusqlite::{Connection, params};

/// The text after every owner of a tenant: the character after `/` is `0`.
const AFTER_TENANT: char = '0';

pub(super) fn parse_owner(owner: &str) -> DbResult<(TenantId, InstanceId)> {
    let damaged = DbError::Argument("a damaged id");
    let ids = owner.split_once('/').and_then(|(tenant, instance)| {
        Some((TenantId::parse(tenant).ok()?, InstanceId::parse(instance).ok()?))
    });
    ids.ok_or(damaged)
}

/// Counts, by owner, the messages whose acknowledgement is missing since a time of `range`. Each owner is one step in the
/// index, whatever number of messages others have.
pub(super) fn count_by_owner(
    db: &Connection,
    range: (Timestamp, Timestamp),
    most: usize,
) -> DbResult<UnacknowledgedCounts> {
    let mut next_owner = db.prepare_cached(
        "SELECT min(ack_owner) FROM deliveries WHERE ack_owner IS NOT NULL AND ack_owner > ?1",
    )?;
    let mut count = db.prepare_cached(
        "SELECT count(*), min(ack_since) FROM (SELECT ack_since FROM deliveries
            WHERE ack_owner = ?1 AND ack_due > ?2 AND ack_due <= ?3 ORDER BY ack_due LIMIT ?4)",
    )?;
    let mut found = UnacknowledgedCounts::default();
    let mut last = String::new();
    while let Some(owner) = next_owner.query_row([&last], |row| row.get::<_, Option<String>>(0))? {
        let (from, before) = (range.0.as_millisecond(), range.1.as_millisecond());
        let values = params![owner, from, before, to_sql_limit(most)];
        let (messages, since) = count.query_row(values, |row| {
            Ok((row.get::<_, u32>(0)?, row.get::<_, Option<i64>>(1)?))
        })?;
        if let Some(since) = since {
            if found.instances.len() == most {
                found.at_least = true;
                break;
            }
            let ids = keep_readable("deliveries", parse_owner(&owner))?;
            found
                .instances
                .extend(ids.map(|(tenant, instance)| UnacknowledgedStatus {
                    tenant,
                    instance,
                    count: u64::from(messages),
                    since: from_unix_millis(since),
                }));
        }
        last = owner;
    }
    Ok(found)
}

/// The place of a row in the list: its owner, when its acknowledgement was due, and its key.
type ListPlace = (String, i64, String);

fn parse_cursor(cursor: &str) -> DbResult<ListPlace> {
    let mut parts = cursor.splitn(3, ':');
    let mut part = || parts.next().ok_or(DbError::Cursor);
    let (due, key, owner) = (part()?, part()?.to_owned(), part()?.to_owned());
    Ok((owner, due.parse().map_err(|_| DbError::Cursor)?, key))
}

/// Returns a page of the messages whose acknowledgement is missing at `now`: by instance, and of one the oldest first.
pub(super) fn select_page(
    db: &Connection,
    filter: &UnacknowledgedFilter,
    now: Timestamp,
    page: &PageRequest,
) -> DbResult<Page<UnacknowledgedMessage>> {
    let mut found = Page {
        items: Vec::new(),
        next_cursor: None,
    };
    let tenant = filter.tenant.as_ref();
    let start = tenant.map_or_else(String::new, |tenant| format!("{tenant}/"));
    let end = tenant.map(|tenant| format!("{tenant}{AFTER_TENANT}"));
    let earliest = filter.due_from.map_or(i64::MIN, Timestamp::as_millisecond);
    let mut place = match page.cursor.as_deref() {
        // A cursor leads to no other tenant's rows.
        Some(cursor) => Some(parse_cursor(cursor)?)
            .filter(|place| place.0 >= start)
            .ok_or(DbError::Cursor)?,
        None => (start, earliest, String::new()),
    };
    let owners = "SELECT min(ack_owner) FROM deliveries
        WHERE ack_owner IS NOT NULL AND ack_owner >= ?1 AND (?2 IS NULL OR ack_owner < ?2)";
    let mut next_owner = db.prepare_cached(owners)?;
    while let Some(owner) =
        next_owner.query_row(params![place.0, end], |row| row.get::<_, Option<String>>(0))?
    {
        if owner != place.0 {
            place = (owner, earliest, String::new());
        }
        let is_wanted = |ids: &(TenantId, InstanceId)| {
            let wanted = filter.instance.as_ref();
            wanted.is_none_or(|wanted| *wanted == ids.1)
        };
        let ids = keep_readable("deliveries", parse_owner(&place.0))?.filter(is_wanted);
        if let Some(ids) = ids
            && !add_rows_of_owner(db, &ids, &mut place, now, page.limit, &mut found)?
        {
            found.next_cursor = Some(format!("{}:{}:{}", place.1, place.2, place.0));
            return Ok(found);
        }
        // The text after this owner and before every other.
        place = (format!("{}\u{1}", place.0), earliest, String::new());
    }
    Ok(found)
}

/// Adds the rows of one owner that come after `place` to `found`, and moves `place` on. Returns `false` if there are more
/// than a page holds.
fn add_rows_of_owner(
    db: &Connection,
    (tenant, instance): &(TenantId, InstanceId),
    place: &mut ListPlace,
    now: Timestamp,
    limit: usize,
    found: &mut Page<UnacknowledgedMessage>,
) -> DbResult<bool> {
    let mut rows = db.prepare_cached(
        "SELECT ack_since, ack_due, key, body FROM deliveries
            WHERE ack_owner = ?1 AND (ack_due, key) > (?2, ?3) AND ack_due <= ?4 ORDER BY ack_due, key LIMIT ?5",
    )?;
    let left = to_sql_limit(limit.saturating_add(1).saturating_sub(found.items.len()));
    let mut read = rows.query(params![place.0, place.1, place.2, now.as_millisecond(), left])?;
    while let Some(row) = read.next()? {
        if found.items.len() == limit {
            return Ok(false);
        }
        let (since, due): (i64, i64) = (row.get(0)?, row.get(1)?);
        (place.1, place.2) = (due, row.get(2)?);
        let delivery = keep_readable("deliveries", decode_column::<Delivery>(row, 3))?;
        let message = delivery.and_then(|delivery| delivery.message);
        found.items.extend(message.map(|message| UnacknowledgedMessage {
            message,
            awaited: AwaitedAcknowledgement {
                tenant: tenant.clone(),
                instance: instance.clone(),
                accepted_at: from_unix_millis(since),
                due: from_unix_millis(due),
            },
        }));
    }
    Ok(true)
}
