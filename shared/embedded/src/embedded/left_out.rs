//! What a webhook brought and nobody keeps: the content of events that an access list refused, or that came for a tenant that is gone.
//!
//! It goes by the log of new events and the queue as any other event, and is deleted and overwritten there when it is left out. What
//! is left are older pages in the logs that SQLite writes ahead. So these are truncated a little later, all together.

use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use recado_ports::ports::PortResult;
use rusqlite::Connection;
use std::sync::atomic::Ordering;
use std::time::Duration;

const WHAT: &str = "overwrite_left_out";

/// Longest time that a log waits for readers to be done with it. Acknowledgements wait meanwhile.
const TRUNCATION_WAIT: Duration = Duration::from_millis(100);

impl Embedded {
    /// Notes that the content of an event was left out.
    pub(crate) fn note_left_out(&self) {
        self.inner.holds_left_out.store(true, Ordering::SeqCst);
    }

    /// Truncates the logs of SQLite if they may hold what was left out. While somebody reads them, they stay for the next call.
    pub async fn overwrite_left_out(&self) -> PortResult<()> {
        if !self.inner.holds_left_out.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let truncated = self.truncate_logs().await;
        if truncated.is_err() {
            self.note_left_out();
        }
        truncated
    }

    async fn truncate_logs(&self) -> PortResult<()> {
        if let Some(log) = self.intake_log() {
            let truncated = log.rewrite_file(truncate_log).await;
            truncated.map_err(|fault| fault.into_port_error(WHAT))?;
        }
        self.run_alone(WHAT, truncate_log).await
    }
}

/// Copies the whole log into its file and truncates it.
fn truncate_log(db: &Connection) -> DbResult<()> {
    let usual: i64 = db.query_row("PRAGMA busy_timeout", [], |row| row.get(0))?;
    db.busy_timeout(TRUNCATION_WAIT)?;
    let busy: rusqlite::Result<bool> = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    db.busy_timeout(Duration::from_millis(usual.unsigned_abs()))?;
    if busy? {
        return Err(DbError::Commit("the log is being read by others".to_owned()));
    }
    Ok(())
}
