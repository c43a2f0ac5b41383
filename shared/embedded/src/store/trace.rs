use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{query_all, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_ports::ports::{CorrelatedRecords, CorrelationIndex, PortResult};
use recado_ports::records::configuration::BY_EXTERNAL;
use recado_ports::table::Partition;
use rusqlite::{Connection, params};

fn select_traced(
    connection: &Connection,
    id: &CorrelationId,
    tenant: Option<&TenantId>,
    most: usize,
    now: Timestamp,
) -> Result<CorrelatedRecords, DbError> {
    let tenant = tenant.map(TenantId::as_str);
    let events =
        "SELECT body FROM events WHERE correlation = ?1 AND (expires IS NULL OR expires > ?2) AND (?4 IS NULL OR EXISTS (
            SELECT 1 FROM records WHERE partition = ?5 AND sort = CASE WHEN json_valid(events.body)
                THEN json_extract(events.body, '$.job.provider') || '#' || json_extract(events.body, '$.job.external') END
            AND CASE WHEN json_valid(body) THEN json_extract(body, '$.tenant') END = ?4)) LIMIT ?3";
    let names = Partition::new(BY_EXTERNAL, None).to_string();
    let values = params![
        id.as_str(),
        now.as_millisecond(),
        to_sql_limit(most),
        tenant,
        names
    ];
    let events = query_all(connection, events, values)?;
    let most = most.saturating_sub(events.len());
    let messages = "SELECT body FROM messages WHERE correlation = ?1
        AND (?3 IS NULL OR CASE WHEN json_valid(body) THEN json_extract(body, '$.tenant') END = ?3) LIMIT ?2";
    let values = params![id.as_str(), to_sql_limit(most), tenant];
    let messages = query_all(connection, messages, values)?;
    Ok(CorrelatedRecords { events, messages })
}

impl CorrelationIndex for Embedded {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        self.wait_for_intake("traced").await?;
        let (id, tenant, now) = (correlation.clone(), tenant.cloned(), self.current_time());
        self.run_read("traced", move |c| {
            select_traced(c, &id, tenant.as_ref(), limit, now)
        })
        .await
    }
}
