//! The tokens of the API. Each is stored twice: under its hash, where one read finds it, and under its tenant and name,
//! where it is listed. Both are written and deleted in one transaction.

use super::DynamoStore;
use super::expression::Expression;
use super::item;
use super::keys::{self, TableKey};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use crate::cache::CacheLookup;
use recado_domain::access::{Token, TokenHash};
use recado_domain::ids::{TenantId, TokenName};
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, System, Tokens};

fn put_action(what: &'static str, key: TableKey, token: &Token) -> PortResult<TransactionAction> {
    let item = key.into_item(item::encode_record(what, token)?);
    Ok(TransactionAction::Put(item, Some(Expression::record_absent())))
}

fn delete_action(key: TableKey, token: &Token) -> TransactionAction {
    let same = Expression::new("#hash = :hash").with_text(":hash", token.hash.as_str());
    TransactionAction::Delete(key, Some(same))
}

impl<A: System> DynamoStore<A> {
    async fn find_named_token(
        &self,
        what: &'static str,
        tenant: Option<&TenantId>,
        name: &TokenName,
    ) -> PortResult<Option<Token>> {
        let found = self
            .table
            .get_record(what, TableKey::for_named_token(tenant, name))
            .await?;
        found.map(|item| item::decode_record(what, &item)).transpose()
    }
}

impl<A: System> Tokens for DynamoStore<A> {
    async fn put_token(&self, token: &Token) -> PortResult<bool> {
        const WHAT: &str = "keeping a token";
        let tenant = token.tenant.as_ref();
        let actions = vec![
            put_action(WHAT, TableKey::for_named_token(tenant, &token.name), token)?,
            put_action(WHAT, TableKey::for_token(&token.hash), token)?,
        ];
        self.tokens.remove_key(&token.hash);
        if self.table.run_transaction(WHAT, actions).await?.is_ok() {
            return Ok(true);
        }
        // A transaction that the client library repeated is refused because of its own effect.
        let kept = self.find_named_token(WHAT, tenant, &token.name).await?;
        Ok(kept.as_ref() == Some(token))
    }

    async fn find_token(&self, hash: &TokenHash) -> PortResult<Option<Token>> {
        const WHAT: &str = "looking a token up";
        if let CacheLookup::Hit(known) = self.tokens.get(hash, self.table.system.now()) {
            return Ok(known);
        }
        let found = self.table.get_record(WHAT, TableKey::for_token(hash)).await?;
        let token: Option<Token> = found.map(|item| item::decode_record(WHAT, &item)).transpose()?;
        self.tokens
            .insert_entry(hash.clone(), token.clone(), self.table.system.now());
        Ok(token)
    }

    async fn list_tokens(&self, tenant: Option<&TenantId>, page: &PageRequest) -> PortResult<Page<Token>> {
        const WHAT: &str = "listing tokens";
        let prefix = tenant.map_or_else(String::new, keys::tenant_token_prefix);
        let after = page.cursor.as_deref().unwrap_or(&prefix);
        if !after.starts_with(&prefix) {
            return Err(PortError::invalid(WHAT, "not a cursor"));
        }
        // The first text after the cursor, and a text after every name.
        let (from, upto) = (format!("{after}\u{0}"), format!("{prefix}\u{10FFFF}"));
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk BETWEEN :from AND :upto")
                .with_text(":pk", keys::TOKENS)
                .with_text(":from", from)
                .with_text(":upto", upto),
            filter: None,
            reverse: false,
            limit: Some(page.limit.max(1).saturating_add(1)),
        };
        let mut found = self.table.query_records(WHAT, &query).await?;
        let more = found.len() > page.limit.max(1);
        found.truncate(page.limit.max(1));
        let last = found.last().and_then(|item| item::get_string(item, "sk"));
        let next_cursor = last.filter(|_| more).map(str::to_owned);
        Ok(Page {
            items: item::decode_readable(WHAT, &found),
            next_cursor,
        })
    }

    async fn delete_token(&self, tenant: Option<&TenantId>, name: &TokenName) -> PortResult<bool> {
        const WHAT: &str = "deleting a token";
        let Some(token) = self.find_named_token(WHAT, tenant, name).await? else {
            return Ok(false);
        };
        let actions = vec![
            delete_action(TableKey::for_named_token(tenant, name), &token),
            delete_action(TableKey::for_token(&token.hash), &token),
        ];
        let deleted = self.table.run_transaction(WHAT, actions).await?;
        self.tokens.remove_key(&token.hash);
        if deleted.is_ok() {
            return Ok(true);
        }
        // A transaction that the client library repeated is refused because of its own effect.
        let left = self.find_named_token(WHAT, tenant, name).await?;
        Ok(left.is_none_or(|left| left.hash != token.hash))
    }
}
