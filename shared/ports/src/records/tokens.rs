//! The tokens of the API. The store holds their hashes, never their texts.

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortResult};
use crate::table::{
    Key, Lead, Partition, Query, Record, SaveOutcome, Table, Versioned, find_with_version, list_records,
    remove_record, save_record,
};
use recado_domain::access::{Token, TokenHash};
use recado_domain::ids::{TenantId, TokenName};

/// The partition in which a token is found by its hash.
const BY_HASH: &str = "tokens.by-hash";
/// The partition in which all tokens are listed, sorted by tenant and name.
const ALL: &str = "tokens.all";

impl Record for Token {
    const KIND: &'static str = "tokens";
    const LEADS: &'static [&'static str] = &[BY_HASH, ALL];

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        self.name.to_string()
    }

    fn list_leads(&self) -> Vec<Lead> {
        let tenant = self.tenant.as_ref().map_or("", TenantId::as_str);
        vec![
            // A request is let in by one read.
            Lead::with_copy(Key::new(BY_HASH, None, self.hash.as_str())),
            Lead::new(Key::new(ALL, None, format!("{tenant}#{}", self.name))),
        ]
    }
}

/// Stores a new token. `false`, and nothing is written: its tenant (or, for a token without a tenant, the installation) has a token with
/// this name.
pub async fn put_token(table: &dyn Table, token: &Token) -> PortResult<bool> {
    let saved = save_record(table, &mut Versioned::new(token.clone())).await?;
    Ok(saved == SaveOutcome::Saved)
}

/// Returns the token with this hash, also an expired one; `None` if there is none. The answer may be as old as
/// [`crate::settings::Settings::config_ttl`], and takes one read at most.
pub async fn find_token(table: &dyn Table, hash: &TokenHash) -> PortResult<Option<Token>> {
    let found = table.get_cached(&Key::new(BY_HASH, None, hash.as_str())).await?;
    found.map(|item| Token::from_body(&item.body)).transpose()
}

/// Lists the tokens of `tenant` by their names, or all tokens (`None`) by tenant and name.
pub async fn list_tokens(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> PortResult<Page<Token>> {
    let is_name = |text: &str| TokenName::parse(text).is_ok();
    if tenant.is_some() {
        check_cursor(Token::KIND, page, is_name)?;
        let own = Partition::new(Token::KIND, tenant);
        return list_records(table, Query::new(own, page.limit), page, |_| true).await;
    }
    check_cursor(Token::KIND, page, |text| {
        text.split_once('#').is_some_and(|(tenant, name)| {
            (tenant.is_empty() || TenantId::parse(tenant).is_ok()) && is_name(name)
        })
    })?;
    let all = Partition::new(ALL, None);
    list_records(table, Query::new(all, page.limit), page, |_| true).await
}

/// Deletes the token with this name of `tenant`, or of the installation (`None`). `false`: there is no such token.
pub async fn delete_token(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    name: &TokenName,
) -> PortResult<bool> {
    match find_with_version::<Token>(table, tenant, name.as_str()).await? {
        Some(token) => remove_record(table, &token).await,
        None => Ok(false),
    }
}
