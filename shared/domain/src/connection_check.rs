//! Checks of the connections of open instances: which instances each pass asked for, and which are next.

use crate::ids::InstanceId;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Maximum number of instances that one pass asks for. With a pass each minute, that is about 8 a second.
pub const ASKED_MAX: usize = 500;

/// Maximum number of checks that are kept: those of one round through 12,000 instances.
const KEPT_MAX: usize = 24;

/// One pass, which asked the providers of some instances for their state, in the order of the instances' ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCheck {
    /// Time at which the pass began to ask.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The instance behind which it began; `None`: it began with the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<InstanceId>,
    /// The instance that it asked for last; `None`: it came to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<InstanceId>,
}

impl ConnectionCheck {
    /// Returns `true` if the pass asked for this instance, provided that it was open then.
    fn covers_instance(&self, instance: &InstanceId) -> bool {
        self.after.as_ref().is_none_or(|after| after < instance)
            && self.through.as_ref().is_none_or(|through| instance <= through)
    }

    /// Returns `true` if the pass asked for all instances of `other`.
    fn covers_check(&self, other: &Self) -> bool {
        let ends_later = match (&self.through, &other.through) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => own >= other,
        };
        self.after <= other.after && ends_later
    }
}

/// Returns which of `ids`, which are sorted, are next. `checks` are the earlier checks, the newest first.
pub fn choose_next_instances(checks: &[ConnectionCheck], ids: &[InstanceId]) -> Range<usize> {
    let through = checks.first().and_then(|newest| newest.through.as_ref());
    let asked = through.map_or(0, |through| ids.partition_point(|id| id <= through));
    // Behind the last one, the next round begins.
    let begin = if asked < ids.len() { asked } else { 0 };
    begin..ids.len().min(begin + ASKED_MAX)
}

/// Returns the checks after a pass that asked for these of `ids`, the newest first. Checks of which nothing is left are removed.
pub fn add_check(
    checks: Vec<ConnectionCheck>,
    ids: &[InstanceId],
    asked: Range<usize>,
    at: Timestamp,
) -> Vec<ConnectionCheck> {
    if asked.is_empty() {
        return checks;
    }
    let newest = ConnectionCheck {
        at,
        after: asked
            .start
            .checked_sub(1)
            .and_then(|before| ids.get(before))
            .cloned(),
        through: (asked.end < ids.len())
            .then(|| ids.get(asked.end - 1).cloned())
            .flatten(),
    };
    let others = checks.into_iter().filter(|check| !newest.covers_check(check));
    let mut kept: Vec<ConnectionCheck> = others.take(KEPT_MAX - 1).collect();
    kept.insert(0, newest);
    kept
}

/// Returns the time of the newest check of an instance; `None`: none of the kept ones asked for it.
pub fn find_last_check(checks: &[ConnectionCheck], instance: &InstanceId) -> Option<Timestamp> {
    let newest = checks.iter().find(|check| check.covers_instance(instance));
    newest.map(|check| check.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn ids(count: usize) -> Vec<InstanceId> {
        let id = |number| InstanceId::parse(&format!("i-{number:05}")).expect("an id");
        (0..count).map(id).collect()
    }

    /// Makes a pass that gets to `most` instances, and returns how many it asked for.
    fn pass(checks: &mut Vec<ConnectionCheck>, ids: &[InstanceId], minute: i64, most: usize) -> usize {
        let mut next = choose_next_instances(checks, ids);
        next.end = next.end.min(next.start + most);
        let count = next.len();
        *checks = add_check(
            std::mem::take(checks),
            ids,
            next,
            from_unix_millis(minute * 60_000),
        );
        count
    }

    #[test]
    fn up_to_500_instances_are_asked_for_in_each_pass_and_more_have_their_turns() {
        for (count, minutes) in [(1, 1), (500, 1), (501, 2), (1_300, 3), (10_000, 20)] {
            let (ids, mut checks) = (ids(count), Vec::new());
            for round in 0..3 {
                let asked: usize = (0..minutes)
                    .map(|minute| pass(&mut checks, &ids, round * minutes + minute, ASKED_MAX))
                    .sum();
                assert_eq!(asked, count, "each once in {minutes} minutes");
            }
            assert_eq!(checks.len(), usize::try_from(minutes).expect("a count"));
            let oldest = from_unix_millis(2 * minutes * 60_000);
            for id in &ids {
                assert!(
                    find_last_check(&checks, id).is_some_and(|at| at >= oldest),
                    "{id}"
                );
            }
        }
    }

    #[test]
    fn a_pass_without_time_goes_on_in_the_next_where_it_stopped() {
        let (ids, mut checks) = (ids(10), Vec::new());
        assert_eq!(pass(&mut checks, &ids, 1, 4), 4);
        assert_eq!(pass(&mut checks, &ids, 2, 0), 0);
        assert_eq!(find_last_check(&checks, &ids[4]), None);
        assert_eq!(pass(&mut checks, &ids, 3, 10), 6);
        assert_eq!(find_last_check(&checks, &ids[3]), Some(from_unix_millis(60_000)));
        assert_eq!(find_last_check(&checks, &ids[4]), Some(from_unix_millis(180_000)));
    }

    #[test]
    fn the_instance_at_which_a_pass_stopped_may_be_removed_meanwhile() {
        let (mut ids, mut checks) = (ids(10), Vec::new());
        pass(&mut checks, &ids, 1, 4);
        ids.remove(3);
        assert_eq!(choose_next_instances(&checks, &ids), 3..9);
        assert_eq!(choose_next_instances(&checks, &ids[..3]), 0..3, "a new round");
        assert_eq!(choose_next_instances(&checks, &[]), 0..0);
    }
}
