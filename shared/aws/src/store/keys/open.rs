//! The kinds of records that can be open, and the shards of due items of the table's kinds.

use super::{TableKey, WAITING_FILE, hash_to_shard};

/// The kinds of records that can be open: events, open messages, conversations, instances, parked conversations, messages
/// whose files are waited for.
pub(crate) const OPEN_KINDS: [char; 6] = ['E', 'O', 'C', 'I', 'P', WAITING_FILE];

/// Lists the shards of due items of a kind of the table, by their `open_shard`. More may be added.
pub(crate) fn list_due_shards(kind: &str) -> Vec<String> {
    vec![format!("{kind}0")]
}

/// Returns the `open_shard` of an item of a kind of the table.
pub(crate) fn due_shard(kind: &str, key: &TableKey) -> String {
    let mut shards = list_due_shards(kind);
    let place = usize::try_from(hash_to_shard(&[&key.pk, &key.sk])).unwrap_or_default();
    shards.swap_remove(place % shards.len())
}
