use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{count_from_sql, decode_json, keep_readable, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::{
    BatchId, ConversationId, EventId, IdError, InstanceId, InvitationId, Ordinal, TenantId, ThreadId,
};
use recado_domain::scheduled::ScheduledId;
use recado_ports::ports::{OverdueIndex, OverdueWork, PortResult};
use rusqlite::{Connection, Row, params};

/// The query for overdue work. Each table gives its own longest overdue records, so that many of one kind do not hide
/// the others.
const SQL: &str = "
    SELECT * FROM (SELECT 'event' AS kind, id AS what, 0 AS ordinal, due FROM events
        WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'outgoing', conversation, ordinal, due FROM messages
        WHERE due <= ?1 AND open = 1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'file', conversation, ordinal, due FROM messages
        WHERE due <= ?1 AND open = 0 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'owed', id, 0, due FROM conversations WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'probe', id, 0, due FROM instance_states WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'parked', body, 0, due FROM parked WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'effects', thread, 0, due FROM journals WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'scheduled', id, 0, due FROM scheduled WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'batch', tenant || '#' || id, 0, due FROM batches WHERE due <= ?1 ORDER BY due LIMIT ?2)
    UNION ALL SELECT * FROM (SELECT 'email', tenant || '/' || id, 0, due FROM invitations WHERE due <= ?1 ORDER BY due LIMIT ?2)
    ORDER BY 4, 1, 2, 3";

fn select_overdue(connection: &Connection, now: Timestamp, most: usize) -> Result<Vec<OverdueWork>, DbError> {
    let mut statement = connection.prepare_cached(SQL)?;
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
        "scheduled" => Ok(OverdueWork::Scheduled(
            ScheduledId::parse(&what).map_err(damaged)?,
        )),
        "email" => {
            let (tenant, id) = what.split_once('/').unwrap_or_default();
            Ok(OverdueWork::Email {
                tenant: TenantId::parse(tenant).map_err(damaged)?,
                invitation: InvitationId::parse(id).map_err(damaged)?,
            })
        }
        "effects" => Ok(OverdueWork::Effects(ThreadId::parse(&what).map_err(damaged)?)),
        "batch" => {
            let (tenant, batch) = what.rsplit_once('#').unwrap_or_default();
            Ok(OverdueWork::Batch {
                tenant: TenantId::parse(tenant).map_err(damaged)?,
                batch: BatchId::parse(batch).map_err(damaged)?,
            })
        }
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
