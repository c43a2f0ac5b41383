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
mod groups;
mod intake;
mod joint_writes;
mod message_rows;
mod receipt;
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
pub(crate) use receipt::HandledMessage;
pub use receipt::Receipt;
pub use receive::DequeuedMessage;
pub(crate) use round_robin::RoundRobin;
pub use tenant_key::TenantKey;
pub(crate) use tenant_messages::delete_tenant_messages;

use crate::db_error::DbResult;
use crate::sql_records::execute_sql;
use groups::is_fifo;
use recado_domain::dead_letter::QueueName;
use rusqlite::{Connection, params};

/// Makes all messages in flight of `queue` receivable at `now`. Returns how many there were.
pub(crate) fn release_in_flight(db: &Connection, queue: QueueName, now: jiff::Timestamp) -> DbResult<usize> {
    let now = now.as_millisecond();
    let sql = if is_fifo(queue) {
        "UPDATE queue_messages SET visible_at = ?2 WHERE receives > 0 AND visible_at > ?2 AND seq IN
            (SELECT head FROM queue_groups WHERE queue = ?1 AND free_at > 0 AND free_at > ?2)"
    } else {
        "UPDATE queue_messages SET visible_at = ?2
            WHERE queue = ?1 AND grp IS NULL AND dead_at IS NULL AND receives > 0 AND visible_at > ?2"
    };
    let count = execute_sql(db, sql, params![queue.as_str(), now])?;
    let sql = "UPDATE queue_groups SET free_at = ?2 WHERE queue = ?1 AND free_at > 0 AND free_at > ?2";
    execute_sql(db, sql, params![queue.as_str(), now])?;
    Ok(count)
}

#[cfg(test)]
mod tests;
