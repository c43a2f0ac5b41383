use crate::Embedded;
use crate::fault::Fault;
use crate::payloads::file_of;
use crate::record::{execute, exists, limit};
use jiff::Timestamp;
use recado_domain::instance::InFlight;
use recado_domain::millis;
use recado_pipeline::ports::PortResult;
use recado_pipeline::upload::key_of;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// How many records of a kind one sweep deletes: other writers wait meanwhile.
const SWEEP_MAX: usize = 1000;

/// How long a dead letter's copy lies in its queue's dead-letter queue: as long as SQS keeps anything. The dead letter
/// itself stays.
const COPY_MS: i64 = 14 * 86_400_000;

/// What a sweep deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Applied events.
    pub events: usize,
    /// Delivery records.
    pub deliveries: usize,
    /// Notices of accounts.
    pub notices: usize,
    /// Clients' keys.
    pub keys: usize,
    /// Deduplication ids of the queues.
    pub deduplications: usize,
    /// Notes of sends whose outcome was never learnt.
    pub notes: usize,
    /// Copies of dead letters in the queues' dead-letter queues.
    pub copies: usize,
    /// Large bodies that no pending or dead event needs, and uploads that nothing names any more.
    pub payloads: usize,
}

impl Swept {
    /// Whether a kind was cut short, so that another sweep finds more.
    pub fn unfinished(&self) -> bool {
        let Self {
            events,
            deliveries,
            notices,
            keys,
            deduplications,
            notes,
            copies,
            payloads,
        } = *self;
        [
            events,
            deliveries,
            notices,
            keys,
            deduplications,
            notes,
            copies,
            payloads,
        ]
        .contains(&SWEEP_MAX)
    }
}

fn sweep(connection: &Connection, now: Timestamp) -> Result<Swept, Fault> {
    let before =
        |at: Timestamp, sql| execute(connection, sql, params![at.as_millisecond(), limit(SWEEP_MAX)]);
    let delete = |sql| before(now, sql);
    Ok(Swept {
        events: delete(
            "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE expires <= ?1 LIMIT ?2)",
        )?,
        deliveries: delete(
            "DELETE FROM deliveries WHERE key IN (SELECT key FROM deliveries WHERE expires <= ?1 LIMIT ?2)",
        )?,
        notices: delete(
            "DELETE FROM notices WHERE rowid IN (SELECT rowid FROM notices WHERE expires <= ?1 LIMIT ?2)",
        )?,
        keys: delete(
            "DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE expires <= ?1 LIMIT ?2)",
        )?,
        deduplications: delete(
            "DELETE FROM queue_dedup WHERE (queue, grp, dedup) IN
                (SELECT queue, grp, dedup FROM queue_dedup WHERE until <= ?1 LIMIT ?2)",
        )?,
        notes: before(
            millis::shift(now, -InFlight::KEPT_MS),
            "DELETE FROM in_flight WHERE rowid IN
                (SELECT rowid FROM in_flight WHERE json_extract(body, '$.claimed_at') <= ?1 LIMIT ?2)",
        )?,
        copies: before(
            millis::shift(now, -COPY_MS),
            "DELETE FROM queue_messages WHERE seq IN
                (SELECT seq FROM queue_messages WHERE letter IS NOT NULL AND dead_at <= ?1 LIMIT ?2)",
        )?,
        payloads: 0,
    })
}

/// The files of the uploads that messages will send: open ones, dead ones that can be redriven, and scheduled ones.
fn uploads_to_be_sent(connection: &Connection) -> Result<BTreeSet<String>, Fault> {
    const NAMED: &str =
        "SELECT json_extract(body, '$.instance'), json_extract(body, '$.content.source') FROM";
    const UPLOAD: &str = "json_extract(body, '$.content.source') LIKE 'upload:%'";
    let open = format!("{NAMED} messages WHERE open = 1 AND {UPLOAD}");
    let scheduled = format!("{NAMED} scheduled WHERE due IS NOT NULL AND {UPLOAD}");
    // A message's id, and its dead letter's, is its conversation and its ordinal.
    let dead = format!(
        "{NAMED} messages WHERE {UPLOAD} AND (conversation, ordinal) IN
            (SELECT substr(id, 1, instr(id, '.') - 1), CAST(substr(id, instr(id, '.') + 1) AS INTEGER)
                FROM dead_letters WHERE queue = 'outbound')"
    );
    let mut files = BTreeSet::new();
    for sql in [open, scheduled, dead] {
        let mut named = connection.prepare_cached(&sql)?;
        let mut rows = named.query([])?;
        while let Some(row) = rows.next()? {
            let (instance, source): (String, String) = (row.get(0)?, row.get(1)?);
            files.extend(key_of(&instance, &source).map(|key| file_of(&key)));
        }
    }
    Ok(files)
}

impl Embedded {
    /// Deletes what expired at `now` or before (to every reader it is gone already), and large bodies that nothing needs
    /// any more, at most 1000 of a kind. To be called now and then.
    pub async fn sweep(&self, now: Timestamp) -> PortResult<Swept> {
        let swept = self.write("sweep", move |c| sweep(c, now)).await?;
        let payloads = self.payloads();
        let of_event =
            |c: &Connection, name: &str| exists(c, "SELECT 1 FROM events WHERE payload = ?1", [name]);
        let removed = self
            .read("sweep", move |c| {
                let mut uploads = None;
                payloads.sweep(now, SWEEP_MAX, |name| {
                    if of_event(c, name)? {
                        return Ok(true);
                    }
                    let uploads = match &mut uploads {
                        Some(uploads) => uploads,
                        none => none.insert(uploads_to_be_sent(c)?),
                    };
                    Ok(uploads.contains(name))
                })
            })
            .await?;
        Ok(Swept {
            payloads: removed,
            ..swept
        })
    }
}

#[cfg(test)]
mod tests;
