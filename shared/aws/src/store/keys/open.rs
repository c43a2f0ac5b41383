//! The kinds of records that can be open, and the shards over which each is spread.

use super::invitations::{BATCH, OPEN_EMAIL};
use super::{JOURNAL, SHARDS, WAITING_FILE};

/// The kinds of records that can be open: events, open messages, conversations, instances, parked conversations, scheduled
/// messages, messages whose files are waited for, journals of effects, batches, e-mails.
pub(crate) const OPEN_KINDS: [char; 10] = [
    'E',
    'O',
    'C',
    'I',
    'P',
    'S',
    WAITING_FILE,
    JOURNAL,
    BATCH,
    OPEN_EMAIL,
];

/// Returns the number of shards that open records of a kind are spread over.
pub(crate) fn count_shards(kind: char) -> u32 {
    let is_rare = [JOURNAL, BATCH, OPEN_EMAIL].contains(&kind);
    if is_rare { 1 } else { SHARDS }
}
