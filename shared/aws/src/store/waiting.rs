//! The list of the conversations in which a person owes an answer, over the index `open`.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::alerts::PERSON_OWED;
use super::lists::ListPosition;
use super::records;
use recado_domain::conversation::Conversation;
use recado_pipeline::ports::{ConversationFilter, Page, PageRequest, PortResult, System};
use std::collections::BTreeMap;

const WHAT: &str = "listing who waits for a person";

/// Returns the condition that a conversation in the index matches `filter`, as far as the index knows.
fn indexed_condition(filter: &ConversationFilter) -> Option<Expression> {
    let tenant = filter
        .tenant
        .as_ref()
        .map(|tenant| Expression::new("#wait_tenant = :tenant").with_text(":tenant", tenant.as_str()));
    let instance = filter
        .instance
        .as_ref()
        .map(|instance| Expression::new("#instance = :instance").with_text(":instance", instance.as_str()));
    match (tenant, instance) {
        (Some(tenant), Some(instance)) => Some(tenant.and_condition(instance)),
        (tenant, instance) => tenant.or(instance),
    }
}

/// Returns the position of an item of the index: since when a person owes the answer, and its key, which orders
/// conversations of the same time.
fn position_of(item: &Item) -> Option<ListPosition> {
    let since = item::get_integer(item, "open_due")?;
    let (pk, sk) = (item::get_string(item, "pk")?, item::get_string(item, "sk")?);
    Some(ListPosition::new(since, format!("{pk}~{sk}")))
}

impl<A: System> DynamoStore<A> {
    /// Reads a page of the conversations in which a person owes an answer, those that wait the longest first.
    pub(super) async fn read_waiting_page(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        let after = page.cursor.as_deref();
        let after = after
            .map(|cursor| ListPosition::parse_cursor(WHAT, cursor))
            .transpose()?;
        let from = after.as_ref().map_or(i64::MIN, ListPosition::time);
        let keys = |shard| {
            Expression::new("#open_shard = :shard AND #open_due >= :from")
                .with_text(":shard", shard)
                .with_number(":from", from)
        };
        let condition = indexed_condition(filter);
        let limit = page.limit.max(1);
        // Those of the cursor's own time may come before it, so each shard is asked for some more.
        let indexed = self
            .query_ordered_shards(PERSON_OWED, keys, condition.as_ref(), after.as_ref(), limit)
            .await?;
        let more = indexed.len() > limit;
        let shown: Vec<(ListPosition, Item)> = indexed.into_iter().take(limit).collect();
        let next_cursor = shown.last().filter(|_| more).map(|(place, _)| place.to_cursor());
        let items = self.read_in_order(shown).await?;
        let matching = |conversation: &Conversation| {
            conversation.person_owed_since().is_some()
                && filter.mode.is_none_or(|mode| mode == conversation.mode)
                && filter
                    .tenant
                    .as_ref()
                    .is_none_or(|tenant| *tenant == conversation.tenant)
        };
        Ok(Page {
            items: items.into_iter().filter(matching).collect(),
            next_cursor,
        })
    }

    /// Returns the index's items of a kind after `after`, in order: one more than `limit`, if there are so many.
    pub(super) async fn query_ordered_shards(
        &self,
        kind: char,
        keys: impl Fn(String) -> Expression + Send + Sync,
        condition: Option<&Expression>,
        after: Option<&ListPosition>,
        limit: usize,
    ) -> PortResult<Vec<(ListPosition, Item)>> {
        let mut asked = limit.saturating_add(1);
        loop {
            let shards = super::keys::SHARDS as usize;
            let (items, at_least) = self
                .query_open_shards(kind, &keys, condition, false, asked.saturating_mul(shards))
                .await?;
            let found = items
                .into_iter()
                .filter_map(|item| Some((position_of(&item)?, item)));
            let mut found: Vec<(ListPosition, Item)> = found
                .filter(|(place, _)| after.is_none_or(|after| place > after))
                .collect();
            found.sort_by(|(a, _), (b, _)| a.cmp(b));
            if found.len() > limit || !at_least {
                found.truncate(limit.saturating_add(1));
                return Ok(found);
            }
            // More records than a page holds have the very same time.
            asked = asked.saturating_mul(2);
        }
    }

    /// Reads the records of `indexed`, in its order.
    async fn read_in_order(&self, indexed: Vec<(ListPosition, Item)>) -> PortResult<Vec<Conversation>> {
        let (places, items): (Vec<ListPosition>, Vec<Item>) = indexed.into_iter().unzip();
        let records = self.get_indexed_records(items).await?;
        let named = |item: &Item| {
            let (pk, sk) = (item::get_string(item, "pk")?, item::get_string(item, "sk")?);
            Some((
                format!("{pk}~{sk}"),
                records::parse_conversation(WHAT, item).ok()?,
            ))
        };
        let mut by_key: BTreeMap<String, Conversation> = records.iter().filter_map(named).collect();
        Ok(places
            .iter()
            .filter_map(|place| by_key.remove(place.id()))
            .collect())
    }
}
