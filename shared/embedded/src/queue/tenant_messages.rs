use super::groups::{GroupKey, update_group_row};
use crate::db_error::DbResult;
use crate::sql_records::{execute_sql, to_sql_limit};
use recado_domain::config::Instance;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::TenantId;
use rusqlite::{Connection, params};

/// The messages of a queue with this tenant key, and the copies of dead letters of this tenant. An unreadable body has no
/// tenant.
const SELECT: &str = "SELECT seq, group_key FROM queue_messages WHERE queue = ?1 AND (owner = ?2
        OR CASE WHEN json_valid(dead_letter) THEN json_extract(dead_letter, '$.tenant') END = ?3
        OR CASE WHEN json_valid(body) THEN
            coalesce(json_extract(body, '$.provider') || '/' || json_extract(body, '$.external'),
                json_extract(body, '$.tenant')) END = ?2)
    LIMIT ?4";

/// Deletes the tenant's messages of all queues and their dead-letter queues, at most `limit` of each tenant key. Returns
/// how many.
pub(crate) fn delete_tenant_messages(
    db: &Connection,
    tenant: &TenantId,
    instances: &[Instance],
    limit: usize,
) -> DbResult<usize> {
    let mut deleted = 0;
    for queue in QueueName::ALL {
        for owner in list_owners(queue, tenant, instances) {
            let mut statement = db.prepare_cached(SELECT)?;
            let values = params![queue.as_str(), owner, tenant.as_str(), to_sql_limit(limit)];
            let found = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
            let found: Vec<(i64, Option<GroupKey>)> = found.collect::<Result<_, _>>()?;
            for (seq, group) in &found {
                execute_sql(db, "DELETE FROM queue_messages WHERE seq = ?1", [seq])?;
                update_group_row(db, queue, *group)?;
            }
            deleted += found.len();
        }
    }
    Ok(deleted)
}

/// Returns the tenant keys that the tenant's messages have on `queue`, as [`super::tenant_key::TenantKey`] makes them.
fn list_owners(queue: QueueName, tenant: &TenantId, instances: &[Instance]) -> Vec<String> {
    match queue {
        QueueName::Inbound => instances
            .iter()
            .filter_map(|instance| {
                Some(format!(
                    "{}/{}",
                    instance.provider,
                    instance.resolve_external_id()?
                ))
            })
            .collect(),
        QueueName::Turns => vec![tenant.as_str().to_owned()],
        QueueName::Outbound => instances.iter().map(|instance| instance.id.to_string()).collect(),
    }
}
