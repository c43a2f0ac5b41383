//! The kinds of records that can be open, and the shards over which each is spread.

use super::invitations::{BATCH, OPEN_EMAIL};
use super::{SHARDS, TableKey, WAITING_FILE, hash_to_shard};

/// The kinds of records that can be open: events, open messages, conversations, instances, parked conversations, messages
/// whose files are waited for, batches, e-mails.
pub(crate) const OPEN_KINDS: [char; 8] = ['E', 'O', 'C', 'I', 'P', WAITING_FILE, BATCH, OPEN_EMAIL];

/// Returns the number of shards that open records of a kind are spread over.
pub(crate) fn count_shards(kind: char) -> u32 {
    let is_rare = [BATCH, OPEN_EMAIL].contains(&kind);
    if is_rare { 1 } else { SHARDS }
}

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
