//! Messages that a provider accepted and WhatsApp did not acknowledge, over the index `open`.

use super::DynamoStore;
use super::deliveries::parse_delivery;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::SHARDS;
use super::keys::waiting::{UNACKNOWLEDGED, WAIT_TENANT, unacknowledged_shard};
use super::lists::{ListPosition, ListSource};
use jiff::Timestamp;
use recado_domain::alert::UnacknowledgedStatus;
use recado_domain::delivery::{AwaitedAcknowledgement, UnacknowledgedMessage};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_ports::ports::{
    Page, PageRequest, PortResult, System, UnacknowledgedCounts, UnacknowledgedFilter,
};
use std::collections::BTreeMap;

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

/// Returns the message of a delivery whose acknowledgement is missing. The record says what the index may not know yet: that a status
/// came.
fn parse_unacknowledged(item: &Item) -> Option<UnacknowledgedMessage> {
    let awaited = parse_awaited(item)?;
    let delivery = item::keep_readable(parse_delivery(WHAT, item))?;
    let message = delivery.message.filter(|_| delivery.status.is_none())?;
    Some(UnacknowledgedMessage { message, awaited })
}

fn indexed_condition(filter: &UnacknowledgedFilter) -> Option<Expression> {
    let tenant = filter.tenant.as_ref().map(|tenant| {
        Expression::new(format!("#{WAIT_TENANT} = :tenant")).with_text(":tenant", tenant.as_str())
    });
    let instance = Expression::of_instance(filter.instance.as_ref());
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
        let range = (
            range.0.as_millisecond().saturating_add(1),
            range.1.as_millisecond(),
        );
        // All those of one tenant are in one shard.
        let of_shards = limit.saturating_mul(SHARDS as usize);
        let (mut items, mut at_least) = self
            .query_open_shards(UNACKNOWLEDGED, range, None, false, of_shards)
            .await?;
        at_least |= items.len() > limit;
        items.truncate(limit);
        let mut by_instance: BTreeMap<(TenantId, InstanceId), UnacknowledgedStatus> = BTreeMap::new();
        for awaited in items.iter().filter_map(parse_awaited) {
            let owner = (awaited.tenant.clone(), awaited.instance.clone());
            let status = by_instance.entry(owner).or_insert(UnacknowledgedStatus {
                tenant: awaited.tenant,
                instance: awaited.instance,
                count: 0,
                since: awaited.accepted_at,
            });
            status.count += 1;
            status.since = status.since.min(awaited.accepted_at);
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
        let after = ListPosition::before_page(WHAT, page)?;
        let earliest = filter.due_from.map_or(i64::MIN, Timestamp::as_millisecond);
        let from = after.as_ref().map_or(earliest, ListPosition::time);
        let now = now.as_millisecond();
        let condition = indexed_condition(filter);
        let limit = page.limit.max(1);
        let indexed = if let (Some(tenant), None) = (&filter.tenant, filter.due_from) {
            let list = ListSource::Open(unacknowledged_shard(tenant));
            self.query_oldest(WHAT, &list, condition, (after.as_ref(), now), limit)
                .await?
        } else {
            let range = (from.min(now), now);
            self.query_ordered_shards(UNACKNOWLEDGED, range, condition.as_ref(), after.as_ref(), limit)
                .await?
        };
        self.read_indexed_page(indexed, limit, parse_unacknowledged).await
    }
}
