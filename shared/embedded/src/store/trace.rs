use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{query_all, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::CorrelationId;
use recado_pipeline::ports::{CorrelatedRecords, CorrelationIndex, PortResult};
use rusqlite::{Connection, params};

fn select_traced(
    connection: &Connection,
    id: &CorrelationId,
    most: usize,
    now: Timestamp,
) -> Result<CorrelatedRecords, DbError> {
    let events =
        "SELECT body FROM events WHERE correlation = ?1 AND (expires IS NULL OR expires > ?2) LIMIT ?3";
    let values = params![id.as_str(), now.as_millisecond(), to_sql_limit(most)];
    let events = query_all(connection, events, values)?;
    let most = most.saturating_sub(events.len());
    let messages = "SELECT body FROM messages WHERE correlation = ?1 LIMIT ?2";
    let messages = query_all(connection, messages, params![id.as_str(), to_sql_limit(most)])?;
    Ok(CorrelatedRecords { events, messages })
}

impl CorrelationIndex for Embedded {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        let (id, now) = (correlation.clone(), self.current_time());
        self.run_read("traced", move |c| select_traced(c, &id, limit, now))
            .await
    }
}
