use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{count_from_sql, decode_json, keep_readable, to_sql_limit};
use crate::timed_tables::write_overdue_query;
use jiff::Timestamp;
use recado_domain::ids::{ConversationId, EventId, IdError, InstanceId, Ordinal};
use recado_ports::ports::{OverdueIndex, OverdueWork, PortResult};
use rusqlite::{Connection, Row, params};

fn select_overdue(connection: &Connection, now: Timestamp, most: usize) -> Result<Vec<OverdueWork>, DbError> {
    let mut statement = connection.prepare_cached(&write_overdue_query())?;
    let mut rows = statement.query(params![now.as_millisecond(), to_sql_limit(most)])?;
    let mut work = Vec::new();
    while let Some(row) = rows.next()? {
        work.extend(keep_readable("the index of open work", parse_overdue_row(row))?);
    }
    Ok(work)
}

fn parse_overdue_row(row: &Row<'_>) -> Result<OverdueWork, DbError> {
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

impl OverdueIndex for Embedded {
    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.run_read("overdue", move |c| select_overdue(c, now, limit))
            .await
    }
}
