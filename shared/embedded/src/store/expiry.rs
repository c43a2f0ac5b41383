use crate::Embedded;
use crate::fault::Fault;
use crate::record::{execute, exists, limit};
use jiff::Timestamp;
use recado_domain::instance::InFlight;
use recado_domain::millis;
use recado_pipeline::ports::PortResult;
use rusqlite::{Connection, params};

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
    /// Large bodies that no pending or dead event needs.
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

impl Embedded {
    /// Deletes what expired at `now` or before (to every reader it is gone already), and large bodies that nothing needs
    /// any more, at most 1000 of a kind. To be called now and then.
    pub async fn sweep(&self, now: Timestamp) -> PortResult<Swept> {
        let swept = self.write("sweep", move |c| sweep(c, now)).await?;
        let payloads = self.payloads();
        let needed =
            |c: &Connection, name: &str| exists(c, "SELECT 1 FROM events WHERE payload = ?1", [name]);
        let removed = self
            .read("sweep", move |c| {
                payloads.sweep(now, SWEEP_MAX, |name| needed(c, name))
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
