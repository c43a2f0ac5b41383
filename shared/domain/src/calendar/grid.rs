//! The grid of the times at which appointments may begin, read from the clock on the wall.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Number of seconds from one time of the grid to the next.
fn grid_seconds(minutes: u16) -> i32 {
    i32::from(minutes.max(1)) * 60
}

/// Returns the seconds since the last time of the grid, by the clock on the wall in `zone`.
fn seconds_into_step(at: Timestamp, minutes: u16, zone: &TimeZone) -> i32 {
    let time = zone.to_datetime(at).time();
    let seconds = i32::from(time.hour()) * 3600 + i32::from(time.minute()) * 60 + i32::from(time.second());
    seconds % grid_seconds(minutes)
}

/// Returns `true` if the clock on the wall shows a multiple of `minutes` since midnight.
pub(super) fn is_time_of_grid(at: Timestamp, minutes: u16, zone: &TimeZone) -> bool {
    at.subsec_nanosecond() == 0 && seconds_into_step(at, minutes, zone) == 0
}

/// Returns the first time of the grid at or after `at`. A time that a change of clocks skips is none; one that occurs twice is two.
/// `None`: the end of all times is reached.
pub(super) fn first_time_on_grid(at: Timestamp, minutes: u16, zone: &TimeZone) -> Option<Timestamp> {
    let mut at = round_up_to_second(at)?;
    loop {
        let into = seconds_into_step(at, minutes, zone);
        if into == 0 {
            return Some(at);
        }
        let ahead = SignedDuration::from_secs(i64::from(grid_seconds(minutes) - into));
        let target = at.checked_add(ahead).ok()?;
        if zone.to_offset(target) == zone.to_offset(at) {
            return Some(target);
        }
        // The clocks change on the way: nothing between is skipped.
        let minute = SignedDuration::from_secs(60 - i64::from(into % 60));
        at = at.checked_add(minute).ok()?;
    }
}

fn round_up_to_second(at: Timestamp) -> Option<Timestamp> {
    match at.subsec_nanosecond() {
        0 => Some(at),
        part if part > 0 => Timestamp::from_second(at.as_second() + 1).ok(),
        _ => Timestamp::from_second(at.as_second()).ok(),
    }
}
