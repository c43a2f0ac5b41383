use super::groups::is_fifo;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::intake_log::{IntakeLog, last_moved};
use crate::sql_records::{count_from_sql, query_one_value};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis;
use recado_ports::ports::{PortResult, QueueDepth, QueueDepths};
use rusqlite::{Connection, params};

/// The numbers of messages in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EmbeddedQueueDepth {
    /// Messages ready to be received. In a FIFO queue they include those that wait for another message of their group.
    pub visible: u64,
    /// Messages that were received and not deleted, or postponed.
    pub in_flight: u64,
    /// Messages that are delayed or scheduled.
    pub delayed: u64,
    /// Messages in the dead-letter queue, copies of dead letters included.
    pub dead: u64,
    /// Time at which the oldest message that is not dead was sent.
    pub oldest: Option<Timestamp>,
}

fn select_depth(db: &Connection, queue: QueueName, now: Timestamp) -> DbResult<EmbeddedQueueDepth> {
    let messages = if is_fifo(queue) {
        "queue_groups AS g CROSS JOIN queue_messages AS m ON m.group_key = g.group_key WHERE g.queue = ?1 AND m.dead_at IS NULL"
    } else {
        "queue_messages AS m WHERE m.queue = ?1 AND m.dead_at IS NULL AND m.grp IS NULL"
    };
    let live = format!(
        "SELECT
            COUNT(*) FILTER (WHERE m.visible_at <= ?2),
            COUNT(*) FILTER (WHERE m.visible_at > ?2 AND m.receives > 0),
            COUNT(*) FILTER (WHERE m.visible_at > ?2 AND m.receives = 0),
            MIN(m.sent_at)
        FROM {messages}"
    );
    let mut depth =
        db.prepare_cached(&live)?
            .query_row(params![queue.as_str(), now.as_millisecond()], |row| {
                Ok(EmbeddedQueueDepth {
                    visible: count_from_sql(row.get(0)?),
                    in_flight: count_from_sql(row.get(1)?),
                    delayed: count_from_sql(row.get(2)?),
                    dead: 0,
                    oldest: row.get::<_, Option<i64>>(3)?.map(millis::from_unix_millis),
                })
            })?;
    let dead = "SELECT COUNT(*) FROM queue_messages WHERE queue = ?1 AND dead_at IS NOT NULL";
    depth.dead = count_from_sql(query_one_value(db, dead, [queue.as_str()])?.unwrap_or_default());
    Ok(depth)
}

impl Embedded {
    /// Returns the numbers of messages in `queue`.
    pub async fn queue_depth(&self, queue: QueueName) -> PortResult<EmbeddedQueueDepth> {
        let now = self.current_time();
        let appended = match queue {
            QueueName::Inbound => self.intake_log().map(IntakeLog::last_appended),
            QueueName::Turns | QueueName::Outbound => None,
        };
        let work = move |db: &Connection| {
            let mut depth = select_depth(db, queue, now)?;
            if let Some(appended) = appended {
                depth.visible += count_from_sql(appended - last_moved(db)?);
            }
            Ok(depth)
        };
        self.run_read("depth", work).await
    }
}

#[async_trait]
impl QueueDepths for Embedded {
    async fn read_queue_depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let depth = self.queue_depth(queue).await?;
        Ok(QueueDepth {
            waiting: depth.visible,
            in_flight: depth.in_flight,
            delayed: depth.delayed,
            oldest: depth.oldest,
        })
    }

    async fn read_oldest_intake(&self) -> PortResult<Option<Timestamp>> {
        match self.intake_log() {
            Some(log) => log
                .find_oldest_waiting()
                .await
                .map_err(|fault| fault.into_port_error("oldest_intake")),
            None => Ok(None),
        }
    }

    async fn prove_intake_write(&self) -> PortResult<()> {
        let Some(log) = self.intake_log() else {
            return Ok(());
        };
        let proven = log.prove_write(self.current_time()).await;
        proven.map_err(|fault| fault.into_port_error("prove_intake_write"))
    }
}
