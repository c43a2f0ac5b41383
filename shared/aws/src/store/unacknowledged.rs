//! Messages that a provider accepted and WhatsApp did not acknowledge, over the index `open`.

use super::DynamoStore;
use super::deliveries::parse_delivery;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::SHARDS;
use super::keys::waiting::{UNACKNOWLEDGED, WAIT_TENANT, unacknowledged_shard};
use super::lists::{ListPosition, ListSource};
use jiff::Timestamp;
use recado_domain::alert::UnacknowledgedLook;
use recado_domain::delivery::{AwaitedAcknowledgement, UnacknowledgedMessage};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::{
    Page, PageRequest, PortResult, System, UnacknowledgedCounts, UnacknowledgedFilter,
};
use std::collections::HashMap;
use std::collections::btree_map::{BTreeMap, Entry};

const WHAT: &str = "listing what was not acknowledged";

/// Returns the owner of a delivery, and the acknowledgement that it waits for; `None` if it waits for none.
pub(super) fn parse_awaited(item: &Item) -> Option<AwaitedAcknowledgement> {
    Some(AwaitedAcknowledgement {
        tenant: TenantId::parse(item::get_string(item, WAIT_TENANT)?).ok()?,
        instance: InstanceId::parse(item::get_string(item, "instance")?).ok()?,
        accepted_at: from_unix_millis(item::get_integer(item, "since")?),
        due: from_unix_millis(item::get_integer(item, "open_due")?),
    })
}

fn indexed_condition(filter: &UnacknowledgedFilter) -> Option<Expression> {
    let tenant = filter.tenant.as_ref().map(|tenant| {
        Expression::new(format!("#{WAIT_TENANT} = :tenant")).with_text(":tenant", tenant.as_str())
    });
    let instance = filter
        .instance
        .as_ref()
        .map(|instance| Expression::new("#instance = :instance").with_text(":instance", instance.as_str()));
    match (tenant, instance) {
        (Some(tenant), Some(instance)) => Some(tenant.and_condition(instance)),
        (tenant, instance) => tenant.or(instance),
    }
}

impl<A: System> DynamoStore<A> {
    /// Counts, by instance, the deliveries that the index finds between the times of `range`.
    pub(super) async fn count_unacknowledged_of_all(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts> {
        let keys = |shard| {
            Expression::new("#open_shard = :shard AND #open_due BETWEEN :from AND :before")
                .with_text(":shard", shard)
                .with_number(":from", range.0.as_millisecond().saturating_add(1))
                .with_number(":before", range.1.as_millisecond())
        };
        // All those of one tenant are in one shard.
        let of_shards = limit.saturating_mul(SHARDS as usize);
        let (mut items, mut at_least) = self
            .query_open_shards(UNACKNOWLEDGED, keys, None, false, of_shards)
            .await?;
        at_least |= items.len() > limit;
        items.truncate(limit);
        let mut by_instance: BTreeMap<(TenantId, InstanceId), UnacknowledgedLook> = BTreeMap::new();
        for awaited in items.iter().filter_map(parse_awaited) {
            let AwaitedAcknowledgement {
                tenant,
                instance,
                accepted_at,
                ..
            } = awaited;
            match by_instance.entry((tenant.clone(), instance.clone())) {
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.count += 1;
                    known.since = known.since.min(accepted_at);
                }
                Entry::Vacant(first) => {
                    first.insert(UnacknowledgedLook {
                        tenant,
                        instance,
                        count: 1,
                        since: accepted_at,
                    });
                }
            }
        }
        Ok(UnacknowledgedCounts {
            instances: by_instance.into_values().collect(),
            at_least,
        })
    }

    /// Reads a page of the messages whose acknowledgement is missing at `now`, the oldest first.
    pub(super) async fn read_unacknowledged_page(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>> {
        let after = page.cursor.as_deref();
        let after = after
            .map(|cursor| ListPosition::parse_cursor(WHAT, cursor))
            .transpose()?;
        let earliest = filter.due_from.map_or(i64::MIN, Timestamp::as_millisecond);
        let from = after.as_ref().map_or(earliest, ListPosition::time);
        let keys = |shard| {
            Expression::new("#open_shard = :shard AND #open_due BETWEEN :from AND :now")
                .with_text(":shard", shard)
                .with_number(":from", from.min(now.as_millisecond()))
                .with_number(":now", now.as_millisecond())
        };
        let condition = indexed_condition(filter);
        let limit = page.limit.max(1);
        let indexed = if let (Some(tenant), None) = (&filter.tenant, filter.due_from) {
            let list = ListSource::Open(unacknowledged_shard(tenant));
            self.query_oldest(
                WHAT,
                &list,
                condition,
                (after.as_ref(), now.as_millisecond()),
                limit,
            )
            .await?
        } else {
            self.query_ordered_shards(UNACKNOWLEDGED, keys, condition.as_ref(), after.as_ref(), limit)
                .await?
        };
        let more = indexed.len() > limit;
        let (places, items): (Vec<ListPosition>, Vec<Item>) = indexed.into_iter().take(limit).unzip();
        let next_cursor = places.last().filter(|_| more).map(ListPosition::to_cursor);
        let items = self.read_awaited_records(&places, items).await?;
        Ok(Page { items, next_cursor })
    }

    /// Reads the records of `items` in the order of `places`. The records say what the index may not know yet: that a status came.
    async fn read_awaited_records(
        &self,
        places: &[ListPosition],
        items: Vec<Item>,
    ) -> PortResult<Vec<UnacknowledgedMessage>> {
        let order: HashMap<String, usize> = places
            .iter()
            .enumerate()
            .map(|(number, place)| (place.id().to_owned(), number))
            .collect();
        let mut found = Vec::new();
        for item in self.get_indexed_records(items).await? {
            let (Some(awaited), Some(pk), Some(sk)) = (
                parse_awaited(&item),
                item::get_string(&item, "pk"),
                item::get_string(&item, "sk"),
            ) else {
                continue;
            };
            let place = order.get(&format!("{pk}~{sk}")).copied();
            let Some(delivery) = item::keep_readable(parse_delivery(WHAT, &item)) else {
                continue;
            };
            if let (Some(message), None) = (delivery.message, delivery.status) {
                found.push((place, UnacknowledgedMessage { message, awaited }));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, one)| one).collect())
    }
}
