use super::table::apply_writes;
use crate::db_error::DbResult;
use crate::queue::delete_tenant_messages;
use crate::sql_records::{execute_sql, query_all, read_lossy_text, to_sql_limit};
use recado_domain::config::Instance;
use recado_domain::event::EventRecord;
use recado_domain::ids::TenantId;
use recado_ports::table::{Key, Kind, Partition, RemovedContent, Write};
use rusqlite::{Connection, params};

/// What is found by the tenant's id, as `?1`.
const BY_TENANT: [&str; 2] = [
    "DELETE FROM usage WHERE (tenant, day, agent, model, country) IN
        (SELECT tenant, day, agent, model, country FROM usage WHERE tenant = ?1 LIMIT ?2)",
    "DELETE FROM published_events WHERE seq IN
        (SELECT seq FROM published_events WHERE tenant = ?1 LIMIT ?2)",
];

/// What is found by the id of an instance, as `?1`.
const BY_INSTANCE: [&str; 3] = [
    "DELETE FROM instance_states WHERE rowid IN (SELECT rowid FROM instance_states WHERE id = ?1 LIMIT ?2)",
    "DELETE FROM parked WHERE rowid IN (SELECT rowid FROM parked WHERE instance = ?1 LIMIT ?2)",
    "DELETE FROM in_flight WHERE rowid IN (SELECT rowid FROM in_flight WHERE instance = ?1 LIMIT ?2)",
];

/// What leads to records of a kind, in the partition `?1`, once none of these is left in `?2`: one that could not be read left its index entries.
const LEFT_INDEX_ENTRIES: &str =
    "DELETE FROM records WHERE (partition, sort) IN (SELECT partition, sort FROM records
    WHERE partition = ?1 AND NOT EXISTS (SELECT 1 FROM records WHERE partition = ?2) LIMIT ?3)";

/// The events of the instance that a provider, `?1`, calls `?2`.
const EVENTS: &str = "DELETE FROM events WHERE rowid IN (SELECT rowid FROM events
    WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.job.provider') END = ?1 AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.external') END = ?2 LIMIT ?3)";

const PENDING_EVENTS: &str = "SELECT body FROM events WHERE due IS NOT NULL
    AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.provider') END = ?1 AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.external') END = ?2 LIMIT ?3";

pub(super) fn select_pending_events_of(
    db: &Connection,
    instances: &[Instance],
    limit: usize,
) -> DbResult<Vec<EventRecord>> {
    let mut found = Vec::new();
    for instance in instances {
        let Some(external) = instance.resolve_external_id() else {
            continue;
        };
        let left = to_sql_limit(limit.saturating_sub(found.len()));
        let values = params![instance.provider.as_str(), external.as_str(), left];
        found.extend(query_all::<EventRecord>(db, PENDING_EVENTS, values)?);
    }
    Ok(found)
}

pub(super) fn delete_records(
    db: &Connection,
    tenant: &TenantId,
    instances: &[Instance],
    kinds: &[Kind],
    most: usize,
) -> DbResult<usize> {
    let limit = to_sql_limit(most);
    let mut deleted = delete_tenant_messages(db, tenant, instances, most)?;
    for sql in BY_TENANT {
        deleted += execute_sql(db, sql, params![tenant.as_str(), limit])?;
    }
    for kind in kinds.iter().filter(|kind| !kind.goes_last) {
        deleted += remove_items(db, tenant, kind, most)?;
    }
    for instance in instances {
        for sql in BY_INSTANCE {
            deleted += execute_sql(db, sql, params![instance.id.as_str(), limit])?;
        }
        let provider = instance.provider.as_str();
        if let Some(external) = instance.resolve_external_id() {
            deleted += execute_sql(db, EVENTS, params![provider, external.as_str(), limit])?;
        }
    }
    Ok(deleted)
}

/// Takes the records of a kind away that a tenant has in the table. Returns how many items were changed or deleted.
fn remove_items(db: &Connection, tenant: &TenantId, kind: &Kind, most: usize) -> DbResult<usize> {
    let own = Partition::new(kind.name, Some(tenant));
    let removed = select_removed(db, &own, kind, most)?;
    for writes in &removed {
        apply_writes(db, writes)?;
    }
    let mut count = removed.len();
    for name in kind.indexes {
        let index = Partition::new(name, Some(tenant)).to_string();
        count += execute_sql(
            db,
            LEFT_INDEX_ENTRIES,
            params![index, own.to_string(), to_sql_limit(most)],
        )?;
    }
    Ok(count)
}

/// Returns the writes that take the records of a partition away, those of each record together. What stays as it is does not count: it
/// hides nothing behind it.
fn select_removed(db: &Connection, own: &Partition, kind: &Kind, most: usize) -> DbResult<Vec<Vec<Write>>> {
    let sql = "SELECT sort, body FROM records WHERE partition = ?1 ORDER BY sort";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([own.to_string()])?;
    let mut removed = Vec::new();
    while removed.len() < most
        && let Some(row) = rows.next()?
    {
        let key = Key {
            partition: own.clone(),
            sort: row.get(0)?,
        };
        let body = read_lossy_text(row, 1)?.unwrap_or_default();
        match kind.remove_content(&body) {
            RemovedContent::Nothing => removed.push(kind.delete_writes(key, &body)),
            RemovedContent::Other(writes) => removed.push(writes),
            RemovedContent::Same => {}
        }
    }
    Ok(removed)
}
