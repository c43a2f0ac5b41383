//! The list of the conversations in which a person owes an answer: a tenant's over the index `tenants`, that of all over the
//! index `open`.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, waiting::PERSON_OWED};
use super::lists::{ListPosition, ListSource};
use super::records;
use recado_domain::conversation::Conversation;
use recado_ports::ports::{ConversationFilter, Page, PageRequest, PortResult, System};
use std::collections::BTreeMap;

const WHAT: &str = "listing who waits for a person";

/// Returns the position of an item of an index that orders by `time_attribute`: since when a person owes the answer, and its
/// key, which orders conversations of the same time.
fn position_of(item: &Item, time_attribute: &str) -> Option<ListPosition> {
    let since = item::get_integer(item, time_attribute)?;
    Some(ListPosition::new(since, name_key(item)?))
}

/// Returns the key of an item as one text.
fn name_key(item: &Item) -> Option<String> {
    let (pk, sk) = (item::get_string(item, "pk")?, item::get_string(item, "sk")?);
    Some(format!("{pk}~{sk}"))
}

impl<A: System> DynamoStore<A> {
    /// Reads a page of the conversations in which a person owes an answer, those that wait the longest first.
    pub(super) async fn read_waiting_page(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        let after = ListPosition::before_page(WHAT, page)?;
        let from = after.as_ref().map_or(i64::MIN, ListPosition::time);
        let condition = Expression::of_instance(filter.instance.as_ref());
        let limit = page.limit.max(1);
        let indexed = if let Some(tenant) = &filter.tenant {
            let list = ListSource::OfTenant(keys::waiting::tenant_waiting(tenant));
            self.query_oldest(WHAT, &list, condition, (after.as_ref(), i64::MAX), limit)
                .await?
        } else {
            let range = (from, i64::MAX);
            self.query_ordered_shards(PERSON_OWED, range, condition.as_ref(), after.as_ref(), limit)
                .await?
        };
        let parse = |item: &Item| item::keep_readable(records::parse_conversation(WHAT, item));
        let found: Page<Conversation> = self.read_indexed_page(indexed, limit, parse).await?;
        let tenant = filter.tenant.as_ref();
        let matching = |conversation: &Conversation| {
            conversation.person_owed_since().is_some()
                && filter.mode.is_none_or(|mode| mode == conversation.mode)
                && filter.matches_label(conversation)
                && tenant.is_none_or(|tenant| *tenant == conversation.tenant)
        };
        Ok(Page {
            items: found.items.into_iter().filter(matching).collect(),
            ..found
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
        let from = after.map_or(i64::MIN, ListPosition::time).min(upto);
        let query = list.query_range(from, upto).filtered(condition);
        let query = query.up_to(limit.saturating_add(1));
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
        range: (i64, i64),
        condition: Option<&Expression>,
        after: Option<&ListPosition>,
        limit: usize,
    ) -> PortResult<Vec<(ListPosition, Item)>> {
        let mut asked = limit.saturating_add(1);
        loop {
            let shards = keys::SHARDS as usize;
            let (items, at_least) = self
                .query_open_shards(kind, range, condition, false, asked.saturating_mul(shards))
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

    /// Reads the records of a page of `indexed`, in its order, without those that `parse` leaves out.
    pub(super) async fn read_indexed_page<T>(
        &self,
        mut indexed: Vec<(ListPosition, Item)>,
        limit: usize,
        parse: impl Fn(&Item) -> Option<T>,
    ) -> PortResult<Page<T>> {
        let more = indexed.len() > limit;
        indexed.truncate(limit);
        let next_cursor = indexed
            .last()
            .filter(|_| more)
            .map(|(place, _)| place.to_cursor());
        let (places, items): (Vec<ListPosition>, Vec<Item>) = indexed.into_iter().unzip();
        let records = self.get_indexed_records(items).await?;
        let by_key = records
            .iter()
            .filter_map(|item| Some((name_key(item)?, parse(item)?)));
        let mut by_key: BTreeMap<String, T> = by_key.collect();
        let in_order = places.iter().filter_map(|place| by_key.remove(place.id()));
        Ok(Page {
            items: in_order.collect(),
            next_cursor,
        })
    }
}
