//! Invitations by month.

use crate::Embedded;
use crate::sql_records::{make_page, query_found, to_sql_limit};
use recado_domain::ids::TenantId;
use recado_domain::invitations::{Invitation, LogMonth};
use recado_ports::ports::{Page, PageRequest, PortResult};
use rusqlite::{Connection, params};

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
