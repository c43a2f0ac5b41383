//! The steps at which a crash can make a difference: one for each function and state of the world.

use std::collections::HashSet;

/// Port methods that change nothing begin with one of these, or are named here.
const READS: [&str; 17] = [
    "bound_by_id",
    "conversation",
    "count_",
    "find_",
    "in_flight",
    "instance_state",
    "key",
    "latest",
    "list_",
    "message",
    "messages",
    "messages_after",
    "open_file",
    "read_",
    "search_",
    "was_",
    "with_history",
];

/// Returns whether the call `name` changes nothing. Unknown names count as writes.
pub(super) fn is_read(name: &str) -> bool {
    READS
        .iter()
        .any(|read| name == *read || (read.ends_with('_') && name.starts_with(read)))
}

/// The steps of a history, without those that equal an earlier one: the same function stood there, and nothing had
/// been written and no second had passed since.
#[derive(Debug, Default)]
pub(super) struct Places {
    writes: u64,
    seen: HashSet<(u64, u64, i64)>,
    distinct: Vec<u64>,
}

impl Places {
    /// Notes that something was written, or happened outside.
    pub(super) fn note_write(&mut self) {
        self.writes += 1;
    }

    /// Notes that `function` stands at `step`, `elapsed_ms` after the beginning.
    pub(super) fn note_step(&mut self, step: u64, function: u64, elapsed_ms: i64) {
        if self.seen.insert((function, self.writes, elapsed_ms / 1_000)) {
            self.distinct.push(step);
        }
    }

    /// Returns the steps that differ, in their order.
    pub(super) fn distinct(&self) -> Vec<u64> {
        self.distinct.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_between_two_writes_of_a_function_count_once() {
        let mut places = Places::default();
        for step in 0..4 {
            places.note_step(step, 1, 0);
        }
        places.note_step(4, 2, 0);
        places.note_write();
        places.note_step(5, 1, 10);
        places.note_step(6, 1, 900);
        places.note_step(7, 1, 1_001);
        assert_eq!(places.distinct(), [0, 4, 5, 7]);
    }

    #[test]
    fn unknown_calls_count_as_writes() {
        for read in ["find_event", "messages", "list_parked"] {
            assert!(is_read(read), "{read}");
        }
        for write in ["commit", "put_notice", "settle_event", "messages_new"] {
            assert!(!is_read(write), "{write}");
        }
    }
}
