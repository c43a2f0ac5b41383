//! The queues, with the behaviour of SQS, so that code that works here also works there.
//!
//! `inbound` and `outbound` are FIFO: messages of one group come in order, and while one of them is in flight (or was
//! postponed) no other of that group is handed out. (Stricter than SQS, where one batch may hold several of a group.) A
//! message with the deduplication id of another that was sent less than five minutes before, in the same group, is
//! dropped, even if that other message is gone. `turns` is a standard queue: delays, no order.
//!
//! A received message is hidden for the visibility time and then comes back; its receipt is valid until then (on
//! `turns` until the message is received again). A message that was received [`VisibilityTimeouts::RECEIVES_MAX`] times
//! goes to its queue's dead-letter queue instead of being handed out again.
//!
//! Receiving is fair: [tenants](TenantKey) take turns, and each one's messages keep their order, so that no tenant
//! waits for the backlog of another. (SQS is fair like this on a standard queue, by the group that a job carries;
//! its FIFO queues make no such promise.)
//!
//! [`VisibilityTimeouts::RECEIVES_MAX`]: recado_ports::settings::VisibilityTimeouts::RECEIVES_MAX

mod dead_messages;
mod depth;
mod fair_share;
mod intake;
mod joint_writes;
mod receive;
mod redrive;
mod refused_writes;
mod round_robin;
mod send;
mod tenant_key;
mod tenant_messages;

pub use dead_messages::DeadMessage;
pub use depth::EmbeddedQueueDepth;
pub use fair_share::FairShare;
pub(crate) use intake::IncomingEvent;
pub(crate) use joint_writes::HandledMessage;
pub use receive::{DequeuedMessage, Receipt};
pub(crate) use round_robin::RoundRobin;
pub use tenant_key::TenantKey;
pub(crate) use tenant_messages::delete_tenant_messages;

use crate::db_error::DbError;
use crate::sql_records::execute_sql;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::hash_parts;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, params};

/// The number of a FIFO group: the first 8 bytes of a hash of queue and name. Two groups with one number would only wait for
/// each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct GroupKey(i64);

impl GroupKey {
    fn from_group_name(queue: QueueName, group: &str) -> Self {
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
fn update_group_row(
    connection: &Connection,
    queue: QueueName,
    group: Option<GroupKey>,
) -> Result<(), DbError> {
    let Some(group) = group else { return Ok(()) };
    // Only the oldest message is ever handed out, so no other can be in flight.
    let sql = "SELECT seq, owner, CASE WHEN receives > 0 THEN visible_at ELSE 0 END
        FROM queue_messages WHERE group_key = ?1 AND dead_at IS NULL ORDER BY seq LIMIT 1";
    let oldest: Option<(i64, String, i64)> = connection
        .prepare_cached(sql)?
        .query_row([group], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    if let Some((head, owner, free_at)) = oldest {
        let sql = "INSERT INTO queue_groups (group_key, queue, head, owner, free_at) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT DO UPDATE SET head = excluded.head, owner = excluded.owner, free_at = excluded.free_at";
        execute_sql(
            connection,
            sql,
            params![group, queue.as_str(), head, owner, free_at],
        )?;
    } else {
        execute_sql(
            connection,
            "DELETE FROM queue_groups WHERE group_key = ?1",
            [group],
        )?;
    }
    Ok(())
}

/// Makes all messages in flight of `queue` receivable at `now`. Returns how many there were.
pub(crate) fn release_in_flight(
    connection: &Connection,
    queue: QueueName,
    now: jiff::Timestamp,
) -> Result<usize, DbError> {
    let now = now.as_millisecond();
    let sql = if is_fifo(queue) {
        "UPDATE queue_messages SET visible_at = ?2 WHERE receives > 0 AND visible_at > ?2 AND seq IN
            (SELECT head FROM queue_groups WHERE queue = ?1 AND free_at > 0 AND free_at > ?2)"
    } else {
        "UPDATE queue_messages SET visible_at = ?2
            WHERE queue = ?1 AND grp IS NULL AND dead_at IS NULL AND receives > 0 AND visible_at > ?2"
    };
    let count = execute_sql(connection, sql, params![queue.as_str(), now])?;
    let sql = "UPDATE queue_groups SET free_at = ?2 WHERE queue = ?1 AND free_at > 0 AND free_at > ?2";
    execute_sql(connection, sql, params![queue.as_str(), now])?;
    Ok(count)
}

/// Returns whether the queue keeps the order of its groups.
fn is_fifo(queue: QueueName) -> bool {
    queue != QueueName::Turns
}

#[cfg(test)]
mod tests;
