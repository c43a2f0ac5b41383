//! Revisions of records: the number of a record's write, with the generation of the record.
//!
//! A record that is deleted and made again under its name is another thing. So its revisions have another generation: a write that
//! was prepared for the record before finds no revision that it follows, however often the new one was written meanwhile. A record
//! of before generations, and one whose name is never given again, has the generation 0.
//!
//! A record of the table (`recado_ports::table`) has a version in place of a revision, another one at random with each write. What tells a
//! record from the one before that had its name:
//!
//! | record | its name | what tells it apart |
//! | --- | --- | --- |
//! | posts to an endpoint | tenant, endpoint | a version of each write, and a generation, both random. A failed event has the generation of its endpoint, and is posted, redriven and removed only under it |
//! | knowledge of an agent | tenant, agent | `born`, a random text, and its version. The first change makes the record before it reads its document, so a document that was being read does not come into an agent that is made again |
//! | places of turns | tenant | the version |
//! | journal of effects | thread | a generation, of the time at which it began; each attempt has a nonce |
//! | guest | tenant, occasion, guest | a generation, random |
//! | alert that holds | the condition | the version |
//! | conversation | thread, number | the newest of an erased thread stays as a tombstone and counts on, and retention deletes one that has no message left. What acts on it (a lease, a claim) has a nonce |
//! | message | conversation, ordinal | an ordinal is given once in a conversation; each attempt has a nonce |
//! | state of an instance | instance | it is read and written within one call of the store |
//! | token | tenant, name | its text is random, and is what is proven |
//! | entry of the configuration | its id | a write compares the whole entry, whatever it was before |
//! | template, occasion, opt-out | its id | the last write counts |
//! | scheduled message, invitation, batch, notification, dead letter | its id | ids are not given again |
//!
//! When an endpoint leaves the configuration, by the API or by a document, its records are deleted at once (`follow_endpoint_changes`);
//! what a crash leaves, each process that posts looks for. A pass that makes a state for an endpoint looks at the configuration once more,
//! and deletes the state of one that was removed since it was listed. An endpoint that is added gets its state, and so its place, with the
//! change of the configuration.

use crate::ids::hash_parts;

/// The number of bits that count the writes. The generation stands above them.
const WRITE_BITS: u32 = 32;

/// The number of generations. With it a revision stays below 2⁵³, so every reader of JSON has it exactly.
const GENERATIONS: u64 = 1 << 21;

/// Returns the revision of a record that was never written. `born` tells it from all others that had its name, best by random text.
pub fn start_revision(born: &[&str]) -> u64 {
    let hash = hash_parts(born, 8);
    let bits = u64::from_str_radix(&hash, 16).unwrap_or_default();
    let generation = 1 + bits % (GENERATIONS - 1);
    generation << WRITE_BITS
}

/// Returns the generation of the record that has this revision.
pub fn generation_of(rev: u64) -> u64 {
    rev >> WRITE_BITS
}

/// Returns `true` for the revision of a record that is written for the first time. There must be none of its name then.
pub fn is_first_write(rev: u64) -> bool {
    count_writes(rev) <= 1
}

/// Returns the number of writes of the record that has this revision.
pub fn count_writes(rev: u64) -> u64 {
    rev & ((1 << WRITE_BITS) - 1)
}

/// Returns the revision that must be stored for one of the revision `rev` to be written. `None`: no record must be.
pub fn revision_before(rev: u64) -> Option<u64> {
    (!is_first_write(rev)).then(|| rev - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_made_again_follows_no_revision_of_the_one_before() {
        let (before, again) = (start_revision(&["one"]), start_revision(&["two"]));
        assert_ne!(generation_of(before), generation_of(again));
        assert!(is_first_write(before + 1) && is_first_write(again + 1));
        assert_eq!(revision_before(before + 2), Some(before + 1));
        assert_ne!(
            revision_before(before + 2),
            Some(again + 1),
            "after as many writes"
        );
        assert_eq!(
            (count_writes(again + 7), generation_of(again + 7)),
            (7, generation_of(again))
        );
    }

    #[test]
    fn a_record_of_before_generations_goes_on_counting() {
        assert_eq!((revision_before(1), revision_before(2)), (None, Some(1)));
        assert_eq!(generation_of(9), 0);
        assert!(generation_of(start_revision(&[])) > 0);
    }

    #[test]
    fn a_revision_is_exact_for_every_reader_of_json() {
        let highest = start_revision(&["one"]) | ((1 << WRITE_BITS) - 1);
        assert!(highest < 1 << 53 && GENERATIONS << WRITE_BITS <= 1 << 53);
    }
}
