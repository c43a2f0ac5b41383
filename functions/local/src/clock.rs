//! Notices that the machine's clock was set back while the process runs.

use jiff::Timestamp;
use std::time::{Duration, Instant};

/// The largest step back that is ignored: no work waits longer than that for the clock.
pub(crate) const SET_BACK_TOLERATED: Duration = Duration::from_secs(30);

/// The time of the machine's clock at the last look, with the monotonic time of the same moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClockWatch {
    wall_time: Timestamp,
    monotonic_time: Instant,
}

impl ClockWatch {
    pub(crate) fn new(says: Timestamp, now: Instant) -> Self {
        Self {
            wall_time: says,
            monotonic_time: now,
        }
    }

    /// Returns how far the clock was set back since the last call. `None` if it was not, or by no more than
    /// [`SET_BACK_TOLERATED`].
    pub(crate) fn measure_set_back(&mut self, says: Timestamp, now: Instant) -> Option<Duration> {
        let before = std::mem::replace(self, Self::new(says, now));
        let passed = i128::try_from(now.saturating_duration_since(before.monotonic_time).as_millis()).ok()?;
        let told = i128::from(says.as_millisecond()) - i128::from(before.wall_time.as_millisecond());
        let behind = Duration::from_millis(u64::try_from(passed - told).ok()?);
        (behind > SET_BACK_TOLERATED).then_some(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn a_clock_that_goes_on_or_is_set_forward_is_not_set_back() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let mut watch = ClockWatch::new(from_unix_millis(0), began);
        assert_eq!(watch.measure_set_back(from_unix_millis(60_000), at(60)), None);
        assert_eq!(
            watch.measure_set_back(from_unix_millis(118_500), at(120)),
            None,
            "a little slow"
        );
        assert_eq!(
            watch.measure_set_back(from_unix_millis(9_000_000), at(180)),
            None,
            "set forward"
        );
        assert_eq!(
            watch.measure_set_back(from_unix_millis(5_460_000), at(240)),
            Some(Duration::from_secs(3600)),
            "set back by an hour in this minute"
        );
        assert_eq!(
            watch.measure_set_back(from_unix_millis(5_520_000), at(300)),
            None,
            "told once"
        );
    }
}
