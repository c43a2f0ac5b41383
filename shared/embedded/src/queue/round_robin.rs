//! Fair queueing: a receive takes the oldest message of each tenant in turn (round robin), so that one tenant's backlog
//! costs the others one message per round. The tenants follow each other by name, beginning after the tenant that was
//! served last, so that no tenant is passed over.
//!
//! The next tenant and its oldest message are each found by one step into an index. So a receive reads no more rows
//! than it hands out, and one more for each tenant that may have nothing.

use super::groups::{GroupKey, is_fifo};
use super::tenant_key::TenantKey;
use crate::db_error::DbResult;
use crate::sql_records::{query_first_row, read_lossy_text, run_sql_statement};
use crate::threads::lock_unpoisoned;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use rusqlite::{Connection, params};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The tenant that was served last on each queue. Not stored on the disk: it does not matter where a round begins after
/// a restart.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin(Mutex<BTreeMap<QueueName, TenantKey>>);

impl RoundRobin {
    pub(super) fn last_served(&self, queue: QueueName) -> Option<TenantKey> {
        lock_unpoisoned(&self.0).get(&queue).cloned()
    }

    pub(super) fn set_last_served(&self, queue: QueueName, owner: TenantKey) {
        lock_unpoisoned(&self.0).insert(queue, owner);
    }
}

/// A message that is about to be handed out.
pub(super) struct ReceivableMessage {
    pub(super) seq: i64,
    pub(super) group: Option<String>,
    pub(super) group_key: Option<GroupKey>,
    pub(super) receives: u32,
    pub(super) sent_at: i64,
    /// `None`: the body was the job of an event that is applied by now.
    pub(super) body: Option<String>,
    /// The body is the record of an event, whose job is meant.
    pub(super) is_event_record: bool,
}

/// Marks the groups as free whose waiting time is over.
pub(super) fn release_due_groups(db: &Connection, queue: QueueName, now: Timestamp) -> DbResult<()> {
    let sql = "UPDATE queue_groups SET free_at = 0 WHERE queue = ?1 AND free_at > 0 AND free_at <= ?2";
    run_sql_statement(db, sql, params![queue.as_str(), now.as_millisecond()])
}

/// Returns the oldest message of `owner` that may be handed out.
pub(super) fn oldest_receivable(
    db: &Connection,
    queue: QueueName,
    owner: &TenantKey,
    now: Timestamp,
) -> DbResult<Option<ReceivableMessage>> {
    let sql = if is_fifo(queue) {
        "SELECT m.seq, m.grp, m.group_key, m.receives, m.sent_at, CASE WHEN m.event IS NULL THEN m.body ELSE
                (SELECT e.body FROM events AS e WHERE e.seq = m.event AND e.expires IS NULL) END, m.event IS NOT NULL
            FROM queue_groups AS g INDEXED BY queue_groups_ready CROSS JOIN queue_messages AS m ON m.seq = g.head
            WHERE g.queue = ?1 AND g.owner = ?2 AND g.free_at = 0 AND g.free_at <= ?3 ORDER BY g.head LIMIT 1"
    } else {
        "SELECT seq, grp, group_key, receives, sent_at, body, 0 FROM queue_messages INDEXED BY queue_messages_of_owner
            WHERE queue = ?1 AND owner = ?2 AND visible_at <= ?3 AND dead_at IS NULL AND grp IS NULL
            ORDER BY visible_at, seq LIMIT 1"
    };
    let values = params![queue.as_str(), owner.as_str(), now.as_millisecond()];
    let row = |row: &rusqlite::Row<'_>| {
        Ok(ReceivableMessage {
            seq: row.get(0)?,
            group: row.get(1)?,
            group_key: row.get(2)?,
            receives: row.get(3)?,
            sent_at: row.get(4)?,
            body: read_lossy_text(row, 5)?,
            is_event_record: row.get(6)?,
        })
    };
    query_first_row(db, sql, values, row)
}

/// Returns the first tenant by name behind `after` that has messages, and whether one of them may be received now.
fn next_tenant(
    db: &Connection,
    queue: QueueName,
    after: Option<&TenantKey>,
    now: Timestamp,
) -> DbResult<Option<(TenantKey, bool)>> {
    let behind = if after.is_some() { ">" } else { ">=" };
    let sql = if is_fifo(queue) {
        format!(
            "SELECT owner, free_at <= ?3 FROM queue_groups INDEXED BY queue_groups_ready
                WHERE queue = ?1 AND owner {behind} ?2 AND free_at = 0 ORDER BY owner LIMIT 1"
        )
    } else {
        format!(
            "SELECT owner, visible_at <= ?3 FROM queue_messages INDEXED BY queue_messages_of_owner
                WHERE queue = ?1 AND owner {behind} ?2 AND dead_at IS NULL AND grp IS NULL
                ORDER BY owner, visible_at LIMIT 1"
        )
    };
    let after = after.map_or("", TenantKey::as_str);
    let values = params![queue.as_str(), after, now.as_millisecond()];
    let row = |row: &rusqlite::Row<'_>| Ok((TenantKey::from_column(row.get(0)?), row.get(1)?));
    query_first_row(db, &sql, values, row)
}

/// Selects at most `most` tenants that have a receivable message and that `admits` accepts: first those behind `last`
/// by name, then the others.
pub(super) fn select_round(
    db: &Connection,
    queue: QueueName,
    last: Option<&TenantKey>,
    most: usize,
    now: Timestamp,
    admits: impl Fn(&TenantKey) -> bool,
) -> DbResult<Vec<TenantKey>> {
    let mut owners = Vec::new();
    let (mut at, mut again) = (last.cloned(), false);
    while owners.len() < most {
        let next = next_tenant(db, queue, at.as_ref(), now)?;
        match next {
            Some((owner, _)) if again && Some(&owner) > last => break,
            Some((owner, ready)) => {
                if ready && admits(&owner) {
                    owners.push(owner.clone());
                }
                at = Some(owner);
            }
            None if again || last.is_none() => break,
            None => (at, again) = (None, true),
        }
    }
    Ok(owners)
}
