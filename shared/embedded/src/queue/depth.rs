use crate::Embedded;
use crate::fault::Fault;
use crate::record::count;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis;
use recado_pipeline::ports::PortResult;
use rusqlite::{Connection, params};

/// How full a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueDepth {
    /// Ready to be received (in a FIFO queue also those that wait for another of their group).
    pub visible: u64,
    /// Received and not deleted, or put off.
    pub in_flight: u64,
    /// Delayed or scheduled.
    pub delayed: u64,
    /// In its dead-letter queue, copies of dead letters included.
    pub dead: u64,
    /// When the oldest that is not dead was sent.
    pub oldest: Option<Timestamp>,
}

fn depth(connection: &Connection, queue: QueueName, now: Timestamp) -> Result<QueueDepth, Fault> {
    let live = "SELECT
            COUNT(*) FILTER (WHERE visible_at <= ?2),
            COUNT(*) FILTER (WHERE visible_at > ?2 AND receives > 0),
            COUNT(*) FILTER (WHERE visible_at > ?2 AND receives = 0),
            MIN(sent_at)
        FROM queue_messages WHERE queue = ?1 AND dead_at IS NULL";
    let mut depth =
        connection
            .prepare_cached(live)?
            .query_row(params![queue.as_str(), now.as_millisecond()], |row| {
                Ok(QueueDepth {
                    visible: count(row.get(0)?),
                    in_flight: count(row.get(1)?),
                    delayed: count(row.get(2)?),
                    dead: 0,
                    oldest: row.get::<_, Option<i64>>(3)?.map(millis::instant),
                })
            })?;
    let dead = "SELECT COUNT(*) FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL";
    depth.dead = count(
        connection
            .prepare_cached(dead)?
            .query_row([queue.as_str()], |row| row.get(0))?,
    );
    Ok(depth)
}

impl Embedded {
    /// How full `queue` is.
    pub async fn depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let now = self.now();
        self.read("depth", move |c| depth(c, queue, now)).await
    }
}
