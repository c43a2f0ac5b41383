use super::published_events::delete_old_events;
use super::table::{PARTITION_NAME, delete_expired_items};
use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::{execute_sql, row_exists, to_sql_limit};
use crate::stored_files::payload_file_name;
use jiff::Timestamp;
use recado_domain::instance::InFlightSend;
use recado_domain::millis;
use recado_domain::outgoing::upload_payload_key;
use recado_domain::scheduled::ScheduledMessage;
use recado_ports::ports::PortResult;
use recado_ports::records::dead_letters::BY_ID;
use recado_ports::table::{Kind, Record};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// The number of records of a kind that one sweep deletes at most, since other writers wait meanwhile. Items of the table count alike.
const SWEEP_MAX: usize = 1000;

/// The age from which a dead letter's copy is deleted from its dead-letter queue, in milliseconds: 14 days, the longest
/// time that SQS keeps a message. The dead letter itself stays.
const COPY_MS: i64 = 14 * 86_400_000;

/// The numbers of records that a sweep deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepCounts {
    /// Applied events.
    pub events: usize,
    /// Delivery records.
    pub deliveries: usize,
    /// Sums of what models used.
    pub usage: usize,
    /// Items of the table: records of its kinds, and what leads to them.
    pub records: usize,
    /// Published events.
    pub published_events: usize,
    /// Deduplication ids of the queues.
    pub deduplications: usize,
    /// In-flight notes of sends whose outcome was never learnt.
    pub notes: usize,
    /// Copies of dead letters in the queues' dead-letter queues.
    pub copies: usize,
    /// Large bodies that no pending or dead event needs, and uploads that nothing names any more.
    pub payloads: usize,
}

fn delete_expired_rows(
    db: &Connection,
    kinds: &[Kind],
    now: Timestamp,
    events_before: Timestamp,
) -> DbResult<SweepCounts> {
    let before = |at: Timestamp, sql: &str| {
        execute_sql(db, sql, params![at.as_millisecond(), to_sql_limit(SWEEP_MAX)])
    };
    // The rows of `table` whose `time` is over, found by the columns `key`.
    let delete = |table: &str, key: &str, time: &str| {
        let found = format!("SELECT {key} FROM {table} WHERE {time} <= ?1 LIMIT ?2");
        before(now, &format!("DELETE FROM {table} WHERE ({key}) IN ({found})"))
    };
    Ok(SweepCounts {
        events: delete("events", "id", "expires")?,
        deliveries: delete("deliveries", "key", "expires")?,
        usage: delete("usage", "tenant, day, agent, model, country", "expires")?,
        records: delete_expired_items(db, kinds, now, SWEEP_MAX)?,
        published_events: delete_old_events(db, events_before, SWEEP_MAX)?,
        deduplications: delete("queue_dedup", "queue, grp, dedup", "until")?,
        notes: before(
            millis::add_duration(now, -InFlightSend::RETENTION),
            "DELETE FROM in_flight WHERE rowid IN
                (SELECT rowid FROM in_flight WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.claimed_at') END <= ?1 LIMIT ?2)",
        )?,
        copies: before(
            millis::add_millis(now, -COPY_MS),
            "DELETE FROM queue_messages WHERE seq IN
                (SELECT seq FROM queue_messages WHERE dead_letter IS NOT NULL AND dead_at <= ?1 LIMIT ?2)",
        )?,
        payloads: 0,
    })
}

/// Returns the files of the uploads that messages will still send: open messages, dead ones that can be redriven, and
/// scheduled ones.
fn select_needed_uploads(db: &Connection) -> DbResult<BTreeSet<String>> {
    const NAMED: &str = "SELECT CASE WHEN json_valid(body) THEN json_extract(body, '$.instance') END, CASE WHEN json_valid(body) THEN json_extract(body, '$.content.source') END FROM";
    const UPLOAD: &str =
        "CASE WHEN json_valid(body) THEN json_extract(body, '$.content.source') END LIKE 'upload:%'";
    let open = format!("{NAMED} messages WHERE open = 1 AND {UPLOAD}");
    let kind = ScheduledMessage::KIND;
    let scheduled =
        format!("{NAMED} records WHERE {PARTITION_NAME} = '{kind}' AND due IS NOT NULL AND {UPLOAD}");
    // The id of a message, and that of its dead letter, consists of its conversation and its ordinal.
    let dead = format!(
        "{NAMED} messages WHERE {UPLOAD} AND (conversation, ordinal) IN
            (SELECT substr(sort, 1, instr(sort, '.') - 1), CAST(substr(sort, instr(sort, '.') + 1) AS INTEGER)
                FROM records WHERE partition = '{BY_ID}#')"
    );
    let mut files = BTreeSet::new();
    for sql in [open, scheduled, dead] {
        let mut named = db.prepare_cached(&sql)?;
        let mut rows = named.query([])?;
        while let Some(row) = rows.next()? {
            let (instance, source): (String, String) = (row.get(0)?, row.get(1)?);
            files.extend(upload_payload_key(&instance, &source).map(|key| payload_file_name(&key)));
        }
    }
    Ok(files)
}

impl Embedded {
    /// Deletes expired records and large bodies that nothing needs, at most 1000 of a kind. Records that expired at
    /// `now` or before count as expired; readers do not see them any more. To be called from time to time.
    pub async fn delete_expired(&self, now: Timestamp) -> PortResult<SweepCounts> {
        let (kinds, events_before) = (self.known_kinds(), self.events_kept_since(now));
        let swept = self
            .run_write("sweep", move |db| {
                delete_expired_rows(db, kinds, now, events_before)
            })
            .await?;
        self.wait_for_intake("sweep").await?;
        let payloads = self.payload_store();
        let of_event =
            |db: &Connection, name: &str| row_exists(db, "SELECT 1 FROM events WHERE payload = ?1", [name]);
        let removed = self
            .run_read("sweep", move |db| {
                let mut uploads = None;
                payloads.delete_unclaimed(now, SWEEP_MAX, |name| {
                    if of_event(db, name)? {
                        return Ok(true);
                    }
                    let uploads = match &mut uploads {
                        Some(uploads) => uploads,
                        none => none.insert(select_needed_uploads(db)?),
                    };
                    Ok(uploads.contains(name))
                })
            })
            .await?;
        Ok(SweepCounts {
            payloads: removed,
            ..swept
        })
    }
}

#[cfg(test)]
mod tests;
