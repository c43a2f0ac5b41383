//! The keys of the use of models.

use super::super::item::{Item, get_string};
use super::{TableKey, hash_parts};
use jiff::civil::Date;
use recado_domain::ids::TenantId;
use recado_domain::usage::UsageSum;

/// The number of items for the sum of one agent, model and day. The threads of the replies decide which of them is added to.
const USAGE_SHARDS: u32 = 4;

/// The same for the sum of the charged messages of one category to one country. The messages of a batch are delivered at once.
const CHARGE_SHARDS: u32 = 16;

impl TableKey {
    /// Returns the key of the item to which something adds what it used. `source` is the thread of a reply, or a delivery.
    pub(crate) fn for_usage_of_model(sum: &UsageSum, source: &str) -> Self {
        let hash = u32::from_str_radix(&hash_parts(&[source], 4), 16).unwrap_or_default();
        let shards = if sum.charged_messages > 0 {
            CHARGE_SHARDS
        } else {
            USAGE_SHARDS
        };
        let (shard, day, agent, model) = (hash % shards, sum.day, &sum.agent, &sum.model);
        let country = sum.country.map(|country| format!("#{country}"));
        let country = country.unwrap_or_default();
        let sk = format!("{day}#{agent}#{shard}#{model}{country}");
        Self::new(usage_partition_key(&sum.tenant), sk)
    }
}

/// Returns the `pk` of the use of models by a tenant's agents.
pub(crate) fn usage_partition_key(tenant: &TenantId) -> String {
    format!("Q#{tenant}")
}

/// Returns a text behind the `sk` of every sum of a day, and before those of the next.
pub(crate) fn usage_day_boundary(day: Date) -> String {
    format!("{day}$")
}

/// The number of items over which one sum of use may be spread, whatever is summed.
const SHARDS_MAX: u32 = 16;

impl TableKey {
    /// Returns the keys of all items over which the sum of use is spread to which an item belongs.
    pub(crate) fn for_shards_of_sum(item: &Item) -> Vec<Self> {
        let (Some(pk), Some(sk)) = (get_string(item, "pk"), get_string(item, "sk")) else {
            return Vec::new();
        };
        let parts: Vec<&str> = sk.splitn(4, '#').collect();
        let [day, agent, _, rest] = parts[..] else {
            return Vec::new();
        };
        let shards = 0..SHARDS_MAX;
        shards
            .map(|shard| Self::new(pk.to_owned(), format!("{day}#{agent}#{shard}#{rest}")))
            .collect()
    }
}
