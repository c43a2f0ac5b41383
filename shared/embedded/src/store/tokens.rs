use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, make_page, query_found, query_one, row_exists, to_sql_limit,
};
use recado_domain::access::{Token, TokenHash};
use recado_domain::ids::{TenantId, TokenName};
use recado_ports::ports::{Page, PageRequest, PortResult, Tokens};
use rusqlite::{Connection, params};

/// Returns the value of the column `tenant`. No tenant's id is empty.
fn tenant_column(tenant: Option<&TenantId>) -> &str {
    tenant.map_or("", TenantId::as_str)
}

pub(super) fn insert_token(connection: &Connection, token: &Token) -> Result<bool, DbError> {
    let (tenant, name) = (tenant_column(token.tenant.as_ref()), token.name.as_str());
    let same_name = "SELECT 1 FROM tokens WHERE tenant = ?1 AND name = ?2";
    if row_exists(connection, same_name, [tenant, name])? {
        return Ok(false);
    }
    let sql = "INSERT INTO tokens (tenant, name, hash, body) VALUES (?1, ?2, ?3, ?4)";
    let values = params![tenant, name, token.hash.as_str(), encode_json(token)?];
    execute_sql(connection, sql, values)?;
    Ok(true)
}

/// Returns a page of tokens. Its cursor is the tenant and the name of the last token, with a line feed in between, which
/// neither can contain.
fn select_tokens(
    connection: &Connection,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> Result<Page<Token>, DbError> {
    let (after_tenant, after_name) = match &page.cursor {
        Some(cursor) => cursor.split_once('\n').ok_or(DbError::Cursor)?,
        None => ("", ""),
    };
    let most = to_sql_limit(page.limit.saturating_add(1));
    let items = if let Some(tenant) = tenant {
        // A cursor of another list leads to the first token of this one.
        let after = if after_tenant == tenant.as_str() {
            after_name
        } else {
            ""
        };
        let sql = "SELECT body FROM tokens WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT ?3";
        query_found(connection, sql, params![tenant.as_str(), after, most])?
    } else {
        let sql = "SELECT body FROM tokens WHERE (tenant, name) > (?1, ?2) ORDER BY tenant, name LIMIT ?3";
        query_found(connection, sql, params![after_tenant, after_name, most])?
    };
    let cursor = |last: &Token| format!("{}\n{}", tenant_column(last.tenant.as_ref()), last.name);
    Ok(make_page(items, page.limit, cursor))
}

impl Tokens for Embedded {
    async fn put_token(&self, token: &Token) -> PortResult<bool> {
        let token = token.clone();
        self.run_write("put_token", move |c| insert_token(c, &token))
            .await
    }

    async fn find_token(&self, hash: &TokenHash) -> PortResult<Option<Token>> {
        let hash = hash.as_str().to_owned();
        self.run_lookup("token", move |c| {
            query_one(c, "SELECT body FROM tokens WHERE hash = ?1", [&hash])
        })
        .await
    }

    async fn list_tokens(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Token>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        self.run_read("tokens", move |c| select_tokens(c, tenant.as_ref(), &page))
            .await
    }

    async fn delete_token(&self, tenant: Option<&TenantId>, name: &TokenName) -> PortResult<bool> {
        let (tenant, name) = (tenant_column(tenant).to_owned(), name.clone());
        self.run_write("delete_token", move |c| {
            let sql = "DELETE FROM tokens WHERE tenant = ?1 AND name = ?2";
            Ok(execute_sql(c, sql, [tenant.as_str(), name.as_str()])? > 0)
        })
        .await
    }
}
