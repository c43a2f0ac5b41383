//! Divides queue messages among requests.

use std::collections::HashMap;

/// The number of messages in one request at most.
pub(crate) const ENTRIES_MAX: usize = 10;
/// The size of one request's bodies at most, in bytes. SQS accepts 1 MiB; ids count too.
pub(crate) const BYTES_MAX: usize = 900_000;

/// Splits `entries` into rounds: no round holds two entries of a group, and each group keeps its order. A round may be
/// sent only after the one before was accepted completely, since any messages of a request may fail, whatever their
/// place.
pub(crate) fn split_into_rounds<T>(entries: Vec<T>, group: impl Fn(&T) -> &str) -> Vec<Vec<T>> {
    let mut rounds: Vec<Vec<T>> = Vec::new();
    let mut sent: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let round = sent.entry(group(&entry).to_owned()).or_default();
        match rounds.get_mut(*round) {
            Some(others) => others.push(entry),
            None => rounds.push(vec![entry]),
        }
        *round += 1;
    }
    rounds
}

/// Splits `entries` into requests, in order. An entry that is too large on its own gets a request of its own.
pub(crate) fn split_into_batches<T>(entries: Vec<T>, size: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut batches: Vec<Vec<T>> = Vec::new();
    let mut bytes = 0;
    for entry in entries {
        let more = size(&entry);
        match batches.last_mut() {
            Some(last) if last.len() < ENTRIES_MAX && bytes + more <= BYTES_MAX => {
                bytes += more;
                last.push(entry);
            }
            _ => {
                bytes = more;
                batches.push(vec![entry]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(entries: Vec<usize>) -> Vec<Vec<usize>> {
        split_into_batches(entries, |size| *size)
    }

    #[test]
    fn ten_small_ones_are_one_request_and_eleven_are_two() {
        assert_eq!(sizes(vec![1; 10]).len(), 1);
        assert_eq!(
            sizes(vec![1; 11]).iter().map(Vec::len).collect::<Vec<_>>(),
            [10, 1]
        );
        assert!(sizes(vec![]).is_empty());
    }

    /// In one request an earlier event may fail while a later one is accepted.
    #[test]
    fn no_request_holds_two_of_a_group_and_each_groups_keep_their_order() {
        let split = |entries: &[&'static str]| split_into_rounds(entries.to_vec(), |entry| &entry[..1]);
        assert_eq!(
            split(&["a1", "a2", "b1", "a3", "b2"]),
            [vec!["a1", "b1"], vec!["a2", "b2"], vec!["a3"]]
        );
        assert_eq!(split(&["a1", "b1", "c1"]), [["a1", "b1", "c1"]]);
        assert!(split(&[]).is_empty());
    }

    #[test]
    fn large_ones_are_spread_and_keep_their_order() {
        assert_eq!(
            sizes(vec![500_000, 400_000, 1, 899_999]),
            [vec![500_000, 400_000], vec![1, 899_999]]
        );
        assert_eq!(sizes(vec![1, 2_000_000, 2]), [vec![1], vec![2_000_000], vec![2]]);
    }
}
