//! The list of the conversations in which a person owes an answer: a tenant's over the index `tenants`, that of all over the
//! index `open`.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, waiting::PERSON_OWED};
use super::lists::{ListPosition, ListSource};
use super::records;
use super::table::RecordQuery;
use recado_domain::conversation::Conversation;
use recado_ports::ports::{ConversationFilter, Page, PageRequest, PortResult, System};
use std::collections::BTreeMap;

const WHAT: &str = "listing who waits for a person";

/// Returns the position of an item of an index that orders by `time_attribute`: since when a person owes the answer, and its
/// key, which orders conversations of the same time.
fn position_of(item: &Item, time_attribute: &str) -> Option<ListPosition> {
    let since = item::get_integer(item, time_attribute)?;
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
        let condition = Expression::of_instance(filter.instance.as_ref());
        let limit = page.limit.max(1);
        let indexed = if let Some(tenant) = &filter.tenant {
            let list = ListSource::OfTenant(keys::waiting::tenant_waiting(tenant));
            self.query_oldest(WHAT, &list, condition, (after.as_ref(), i64::MAX), limit)
                .await?
        } else {
            let keys = |shard| {
                Expression::new("#open_shard = :shard AND #open_due >= :from")
                    .with_text(":shard", shard)
                    .with_number(":from", from)
            };
            self.query_ordered_shards(PERSON_OWED, keys, condition.as_ref(), after.as_ref(), limit)
                .await?
        };
        let more = indexed.len() > limit;
        let shown: Vec<(ListPosition, Item)> = indexed.into_iter().take(limit).collect();
        let next_cursor = shown.last().filter(|_| more).map(|(place, _)| place.to_cursor());
        let items = self.read_in_order(shown).await?;
        let matching = |conversation: &Conversation| {
            conversation.person_owed_since().is_some()
                && filter.mode.is_none_or(|mode| mode == conversation.mode)
                && filter.matches_label(conversation)
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

    /// Returns the items of a list after `after` and up to the time `upto`, oldest first: one more than `limit`, if there are
    /// so many.
    pub(super) async fn query_oldest(
        &self,
        what: &'static str,
        list: &ListSource,
        condition: Option<Expression>,
        (after, upto): (Option<&ListPosition>, i64),
        limit: usize,
    ) -> PortResult<Vec<(ListPosition, Item)>> {
        let query = RecordQuery {
            index: Some(list.index()),
            keys: list.key_condition(after.map_or(i64::MIN, ListPosition::time).min(upto), upto),
            filter: condition,
            reverse: false,
            limit: Some(limit.saturating_add(1)),
        };
        let mut found: Vec<(ListPosition, Item)> = Vec::new();
        let mut start = None;
        loop {
            let (items, next) = self.table.query_page(what, &query, start).await?;
            let placed = items
                .into_iter()
                .filter_map(|item| Some((position_of(&item, list.time_attribute())?, item)));
            found.extend(placed.filter(|(place, _)| after.is_none_or(|after| place > after)));
            // Records of one time come in no fixed order: the page is known when one of a later time has come.
            let latest = found.last().map(|(place, _)| place.time());
            let is_complete = found
                .get(limit)
                .is_some_and(|(place, _)| Some(place.time()) < latest);
            if is_complete || next.is_none() {
                found.sort_by(|(a, _), (b, _)| a.cmp(b));
                found.truncate(limit.saturating_add(1));
                return Ok(found);
            }
            start = next;
        }
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
            let shards = keys::SHARDS as usize;
            let (items, at_least) = self
                .query_open_shards(kind, &keys, condition, false, asked.saturating_mul(shards))
                .await?;
            let found = items
                .into_iter()
                .filter_map(|item| Some((position_of(&item, "open_due")?, item)));
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
                item::keep_readable(records::parse_conversation(WHAT, item))?,
            ))
        };
        let mut by_key: BTreeMap<String, Conversation> = records.iter().filter_map(named).collect();
        Ok(places
            .iter()
            .filter_map(|place| by_key.remove(place.id()))
            .collect())
    }
}
