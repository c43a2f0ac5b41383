//! Invitations by month, and the times since which pages about occasions must be made anew.

use super::published_events::insert_published_events;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{execute_sql, make_page, query_found, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::{OccasionId, TenantId};
use recado_domain::invitations::{Invitation, LogMonth};
use recado_domain::millis::from_unix_millis;
use recado_domain::published_event::derive_page_events;
use recado_ports::ports::{Page, PageRequest, PortResult};
use rusqlite::{Connection, OptionalExtension, params};

pub(super) async fn list_invitations_of_month(
    store: &Embedded,
    tenant: &TenantId,
    month: LogMonth,
    page: &PageRequest,
) -> PortResult<Page<Invitation>> {
    let (tenant, limit, now) = (tenant.clone(), page.limit, store.current_time());
    let after = page.cursor.clone().unwrap_or_default();
    let (first, behind) = month.id_range();
    let sql =
        "SELECT body FROM invitations WHERE tenant = ?1 AND id >= ?2 AND id < ?3 AND id > ?4 AND expires > ?5
        ORDER BY id LIMIT ?6";
    let work = move |c: &Connection| {
        let (now, most) = (now.as_millisecond(), to_sql_limit(limit + 1));
        let values = params![tenant.as_str(), first.as_str(), behind.as_str(), after, now, most];
        let found = query_found(c, sql, values)?;
        Ok(make_page(found, limit, |one: &Invitation| one.id.to_string()))
    };
    store.run_read("list_invitations_of_month", work).await
}

pub(super) async fn mark_pages_changed(
    store: &Embedded,
    tenant: &TenantId,
    occasion: &OccasionId,
    (at, keep_until): (Timestamp, Timestamp),
) -> PortResult<()> {
    let (tenant, occasion) = (tenant.clone(), occasion.clone());
    let now = store.current_time();
    let work = move |c: &Connection| {
        let known = select_page_change(c, &tenant, &occasion)?;
        insert_published_events(c, &derive_page_events((&tenant, &occasion), known, at, now))?;
        upsert_page_change(c, &tenant, &occasion, (at, keep_until))
    };
    store.run_write("mark_pages_changed", work).await
}

/// Writes the time since which pages must be made anew, unless a later one is stored.
pub(super) fn upsert_page_change(
    connection: &Connection,
    tenant: &TenantId,
    occasion: &OccasionId,
    (at, keep_until): (Timestamp, Timestamp),
) -> Result<(), DbError> {
    let sql = "INSERT INTO page_changes (tenant, occasion, at, expires) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (tenant, occasion) DO UPDATE SET at = max(at, excluded.at), expires = max(expires, excluded.expires)";
    let (at, expires) = (at.as_millisecond(), keep_until.as_millisecond());
    execute_sql(
        connection,
        sql,
        params![tenant.as_str(), occasion.as_str(), at, expires],
    )
    .map(drop)
}

/// Returns the time since which pages must be made anew, as it is stored.
fn select_page_change(
    connection: &Connection,
    tenant: &TenantId,
    occasion: &OccasionId,
) -> Result<Option<Timestamp>, DbError> {
    let sql = "SELECT at FROM page_changes WHERE tenant = ?1 AND occasion = ?2";
    let found: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![tenant.as_str(), occasion.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.map(from_unix_millis))
}

pub(super) async fn list_page_changes(
    store: &Embedded,
    tenant: &TenantId,
    occasions: &[OccasionId],
) -> PortResult<Vec<(OccasionId, Timestamp)>> {
    let (tenant, occasions, now) = (tenant.clone(), occasions.to_vec(), store.current_time());
    let sql = "SELECT at FROM page_changes WHERE tenant = ?1 AND occasion = ?2 AND expires > ?3";
    let work = move |c: &Connection| {
        let mut statement = c.prepare_cached(sql)?;
        let mut changes = Vec::new();
        for occasion in &occasions {
            let values = params![tenant.as_str(), occasion.as_str(), now.as_millisecond()];
            let at: Option<i64> = statement.query_row(values, |row| row.get(0)).optional()?;
            changes.extend(at.map(|at| (occasion.clone(), from_unix_millis(at))));
        }
        Ok::<_, DbError>(changes)
    };
    store.run_read("list_page_changes", work).await
}
