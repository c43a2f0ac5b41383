//! The time that a turn has, so that it commits its reply before the function that runs it ends.

use jiff::{SignedDuration, Timestamp};
use recado_domain::millis::add_duration;
use std::time::Duration;

/// Maximum time from the start of a turn to the answer of the model. The function's time-out is 90 seconds.
const TURN_TIME: SignedDuration = SignedDuration::from_secs(85);

/// Time that is left for the commit before the function ends.
const COMMIT_TIME: SignedDuration = SignedDuration::from_secs(5);

/// Shortest time for which a model is asked. A turn with less comes back.
const MODEL_TIME_MIN: SignedDuration = SignedDuration::from_secs(5);

/// The time that a turn has for everything before its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnTime {
    ends: Timestamp,
}

impl TurnTime {
    /// Makes the time of a turn that begins at `began_at`, in a function that ends at `deadline`, if it ends.
    pub(super) fn from_start(began_at: Timestamp, deadline: Option<Timestamp>) -> Self {
        let ends = add_duration(began_at, TURN_TIME);
        let latest = deadline.map(|deadline| add_duration(deadline, -COMMIT_TIME));
        Self {
            ends: latest.map_or(ends, |latest| latest.min(ends)),
        }
    }

    /// Returns the time that the model has from `now` on, at most `usual`. `None`: too little is left to ask it.
    pub(super) fn left_for_model(self, now: Timestamp, usual: SignedDuration) -> Option<Duration> {
        let left = self.ends.duration_since(now).min(usual);
        (left >= MODEL_TIME_MIN.min(usual)).then(|| left.unsigned_abs())
    }

    /// Returns the time at which the last call of a tool must have ended. The model keeps its shortest time.
    pub(super) fn last_call_ends(self) -> Timestamp {
        add_duration(self.ends, -MODEL_TIME_MIN)
    }

    /// Returns the time that the turn may wait from `now` on for what the model should read, at most `usual`. The model
    /// keeps its shortest time.
    pub(super) fn left_for_files(self, now: Timestamp, usual: SignedDuration) -> SignedDuration {
        let left = self.ends.duration_since(now) - MODEL_TIME_MIN;
        left.clamp(SignedDuration::ZERO, usual)
    }

    /// Returns the time from `now` until `at`, or until the turn must commit if that is sooner.
    pub(super) fn left_until(self, at: Timestamp, now: Timestamp) -> Duration {
        let left = at.min(self.ends).duration_since(now);
        left.max(SignedDuration::ZERO).unsigned_abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    const USUAL: SignedDuration = SignedDuration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        from_unix_millis(second * 1_000)
    }

    fn left(time: TurnTime, second: i64) -> Option<u64> {
        time.left_for_model(at(second), USUAL).map(|left| left.as_secs())
    }

    #[test]
    fn the_model_has_what_is_left_of_85_seconds_and_60_at_most() {
        let time = TurnTime::from_start(at(0), None);
        let expected = [
            (0, Some(60)),
            (25, Some(60)),
            (29, Some(56)),
            (80, Some(5)),
            (81, None),
            (99, None),
        ];
        for (second, expected) in expected {
            assert_eq!(left(time, second), expected, "after {second} s");
        }
    }

    #[test]
    fn a_turn_that_begins_late_in_its_function_ends_before_it() {
        let time = TurnTime::from_start(at(30), Some(at(90)));
        for (second, expected) in [(30, Some(55)), (60, Some(25)), (81, None)] {
            assert_eq!(left(time, second), expected, "after {second} s");
        }
        let early = TurnTime::from_start(at(0), Some(at(90)));
        assert_eq!(early, TurnTime::from_start(at(0), None));
    }

    #[test]
    fn a_wait_ends_at_its_time_or_when_the_turn_must_commit() {
        let time = TurnTime::from_start(at(0), None);
        for (now, until, expected) in [(1, 3, 2), (3, 3, 0), (9, 3, 0), (84, 90, 1), (86, 90, 0)] {
            let left = time.left_until(at(until), at(now));
            assert_eq!(left.as_secs(), expected, "from {now} s until {until} s");
        }
    }

    #[test]
    fn files_leave_the_model_its_shortest_time() {
        let time = TurnTime::from_start(at(0), None);
        let usual = SignedDuration::from_secs(25);
        for (second, expected) in [(0, 25), (55, 25), (70, 10), (80, 0), (95, 0)] {
            let left = time.left_for_files(at(second), usual);
            assert_eq!(left.as_secs(), expected, "after {second} s");
        }
    }
}
