//! Push connections: the web sockets of pages and programs that are told that there is more to read.
//!
//! A ticket opens one connection, within seconds, and carries the tenant of the token that asked for it. A connection is told of news
//! for some minutes; then its client opens another one, for which its token is checked again. A note says until when anybody of a
//! tenant listens. `publisher` reads it beside the head of the log, so that nothing is asked for where nobody does.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::record_query::RecordQuery;
use super::transaction::TransactionAction;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::TenantId;
use recado_domain::millis::add_duration;
use recado_domain::secret::Secret;
use recado_ports::ports::{PortError, PortResult, PushTicket, System};
use std::collections::BTreeSet;

/// Time for which a ticket opens a connection. 30 seconds.
const TICKET_KEPT: SignedDuration = SignedDuration::from_secs(30);

/// Time for which a connection is told of news. 15 minutes, as long as a stream of events on one machine.
const CONNECTION_KEPT: SignedDuration = SignedDuration::from_mins(15);

/// Time for which a connection may still be opening. Until then it counts as gone where it is told of news. 1 minute.
const OPENING_TIME: SignedDuration = SignedDuration::from_mins(1);

/// The number of connections of a tenant that are told of news at once. Others ask by themselves.
const CONNECTIONS_MAX: usize = 1_000;

/// The number of connections that are deleted side by side.
const DELETIONS_AT_ONCE: usize = 16;

/// The number of digits of a ticket's text: 256 random bits.
const TICKET_DIGITS: usize = 64;

/// The longest id of a connection, in bytes. API Gateway's have 16 letters.
const CONNECTION_ID_MAX: usize = 128;

/// An open WebSocket that is told of news.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushConnection {
    /// The tenant whose news it is told of. `None`: of all tenants.
    pub tenant: Option<TenantId>,
    /// The id that API Gateway gave it.
    pub id: String,
    /// Time at which it was opened, in whole seconds.
    pub opened_at: Timestamp,
}

impl PushConnection {
    /// Returns whether the connection is open for certain at `now`, if its client did not leave.
    fn is_surely_open(&self, now: Timestamp) -> bool {
        now > add_duration(self.opened_at, OPENING_TIME)
    }
}

fn parse_tenant(what: &'static str, item: &Item) -> PortResult<Option<TenantId>> {
    let text = item::get_string(item, "tenant");
    text.map(|text| TenantId::parse(text).map_err(|error| PortError::invalid(what, error)))
        .transpose()
}

fn expiring_item(expires: Timestamp, tenant: Option<&TenantId>) -> Item {
    let mut item = Item::from([("ttl".to_owned(), number_attribute(expires.as_second()))]);
    if let Some(tenant) = tenant {
        item.insert("tenant".to_owned(), text_attribute(tenant.as_str()));
    }
    item
}

/// Adds the installation, whose connections are told of all tenants, to tenants.
pub(super) fn add_installation<'a>(
    tenants: impl Iterator<Item = &'a Option<TenantId>>,
) -> BTreeSet<Option<TenantId>> {
    tenants.cloned().chain([None]).collect()
}

/// Returns those of `asked` whose notes are among `found` and say that somebody listens.
pub(super) fn find_listening(
    asked: BTreeSet<Option<TenantId>>,
    found: &[Item],
    now: Timestamp,
) -> BTreeSet<Option<TenantId>> {
    let is_listening = |tenant: &Option<TenantId>| {
        let key = TableKey::for_push_listening(tenant.as_ref());
        let note = found
            .iter()
            .find(|item| TableKey::from_item(item).as_ref() == Some(&key));
        note.is_some_and(|note| item::unexpired(note.clone(), now).is_some())
    };
    asked.into_iter().filter(is_listening).collect()
}

impl<A: System> DynamoStore<A> {
    /// Makes a ticket for one connection that is told of a tenant's news, or (`None`) of all tenants'.
    pub async fn create_push_ticket(&self, tenant: Option<&TenantId>) -> PortResult<PushTicket> {
        let text = format!("{}{}", self.random_nonce(), self.random_nonce());
        let expires_at = add_duration(self.table.system.now(), TICKET_KEPT);
        let item = TableKey::for_push_ticket(&text).into_item(expiring_item(expires_at, tenant));
        let what = "keeping a ticket of a push connection";
        self.table.put_always(what, item).await?;
        Ok(PushTicket {
            text: Secret::from_generated(text),
            expires_at,
            connection_time: CONNECTION_KEPT,
        })
    }

    /// Uses a ticket up, and notes the connection that it opens. Returns `false` if there is no such ticket, or no longer.
    pub async fn open_push_connection(&self, ticket: &str, connection: &str) -> PortResult<bool> {
        const WHAT: &str = "opening a push connection";
        let is_ticket =
            ticket.len() == TICKET_DIGITS && ticket.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_ticket || connection.is_empty() || connection.len() > CONNECTION_ID_MAX {
            return Ok(false);
        }
        let ticket = TableKey::for_push_ticket(ticket);
        let now = self.table.system.now();
        let found = self.table.get_record(WHAT, ticket.clone()).await?;
        let Some(found) = found.and_then(|found| item::unexpired(found, now)) else {
            return Ok(false);
        };
        let tenant = parse_tenant(WHAT, &found)?;
        let tenant = tenant.as_ref();
        let expires = add_duration(now, CONNECTION_KEPT);
        let note = expiring_item(expires, tenant);
        let mut opened = note.clone();
        opened.insert("opened".to_owned(), number_attribute(now.as_second()));
        let put = |key: TableKey, item: Item| TransactionAction::put(key.into_item(item));
        let actions = vec![
            TransactionAction::Delete(ticket, Some(Expression::new("attribute_exists(#pk)"))),
            put(TableKey::for_push_connection(tenant, connection), opened),
            put(TableKey::for_push_connection_owner(connection), note.clone()),
            put(TableKey::for_push_listening(tenant), note),
        ];
        Ok(self.table.run_transaction(WHAT, actions).await?.is_ok())
    }

    /// Deletes what is known of a connection that was closed.
    pub async fn close_push_connection(&self, connection: &str) -> PortResult<()> {
        const WHAT: &str = "closing a push connection";
        let owner = TableKey::for_push_connection_owner(connection);
        let Some(found) = self.table.get_record(WHAT, owner.clone()).await? else {
            return Ok(());
        };
        let tenant = parse_tenant(WHAT, &found)?;
        let key = TableKey::for_push_connection(tenant.as_ref(), connection);
        self.delete_any(WHAT, key).await?;
        self.delete_any(WHAT, owner).await
    }

    /// Lists the connections that are told of a tenant's news, or (`None`) of all tenants': at most 1,000.
    pub async fn list_push_connections(&self, tenant: Option<&TenantId>) -> PortResult<Vec<PushConnection>> {
        const WHAT: &str = "listing push connections";
        let pk = keys::push_connections_pk(tenant);
        let query = RecordQuery::for_partition(pk, Some(keys::PUSH_CONNECTIONS), Some(CONNECTIONS_MAX));
        let now = self.table.system.now();
        let found = self.table.query_records(WHAT, &query).await?;
        let open = found.into_iter().filter_map(|item| item::unexpired(item, now));
        let parse = |item: Item| {
            let id = item::get_string(&item, "sk")?.strip_prefix(keys::PUSH_CONNECTIONS)?;
            let opened = item::get_integer(&item, "opened")?;
            Some(PushConnection {
                tenant: tenant.cloned(),
                id: id.to_owned(),
                opened_at: Timestamp::from_second(opened).ok()?,
            })
        };
        Ok(open.filter_map(parse).collect())
    }

    /// Deletes connections that answered that they are gone. One that may still be opening stays.
    pub async fn drop_gone_connections(&self, gone: &[PushConnection]) -> PortResult<()> {
        let now = self.table.system.now();
        let closed = gone.iter().filter(|connection| connection.is_surely_open(now));
        let keys = closed
            .map(|connection| TableKey::for_push_connection(connection.tenant.as_ref(), &connection.id));
        stream::iter(keys.collect::<Vec<_>>())
            .map(|key| self.delete_any("dropping a push connection that is gone", key))
            .buffer_unordered(DELETIONS_AT_ONCE)
            .try_collect()
            .await
    }

    /// Deletes the connections of a tenant, at most `limit`, and with each the record that leads to its tenant. Returns how many
    /// records of the tenant were deleted.
    pub(super) async fn delete_push_connections(&self, tenant: &TenantId, limit: usize) -> PortResult<usize> {
        const WHAT: &str = "finding a tenant's push connections";
        let query = RecordQuery::for_partition(keys::push_connections_pk(Some(tenant)), None, Some(limit));
        let found = self.table.query_records(WHAT, &query).await?;
        let ids = found
            .iter()
            .filter_map(|item| item::get_string(item, "sk")?.strip_prefix(keys::PUSH_CONNECTIONS));
        let owners = ids.map(TableKey::for_push_connection_owner);
        let owners = owners.map(TableKey::into_key_item).collect();
        self.delete_found(owners).await?;
        self.delete_found(found).await
    }
}
