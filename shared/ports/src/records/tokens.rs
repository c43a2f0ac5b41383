//! The tokens of the API. The store holds their hashes, never their texts.

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortResult};
use crate::table::{
    IndexEntry, Key, Kind, Partition, Query, Record, SaveOutcome, StoredItem, Table, Versioned, list_records,
    parse_item, read_all_items, remove_record, save_record, write_always,
};
use crate::unreadable_record::keep_readable;
use recado_domain::access::{Token, TokenHash};
use recado_domain::ids::{TenantId, TokenName};

/// The partition in which a token is found by its hash.
const BY_HASH: &str = "tokens.by-hash";
/// The partition in which all tokens are listed, sorted by tenant and name.
const ALL: &str = "tokens.all";

/// The number of copies that are read with one query.
const COPIES_AT_ONCE: usize = 1000;

impl Record for Token {
    const KIND: &'static str = "tokens";
    const INDEXES: &'static [&'static str] = &[BY_HASH, ALL];

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        self.name.to_string()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let tenant = self.tenant.as_ref().map_or("", TenantId::as_str);
        vec![
            // A request is let in by one read.
            IndexEntry::with_copy(Key::new(BY_HASH, None, self.hash.as_str())),
            IndexEntry::new(Key::new(ALL, None, format!("{tenant}#{}", self.name))),
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

/// Lists the names of a tenant's tokens, at most `limit`, also of those whose records cannot be read.
pub async fn list_token_names(
    table: &dyn Table,
    tenant: &TenantId,
    limit: usize,
) -> PortResult<Vec<TokenName>> {
    let own = Query::new(Partition::new(Token::KIND, Some(tenant)), limit);
    let found = table.page(&own).await?.items.into_iter();
    Ok(found
        .filter_map(|item| TokenName::parse(&item.key.sort).ok())
        .collect())
}

/// Deletes the token with this name of `tenant`, or of the installation (`None`). `false`: there is no such token. Where its record
/// cannot be read, its copy is sought among those of all tokens.
pub async fn delete_token(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    name: &TokenName,
) -> PortResult<bool> {
    let own = Key::new(Token::KIND, tenant, name.as_str());
    let Some(found) = table.get(&own).await? else {
        return Ok(false);
    };
    if let Some(token) = keep_readable(parse_item::<Token>(&found)) {
        return remove_record(table, &token).await;
    }
    let all = Query::new(Partition::new(BY_HASH, None), COPIES_AT_ONCE);
    let copies = read_all_items(table, all).await?;
    let is_own = |copy: &&StoredItem| Token::from_body(&copy.body).is_ok_and(|token| token.key() == own);
    let body = copies.iter().find(is_own).map_or("", |copy| copy.body.as_str());
    let writes = Kind::of::<Token>().delete_writes(own, body);
    write_always(table, Token::KIND, &writes).await?;
    Ok(true)
}
