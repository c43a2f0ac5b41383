use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, make_page, query_found, query_one, to_sql_limit};
use recado_domain::ids::TenantId;
use recado_domain::opt_out::{OptOut, OptOutChange, RecipientKey};
use recado_ports::ports::{OptOuts, Page, PageRequest, PortResult};
use rusqlite::{Connection, params};

fn select_opt_out(
    connection: &Connection,
    tenant: &TenantId,
    recipient: &RecipientKey,
) -> Result<Option<OptOut>, DbError> {
    let sql = "SELECT body FROM opt_outs WHERE tenant = ?1 AND recipient = ?2";
    query_one(connection, sql, [tenant.as_str(), recipient.as_str()])
}

pub(super) fn write_opt_out(connection: &Connection, preference: &OptOut) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO opt_outs (tenant, recipient, body) VALUES (?1, ?2, ?3)";
    let values = params![
        preference.tenant.as_str(),
        preference.recipient.as_str(),
        encode_json(preference)?
    ];
    execute_sql(connection, sql, values).map(drop)
}

impl OptOuts for Embedded {
    async fn apply_opt_out(&self, preference: &OptOut) -> PortResult<bool> {
        let preference = preference.clone();
        self.run_write("apply_opt_out", move |c| {
            let known = select_opt_out(c, &preference.tenant, &preference.recipient)?;
            match preference.clone().resolve_with_known(known.as_ref()) {
                OptOutChange::Nothing => Ok(false),
                OptOutChange::Store(changed) => write_opt_out(c, &changed).map(|()| true),
            }
        })
        .await
    }

    async fn find_opt_outs(&self, tenant: &TenantId, recipients: &[RecipientKey]) -> PortResult<Vec<OptOut>> {
        let (tenant, recipients) = (tenant.clone(), recipients.to_vec());
        self.run_read("opt_outs_of", move |c| {
            let mut found = Vec::new();
            for recipient in &recipients {
                found.extend(select_opt_out(c, &tenant, recipient)?);
            }
            Ok(found)
        })
        .await
    }

    async fn list_opt_outs(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<OptOut>> {
        let (tenant, page) = (tenant.clone(), page.clone());
        self.run_read("opt_outs", move |c| {
            let after = page.cursor.as_deref().unwrap_or_default();
            let most = to_sql_limit(page.limit.saturating_add(1));
            let sql =
                "SELECT body FROM opt_outs WHERE tenant = ?1 AND recipient > ?2 ORDER BY recipient LIMIT ?3";
            let items = query_found(c, sql, params![tenant.as_str(), after, most])?;
            Ok(make_page(items, page.limit, |last: &OptOut| {
                last.recipient.to_string()
            }))
        })
        .await
    }

    async fn forget_opt_out_address(&self, tenant: &TenantId, recipient: &RecipientKey) -> PortResult<()> {
        let (tenant, recipient) = (tenant.clone(), recipient.clone());
        self.run_write("forget_opt_out_address", move |c| {
            match select_opt_out(c, &tenant, &recipient)? {
                Some(known) if known.address.is_some() => write_opt_out(c, &known.without_address()),
                _ => Ok(()),
            }
        })
        .await
    }
}
