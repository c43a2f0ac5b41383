use super::deliveries::ERASED_DELIVERY;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_all};
use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventRecord;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InFlightSend;
use recado_ports::ports::{ErasableRecords, PortResult};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The number of times that the log is truncated again while somebody reads, and the wait in between.
const TRUNCATIONS_MAX: usize = 50;
const TRUNCATION_WAIT: Duration = Duration::from_millis(100);

fn select_pending_events(
    connection: &Connection,
    groups: &BTreeSet<String>,
) -> Result<Vec<EventRecord>, DbError> {
    let sql = "SELECT body FROM events WHERE due IS NOT NULL AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.group') END = ?1";
    let mut found = Vec::new();
    for group in groups {
        found.extend(query_all::<EventRecord>(connection, sql, [group])?);
    }
    Ok(found)
}

/// Writes the whole database anew and truncates its log: what was deleted is in neither any more. The copy that SQLite
/// needs meanwhile lies in the data folder and not in memory.
fn rewrite_database(connection: &Connection) -> Result<(), DbError> {
    let sql = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    let file: String = connection.query_row(sql, [], |row| row.get(0))?;
    let folder = Path::new(&file).parent().and_then(Path::to_str);
    let folder = folder.ok_or(DbError::Argument("the data folder's name is unreadable"))?;
    connection.flush_prepared_statement_cache();
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    connection.pragma_update(None, "temp_store_directory", folder)?;
    let rewritten = connection.execute_batch("VACUUM");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    rewritten?;
    for _ in 0..TRUNCATIONS_MAX {
        let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !busy {
            return Ok(());
        }
        std::thread::sleep(TRUNCATION_WAIT);
    }
    Err(DbError::Commit("the log is being read by others".to_owned()))
}

impl ErasableRecords for Embedded {
    async fn list_pending_events(&self, groups: &BTreeSet<String>) -> PortResult<Vec<EventRecord>> {
        self.wait_for_intake("pending_events").await?;
        let groups = groups.clone();
        self.run_read("pending_events", move |c| select_pending_events(c, &groups))
            .await
    }

    async fn erase_deliveries(&self, keys: &[DeliveryKey], expires: Timestamp) -> PortResult<()> {
        let keys = keys.to_vec();
        let work = move |c: &Connection| {
            let sql = "INSERT OR REPLACE INTO deliveries (key, expires, body) VALUES (?1, ?2, ?3)";
            let erase = |key: &DeliveryKey| {
                let values = params![key.as_str(), expires.as_millisecond(), ERASED_DELIVERY];
                execute_sql(c, sql, values).map(drop)
            };
            keys.iter().try_for_each(erase)
        };
        self.run_write("erase_deliveries", work).await
    }

    async fn replace_in_flight(&self, instance: &InstanceId, erased: &InFlightSend) -> PortResult<()> {
        let (instance, erased) = (instance.clone(), erased.clone());
        let sql = "UPDATE in_flight SET body = ?4 WHERE instance = ?1 AND message = ?2 AND nonce = ?3";
        self.run_write("replace_in_flight", move |c| {
            let (message, nonce) = (erased.message.as_str(), erased.nonce.as_str());
            let values = params![instance.as_str(), message, nonce, encode_json(&erased)?];
            execute_sql(c, sql, values).map(drop)
        })
        .await
    }

    async fn overwrite_deleted(&self) -> PortResult<()> {
        const WHAT: &str = "overwrite_deleted";
        if let Some(log) = self.intake_log() {
            let rewritten = log.rewrite_file(rewrite_database).await;
            rewritten.map_err(|fault| fault.into_port_error(WHAT))?;
        }
        self.run_alone(WHAT, rewrite_database).await
    }
}
