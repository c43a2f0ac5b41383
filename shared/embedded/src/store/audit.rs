use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{NewestFirstQuery, encode_json, execute_sql};
use jiff::Timestamp;
use recado_domain::audit::{AuditAction, AuditEntry};
use recado_domain::ids::{TenantId, TokenName};
use recado_ports::ports::{Audit, AuditFilter, Page, PageRequest, PortResult};
use rusqlite::{Connection, params};

pub(super) fn insert_entries(
    c: &Connection,
    entries: &[AuditEntry],
    expires: Timestamp,
) -> Result<(), DbError> {
    let sql = "INSERT OR IGNORE INTO audit (id, at, tenant, actor, action, expires, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    for entry in entries {
        let tenant = entry.tenant.as_ref().map_or("", TenantId::as_str);
        let (id, at, expires) = (
            entry.id.as_str(),
            entry.at.as_millisecond(),
            expires.as_millisecond(),
        );
        let (actor, action) = (entry.actor.as_str(), entry.action.as_str());
        execute_sql(
            c,
            sql,
            params![id, at, tenant, actor, action, expires, encode_json(entry)?],
        )?;
    }
    Ok(())
}

impl Audit for Embedded {
    async fn append_audit(&self, entries: &[AuditEntry], expires: Timestamp) -> PortResult<()> {
        let entries = entries.to_vec();
        self.run_write("append_audit", move |c| insert_entries(c, &entries, expires))
            .await
    }

    async fn list_audit(&self, filter: &AuditFilter, page: &PageRequest) -> PortResult<Page<AuditEntry>> {
        let (filter, page, now) = (filter.clone(), page.clone(), self.current_time());
        self.run_read("audit", move |c| {
            NewestFirstQuery::for_table("audit", "at", &page)?
                .where_equal("tenant", filter.tenant.as_ref().map(TenantId::as_str))
                .where_equal("actor", filter.actor.as_ref().map(TokenName::as_str))
                .where_equal("action", filter.action.map(AuditAction::as_str))
                .where_between(filter.since, filter.until)
                .where_after("expires", now)
                .fetch_page(c)
        })
        .await
    }
}
