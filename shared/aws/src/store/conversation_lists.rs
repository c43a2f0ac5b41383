//! Lists of conversations, the most recently active first: a tenant's over the index `lists`, that of all tenants over the index
//! `active`.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys;
use super::lists::{ListPosition, build_page};
use super::record_query::RecordQuery;
use super::records;
use futures::future::try_join_all;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_ports::ports::{ConversationFilter, InstanceName, Page, PageRequest, PortResult, System};
use recado_ports::table::{Record, Table};
use std::collections::BTreeMap;

const WHAT: &str = "listing conversations";

/// Returns the conversation of an item with its position in a list, if it matches `filter`.
fn parse_match(filter: &ConversationFilter, item: &Item) -> PortResult<Option<(ListPosition, Conversation)>> {
    let conversation = records::parse_conversation(WHAT, item)?;
    let at = conversation.last_message_at.as_millisecond();
    let place = ListPosition::new(at, conversation.id.to_string());
    Ok(matches_filter(filter, &conversation).then_some((place, conversation)))
}

fn matches_filter(filter: &ConversationFilter, conversation: &Conversation) -> bool {
    let (tenant, instance) = (filter.tenant.as_ref(), filter.instance.as_ref());
    tenant.is_none_or(|tenant| *tenant == conversation.tenant)
        && instance.is_none_or(|instance| *instance == conversation.instance)
        && filter.mode.is_none_or(|mode| mode == conversation.mode)
        && filter.matches_label(conversation)
        && match conversation.listed_status() {
            Some(status) => !filter.unlisted && filter.status.is_none_or(|wanted| wanted == status),
            None => filter.unlisted,
        }
}

impl<A: System> DynamoStore<A> {
    /// Reads a page of conversations. A search by words finds none.
    pub(super) async fn read_conversation_list(
        &self,
        filter: &ConversationFilter,
        request: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        if filter.text.is_some() || filter.contact.is_some() {
            return Ok(Page {
                items: Vec::new(),
                next_cursor: None,
            });
        }
        let tenant = match (&filter.tenant, &filter.instance) {
            (Some(tenant), _) => Some(tenant.clone()),
            (None, Some(instance)) => self.find_tenant_of(instance).await?,
            (None, None) => None,
        };
        match tenant {
            Some(tenant) => self.read_list_of_tenant(&tenant, filter, request).await,
            None => self.read_list_of_all(filter, request).await,
        }
    }

    /// Returns the tenant of an instance; `None` if the instance is not configured. It may have conversations all the same, from before
    /// it was removed.
    async fn find_tenant_of(&self, instance: &InstanceId) -> PortResult<Option<TenantId>> {
        let found = self.get(&InstanceName::Id(instance.clone()).build_key()).await?;
        let found = found.map(|item| Instance::from_body(&item.body)).transpose()?;
        Ok(found.map(|instance| instance.tenant))
    }

    async fn read_list_of_tenant(
        &self,
        tenant: &TenantId,
        filter: &ConversationFilter,
        request: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        let keys = match &filter.instance {
            _ if filter.unlisted => vec![keys::unlisted_list_key(tenant)],
            Some(instance) => vec![keys::conversation_list_key(tenant, instance)],
            None => keys::tenant_conversation_list_keys(tenant),
        };
        let wanted = |item: &Item| parse_match(filter, item);
        let lists = keys
            .into_iter()
            .map(|key| self.read_list(WHAT, key, request, wanted));
        let found = try_join_all(lists).await?.into_iter().flatten().collect();
        Ok(build_page(found, request.limit.max(1)))
    }

    /// Reads a page of the conversations of all tenants. The index knows the hour of a conversation's last message, so the
    /// records of whole hours are read, until they hold more than the page.
    async fn read_list_of_all(
        &self,
        filter: &ConversationFilter,
        request: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        let after = ListPosition::before_page(WHAT, request)?;
        let limit = request.limit.max(1);
        let mut upto = after.as_ref().map_or(i64::MAX, ListPosition::time);
        let mut wanted = limit.saturating_add(1);
        // By their ids: a conversation that becomes active meanwhile may be found in two hours.
        let mut found: BTreeMap<ConversationId, (ListPosition, Conversation)> = BTreeMap::new();
        loop {
            let (items, from) = self
                .query_active_hours(filter.instance.as_ref(), upto, wanted)
                .await?;
            for record in self.get_indexed_records(items).await? {
                let matching = item::keep_readable(parse_match(filter, &record))
                    .flatten()
                    .filter(|(place, _)| after.as_ref().is_none_or(|after| place < after));
                found.extend(matching.map(|found| (found.1.id.clone(), found)));
            }
            match from {
                Some(from) if found.len() <= limit => upto = from.saturating_sub(1),
                _ => return Ok(build_page(found.into_values().collect(), limit)),
            }
            // Few match the filter, or they come before the cursor.
            wanted = wanted.saturating_mul(2);
        }
    }

    /// Returns the index's items of the latest hours up to a time: of so many hours that there are `wanted` of them, and of each
    /// hour all. Also returns the time at which the earliest of these hours begins; `None` if there are no earlier items.
    async fn query_active_hours(
        &self,
        instance: Option<&InstanceId>,
        upto: i64,
        wanted: usize,
    ) -> PortResult<(Vec<Item>, Option<i64>)> {
        let newest = self
            .query_active(instance, (i64::MIN, upto), Some(wanted))
            .await?;
        let mut hours: Vec<i64> = newest.iter().filter_map(keys::parse_active_hour).collect();
        hours.sort_unstable_by(|a, b| b.cmp(a));
        let Some(from) = hours.get(wanted.saturating_sub(1)).copied() else {
            return Ok((newest, None));
        };
        let items = self.query_active(instance, (from, upto), None).await?;
        Ok((items, Some(from)))
    }

    /// Returns the index's items between two times, the latest of each shard: at most `limit` of each.
    async fn query_active(
        &self,
        instance: Option<&InstanceId>,
        (from, upto): (i64, i64),
        limit: Option<usize>,
    ) -> PortResult<Vec<Item>> {
        let shard = |number: u32| async move {
            let keys = Expression::new("#active_shard = :shard AND #active_at BETWEEN :from AND :upto")
                .with_text(":shard", keys::active_shard(number))
                .with_number(":from", from)
                .with_number(":upto", upto);
            let query = RecordQuery::of_index("active", keys).filtered(Expression::of_instance(instance));
            let query = RecordQuery { limit, ..query }.backwards();
            self.table.query_records(WHAT, &query).await
        };
        let found = try_join_all((0..keys::SHARDS).map(shard)).await?;
        Ok(found.into_iter().flatten().collect())
    }
}
