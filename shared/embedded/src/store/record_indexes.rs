use crate::db_error::{DbError, DbResult};
use crate::sql_records::{count_from_sql, decode_json, keep_readable, query_all, to_sql_limit};
use crate::timed_tables::write_overdue_query;
use jiff::Timestamp;
use recado_domain::ids::{ConversationId, CorrelationId, EventId, IdError, InstanceId, Ordinal, TenantId};
use recado_ports::ports::{CorrelatedRecords, OverdueWork};
use recado_ports::records::configuration::BY_EXTERNAL;
use recado_ports::table::Partition;
use rusqlite::{Connection, Row, params};

pub(super) fn select_overdue(db: &Connection, now: Timestamp, most: usize) -> DbResult<Vec<OverdueWork>> {
    let mut statement = db.prepare_cached(&write_overdue_query())?;
    let mut rows = statement.query(params![now.as_millisecond(), to_sql_limit(most)])?;
    let mut work = Vec::new();
    while let Some(row) = rows.next()? {
        work.extend(keep_readable("the index of open work", parse_overdue_row(row))?);
    }
    Ok(work)
}

fn parse_overdue_row(row: &Row<'_>) -> DbResult<OverdueWork> {
    let (kind, what): (String, String) = (row.get(0)?, row.get(1)?);
    let damaged = |_: IdError| DbError::Argument("a damaged id");
    match kind.as_str() {
        "event" => Ok(OverdueWork::Event(EventId::parse(&what).map_err(damaged)?)),
        "outgoing" => Ok(OverdueWork::Outgoing {
            conversation: ConversationId::parse(&what).map_err(damaged)?,
            ordinal: Ordinal(count_from_sql(row.get(2)?)),
        }),
        "file" => Ok(OverdueWork::File {
            conversation: ConversationId::parse(&what).map_err(damaged)?,
            ordinal: Ordinal(count_from_sql(row.get(2)?)),
        }),
        "owed" => Ok(OverdueWork::Owed(ConversationId::parse(&what).map_err(damaged)?)),
        "probe" => Ok(OverdueWork::Probe(InstanceId::parse(&what).map_err(damaged)?)),
        _ => Ok(OverdueWork::Parked(decode_json(&what)?)),
    }
}

/// Returns the records of one correlation id.
pub(super) fn select_traced(
    db: &Connection,
    id: &CorrelationId,
    tenant: Option<&TenantId>,
    most: usize,
    now: Timestamp,
) -> DbResult<CorrelatedRecords> {
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
    let events = query_all(db, events, values)?;
    let most = most.saturating_sub(events.len());
    let messages = "SELECT body FROM messages WHERE correlation = ?1
        AND (?3 IS NULL OR CASE WHEN json_valid(body) THEN json_extract(body, '$.tenant') END = ?3) LIMIT ?2";
    let values = params![id.as_str(), to_sql_limit(most), tenant];
    let messages = query_all(db, messages, values)?;
    Ok(CorrelatedRecords { events, messages })
}
