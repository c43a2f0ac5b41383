//! The FIFO groups of the queues that keep an order, with one row for each group that has messages.

use crate::db_error::DbResult;
use crate::sql_records::{execute_sql, query_first_row};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::hash_parts;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, params};

/// The number of a FIFO group: the first 8 bytes of a hash of queue and name. Two groups with one number would only wait for
/// each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct GroupKey(i64);

impl GroupKey {
    /// Makes the number of the group `group` of `queue`.
    pub(super) fn from_group_name(queue: QueueName, group: &str) -> Self {
        let digits = hash_parts(&[queue.as_str(), group], 8);
        Self(u64::from_str_radix(&digits, 16).unwrap_or_default().cast_signed())
    }
}

impl ToSql for GroupKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for GroupKey {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Self)
    }
}

/// Updates the row of a FIFO group after any change of its messages.
pub(super) fn update_group_row(db: &Connection, queue: QueueName, group: Option<GroupKey>) -> DbResult<()> {
    let Some(group) = group else { return Ok(()) };
    // Only the oldest message is ever handed out, so no other can be in flight.
    let sql = "SELECT seq, owner, CASE WHEN receives > 0 THEN visible_at ELSE 0 END
        FROM queue_messages WHERE group_key = ?1 AND dead_at IS NULL ORDER BY seq LIMIT 1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let oldest: Option<(i64, String, i64)> = query_first_row(db, sql, [group], read)?;
    if let Some((head, owner, free_at)) = oldest {
        let sql = "INSERT INTO queue_groups (group_key, queue, head, owner, free_at) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET head = excluded.head, owner = excluded.owner, free_at = excluded.free_at";
        execute_sql(db, sql, params![group, queue.as_str(), head, owner, free_at])?;
    } else {
        execute_sql(db, "DELETE FROM queue_groups WHERE group_key = ?1", [group])?;
    }
    Ok(())
}

/// Returns whether the queue keeps the order of its groups.
pub(super) fn is_fifo(queue: QueueName) -> bool {
    queue != QueueName::Turns
}
