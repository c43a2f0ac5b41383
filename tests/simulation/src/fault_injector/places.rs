//! The steps at which a crash can make a difference: one for each function and state of the world.

use std::collections::{HashMap, HashSet};

/// Port methods that change nothing begin with one of these, or are named here.
const READS: [&str; 15] = [
    "bound_by_id",
    "conversation",
    "count_",
    "find_",
    "in_flight",
    "instance_state",
    "latest",
    "list_",
    "message",
    "messages",
    "messages_after",
    "open_file",
    "read_",
    "search_",
    "with_history",
];

/// Returns whether the call `name` changes nothing. Unknown names count as writes.
pub(super) fn is_read(name: &str) -> bool {
    READS
        .iter()
        .any(|read| name == *read || (read.ends_with('_') && name.starts_with(read)))
}

/// A step at which a crash can make a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinctStep {
    /// Its number in the history, from 0.
    pub number: u64,
    /// The function, what it had written until then, and the call it stands at. Histories share most kinds.
    pub kind: String,
}

/// The steps of a history, without those that equal an earlier one: the same function stood there, and nothing had
/// been written and no second had passed since.
#[derive(Debug, Default)]
pub(super) struct Places {
    writes: u64,
    written: HashMap<u64, String>,
    seen: HashSet<(u64, u64, i64)>,
    distinct: Vec<DistinctStep>,
}

impl Places {
    /// Notes that the function of this number wrote by `call`, or did it outside.
    pub(super) fn note_write(&mut self, function: u64, call: &str) {
        self.writes += 1;
        let written = self.written.entry(function).or_default();
        written.push_str(call);
        written.push(' ');
    }

    /// Notes that the function `name` of number `function` stands at `step`, in `call`, `elapsed_ms` after the beginning.
    pub(super) fn note_step(
        &mut self,
        step: u64,
        (function, name): (u64, &str),
        call: &str,
        elapsed_ms: i64,
    ) {
        if self.seen.insert((function, self.writes, elapsed_ms / 1_000)) {
            let written = self.written.get(&function).map_or("", String::as_str);
            self.distinct.push(DistinctStep {
                number: step,
                kind: format!("{name}: {written}{call}"),
            });
        }
    }

    /// Returns the steps that differ, in their order.
    pub(super) fn distinct(&self) -> Vec<DistinctStep> {
        self.distinct.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_between_two_writes_of_a_function_count_once() {
        let mut places = Places::default();
        let (first, second) = ((1, "sender"), (2, "processor"));
        for step in 0..4 {
            places.note_step(step, first, "find_event", 0);
        }
        places.note_step(4, second, "message", 0);
        places.note_write(1, "commit");
        places.note_step(5, first, "commit", 10);
        places.note_step(6, first, "message", 900);
        places.note_step(7, first, "message", 1_001);
        let distinct = places.distinct();
        let steps: Vec<(u64, &str)> = distinct
            .iter()
            .map(|step| (step.number, step.kind.as_str()))
            .collect();
        assert_eq!(
            steps,
            [
                (0, "sender: find_event"),
                (4, "processor: message"),
                (5, "sender: commit commit"),
                (7, "sender: commit message"),
            ]
        );
    }

    #[test]
    fn unknown_calls_count_as_writes() {
        for read in ["find_event", "messages", "list_parked"] {
            assert!(is_read(read), "{read}");
        }
        for write in ["commit", "write_items", "settle_event", "messages_new"] {
            assert!(!is_read(write), "{write}");
        }
    }
}
