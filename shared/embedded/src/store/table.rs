//! The table: all kinds of records, and what leads to them, in the one SQL table `records`.

use super::published_events::insert_published_events;
use crate::Embedded;
use crate::clock::EmbeddedSystem;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    count_from_sql, execute_sql, keep_readable, query_one_value, read_lossy_text, to_sql_limit,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::millis::{add_duration, from_unix_millis};
use recado_ports::ports::{PortResult, System};
use recado_ports::table::{
    Condition, ItemPage, Key, Kind, NewItem, Partition, Query, Refusal, StoredItem, Table, Version,
    WRITES_MAX, Write, WriteResult,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use std::collections::BTreeSet;

/// The name of an item's partition, without its owner. Indexes are made of this expression.
pub(super) const PARTITION_NAME: &str = "substr(partition, 1, instr(partition, '#') - 1)";

/// Returns the second in which `at` lies. What expires then has expired at `at`.
fn whole_second(at: Timestamp) -> i64 {
    at.as_millisecond().div_euclid(1000)
}

/// Returns the first second at or after `at`.
fn round_up_to_second(at: Timestamp) -> i64 {
    at.as_second() + i64::from(at.subsec_nanosecond() > 0)
}

/// Reads an item of the columns `sort, version, body, expires`. A body that is no text becomes one that no kind can read.
fn parse_item(partition: &Partition, row: &Row<'_>) -> DbResult<StoredItem> {
    let (version, expires): (i64, Option<i64>) = (row.get(1)?, row.get(3)?);
    Ok(StoredItem {
        key: Key {
            partition: partition.clone(),
            sort: row.get(0)?,
        },
        version: Version(version.cast_unsigned()),
        body: read_lossy_text(row, 2)?.unwrap_or_default(),
        expires: expires.map(|second| from_unix_millis(second.saturating_mul(1000))),
    })
}

pub(super) fn select_item(db: &Connection, key: &Key, now: Timestamp) -> DbResult<Option<StoredItem>> {
    let sql = "SELECT sort, version, body, expires FROM records
        WHERE partition = ?1 AND sort = ?2 AND (expires IS NULL OR expires > ?3)";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params![key.partition.to_string(), key.sort, whole_second(now)])?;
    rows.next()?
        .map(|row| parse_item(&key.partition, row))
        .transpose()
}

fn select_items(db: &Connection, keys: &[Key], now: Timestamp) -> DbResult<Vec<StoredItem>> {
    let mut found = Vec::new();
    for key in keys {
        found.extend(keep_readable(key.partition.name, select_item(db, key, now))?.flatten());
    }
    Ok(found)
}

/// Writes the conditions of a query in SQL, with their values.
fn write_conditions(query: &Query, now: Timestamp) -> (String, Vec<Value>) {
    let mut sql = "partition = ? AND (expires IS NULL OR expires > ?)".to_owned();
    let mut values: Vec<Value> = vec![query.partition.to_string().into(), whole_second(now).into()];
    // Of two bounds on one side SQLite may look up the farther one: so the nearer one is given alone.
    let after = query.after.as_deref();
    let (behind, before) = if query.reverse {
        (None, after)
    } else {
        (after, None)
    };
    let from = query.from.as_deref().map(|sort| (sort, false));
    let first = from.into_iter().chain(behind.map(|sort| (sort, true))).max();
    let to = query.to.as_deref().map(|sort| (sort, true));
    let last = to.into_iter().chain(before.map(|sort| (sort, false))).min();
    let first = first.map(|(sort, is_behind)| (sort, if is_behind { ">" } else { ">=" }));
    let last = last.map(|(sort, is_included)| (sort, if is_included { "<=" } else { "<" }));
    for (sort, relation) in first.into_iter().chain(last) {
        sql.extend([" AND sort ", relation, " ?"]);
        values.push(sort.to_owned().into());
    }
    (sql, values)
}

fn select_page(db: &Connection, query: &Query, now: Timestamp) -> DbResult<ItemPage> {
    let (conditions, mut values) = write_conditions(query, now);
    let order = if query.reverse { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT sort, version, body, expires FROM records WHERE {conditions} ORDER BY sort {order} LIMIT ?"
    );
    let limit = query.limit.max(1);
    // One item more than wanted shows whether there is another page.
    values.push(to_sql_limit(limit.saturating_add(1)).into());
    let mut statement = db.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut page = ItemPage {
        items: Vec::new(),
        next: None,
    };
    let (mut count, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        if count == limit {
            page.next = last;
            break;
        }
        let item = keep_readable(query.partition.name, parse_item(&query.partition, row))?;
        page.items.extend(item);
        last = Some(row.get("sort")?);
        count += 1;
    }
    Ok(page)
}

fn count_items(db: &Connection, query: &Query, now: Timestamp) -> DbResult<u64> {
    let (conditions, values) = write_conditions(query, now);
    let sql = format!("SELECT count(*) FROM records WHERE {conditions}");
    let count = query_one_value(db, &sql, params_from_iter(values))?;
    Ok(count_from_sql(count.unwrap_or_default()))
}

/// Returns the keys of the items of a kind that are due at `due` and have not expired at `now`.
fn select_due(
    db: &Connection,
    kind: &'static str,
    (due, now): (Timestamp, Timestamp),
    limit: usize,
) -> DbResult<Vec<Key>> {
    let sql = format!(
        "SELECT partition, sort FROM records WHERE {PARTITION_NAME} = ?1
            AND due <= ?2 AND (expires IS NULL OR expires > ?3) ORDER BY due, partition, sort LIMIT ?4"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let values = params![kind, due.as_millisecond(), whole_second(now), to_sql_limit(limit)];
    let mut rows = statement.query(values)?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        keys.extend(keep_readable(kind, parse_key(kind, row))?);
    }
    Ok(keys)
}

fn parse_key(kind: &'static str, row: &Row<'_>) -> DbResult<Key> {
    let (partition, sort): (String, String) = (row.get("partition")?, row.get("sort")?);
    let owner = partition.split_once('#').map_or("", |(_, owner)| owner);
    let owner = (!owner.is_empty()).then(|| TenantId::parse(owner)).transpose();
    let owner = owner.map_err(|_| DbError::Argument("a damaged id"))?;
    Ok(Key::new(kind, owner.as_ref(), sort))
}

fn meets_condition(db: &Connection, write: &Write, now: Timestamp) -> DbResult<bool> {
    let (key, condition) = (write.key(), write.condition());
    if condition == Condition::Always {
        return Ok(true);
    }
    let sql = "SELECT version FROM records
        WHERE partition = ?1 AND sort = ?2 AND (expires IS NULL OR expires > ?3)";
    let values = params![key.partition.to_string(), key.sort, whole_second(now)];
    let stored: Option<i64> = query_one_value(db, sql, values)?;
    Ok(match condition {
        Condition::Always => true,
        Condition::Absent => stored.is_none(),
        Condition::Version(version) => stored == Some(version.0.cast_signed()),
    })
}

/// Makes writes if all of their conditions hold, and publishes what they tell.
pub(super) fn write_items(
    db: &Connection,
    writes: &[Write],
    kinds: &[Kind],
    now: Timestamp,
) -> DbResult<WriteResult> {
    let refused = find_refused(db, writes, now)?;
    if !refused.is_empty() {
        return Ok(Err(Refusal(refused)));
    }
    make_writes(db, writes, kinds, now).map(Ok)
}

/// Returns the places of the writes whose conditions do not hold.
pub(super) fn find_refused(db: &Connection, writes: &[Write], now: Timestamp) -> DbResult<Vec<usize>> {
    let keys: BTreeSet<&Key> = writes.iter().map(Write::key).collect();
    if writes.len() > WRITES_MAX || keys.len() < writes.len() {
        return Err(DbError::Argument("too many writes at once, or two to one key"));
    }
    let mut refused = Vec::new();
    for (place, write) in writes.iter().enumerate() {
        if !meets_condition(db, write, now)? {
            refused.push(place);
        }
    }
    Ok(refused)
}

/// Makes writes of which [`find_refused`] found none refused, and publishes what they tell. Returns the versions of the items that were
/// put.
pub(super) fn make_writes(
    db: &Connection,
    writes: &[Write],
    kinds: &[Kind],
    now: Timestamp,
) -> DbResult<Vec<Version>> {
    for write in writes {
        let Write::Put(item, _) = write else { continue };
        let name = item.key.partition.name;
        if let Some(kind) = kinds.iter().find(|kind| kind.is_published && kind.name == name) {
            publish_change(db, kind, item, now)?;
        }
    }
    apply_writes(db, writes)
}

/// Publishes what an item tells that is about to be stored. One that cannot be read tells nothing.
fn publish_change(db: &Connection, kind: &Kind, item: &NewItem, now: Timestamp) -> DbResult<()> {
    let old = keep_readable(kind.name, select_item(db, &item.key, now))?.flatten();
    let old = old.as_ref().map(|old| old.body.as_str());
    let events = kind.derive_published_events(old, &item.body, now);
    let events = events.map_err(|_| DbError::Argument("a record that its kind cannot read"));
    insert_published_events(db, &keep_readable(kind.name, events)?.unwrap_or_default())
}

/// Makes writes whatever is stored, and publishes nothing. Returns the versions of the items that were put.
pub(super) fn apply_writes(db: &Connection, writes: &[Write]) -> DbResult<Vec<Version>> {
    let mut versions = Vec::new();
    for write in writes {
        match write {
            Write::Put(item, _) => versions.push(put_item(db, item)?),
            Write::Delete(key, _) => {
                let sql = "DELETE FROM records WHERE partition = ?1 AND sort = ?2";
                execute_sql(db, sql, params![key.partition.to_string(), key.sort])?;
            }
            Write::Check(..) => {}
        }
    }
    Ok(versions)
}

fn put_item(db: &Connection, item: &NewItem) -> DbResult<Version> {
    let version = Version(EmbeddedSystem.random_u64().max(1));
    let sql = "INSERT OR REPLACE INTO records (partition, sort, version, body, expires, due)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        item.key.partition.to_string(),
        item.key.sort,
        version.0.cast_signed(),
        item.body,
        item.expires.map(round_up_to_second),
        item.due.map(Timestamp::as_millisecond)
    ];
    execute_sql(db, sql, values)?;
    Ok(version)
}

/// Deletes items that expired at `now` or before and are kept no longer. At most `most` of a kind are deleted, and of what leads to it.
pub(super) fn delete_expired_items(
    db: &Connection,
    kinds: &[Kind],
    now: Timestamp,
    most: usize,
) -> DbResult<usize> {
    let sql = format!(
        "DELETE FROM records WHERE (partition, sort) IN
            (SELECT partition, sort FROM records WHERE {PARTITION_NAME} = ?1 AND expires <= ?2 LIMIT ?3)"
    );
    let mut deleted = 0;
    for kind in kinds {
        let before = whole_second(add_duration(now, -kind.kept_expired));
        for name in std::iter::once(kind.name).chain(kind.indexes.iter().copied()) {
            deleted += execute_sql(db, &sql, params![name, before, to_sql_limit(most)])?;
        }
    }
    Ok(deleted)
}

/// Returns the time at which the next item of a kind is due after `now`.
fn select_next_due(db: &Connection, kind: &str, now: Timestamp) -> DbResult<Option<Timestamp>> {
    let sql = format!("SELECT min(due) FROM records WHERE {PARTITION_NAME} = ?1 AND due > ?2");
    let next: Option<Option<i64>> = query_one_value(db, &sql, params![kind, now.as_millisecond()])?;
    Ok(next.flatten().map(from_unix_millis))
}

impl Embedded {
    /// Returns the time at which the next item of a kind is due after `now`. So the serving process does not have to wait for
    /// `reconcile`.
    pub async fn find_next_due(&self, kind: &Kind, now: Timestamp) -> PortResult<Option<Timestamp>> {
        let name = kind.name;
        self.run_read("next_due", move |db| select_next_due(db, name, now))
            .await
    }
}

#[async_trait]
impl Table for Embedded {
    async fn get(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        let (key, now) = (key.clone(), self.current_time());
        self.run_lookup("record", move |db| select_item(db, &key, now))
            .await
    }

    async fn get_cached(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        self.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<StoredItem>> {
        let (keys, now) = (keys.to_vec(), self.current_time());
        self.run_read("records_by_key", move |db| select_items(db, &keys, now))
            .await
    }

    async fn write(&self, writes: &[Write]) -> PortResult<WriteResult> {
        let (writes, kinds, now) = (writes.to_vec(), self.known_kinds(), self.current_time());
        let is_configuration = Kind::touches_configuration(kinds, &writes);
        let changing = is_configuration.then(|| self.inner.configs.begin_config_change());
        self.run_write("write_records", move |db| {
            let _held_until_committed = &changing;
            write_items(db, &writes, kinds, now)
        })
        .await
    }

    async fn page(&self, query: &Query) -> PortResult<ItemPage> {
        let (query, now) = (query.clone(), self.current_time());
        self.run_read("records", move |db| select_page(db, &query, now))
            .await
    }

    async fn count(&self, query: &Query) -> PortResult<u64> {
        let (query, now) = (query.clone(), self.current_time());
        self.run_read("count_records", move |db| count_items(db, &query, now))
            .await
    }

    async fn list_due(&self, kind: &Kind, now: Timestamp, limit: usize) -> PortResult<Vec<Key>> {
        let (kind, times) = (kind.name, (now, self.current_time()));
        self.run_read("due_records", move |db| select_due(db, kind, times, limit))
            .await
    }
}

#[cfg(test)]
mod tests;
