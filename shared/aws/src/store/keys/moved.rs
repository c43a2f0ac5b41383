//! Keys of records that move, by what is known of them then.

use super::super::item::{Item, get_string};
use super::TableKey;

/// The number of items over which one sum of use may be spread, whatever is summed.
const SHARDS_MAX: u32 = 16;

impl TableKey {
    /// Returns the keys of all items over which the sum of use is spread to which an item belongs.
    pub(crate) fn for_shards_of_sum(item: &Item) -> Vec<Self> {
        let (Some(pk), Some(sk)) = (get_string(item, "pk"), get_string(item, "sk")) else {
            return Vec::new();
        };
        let mut parts = sk.splitn(4, '#');
        let (Some(day), Some(agent), Some(_), Some(rest)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Vec::new();
        };
        let shards = 0..SHARDS_MAX;
        shards
            .map(|shard| Self::new(pk.to_owned(), format!("{day}#{agent}#{shard}#{rest}")))
            .collect()
    }
}
