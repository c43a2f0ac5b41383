//! How often one recipient is written to.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// At most so many deliveries to one recipient in any time of so many hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct FrequencyCap {
    /// Greatest number of deliveries, 1 to 100.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 100))]
    pub messages: u32,
    /// The time in which they are counted, in hours, 1 to 720.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 720))]
    pub hours: u32,
}

impl FrequencyCap {
    pub(super) fn is_in_valid_range(self) -> bool {
        (1..=100).contains(&self.messages) && (1..=720).contains(&self.hours)
    }

    /// Returns the time in which deliveries are counted.
    pub fn counting_window(self) -> SignedDuration {
        SignedDuration::from_hours(i64::from(self.hours))
    }

    /// Returns the earliest time from `now` on at which one more delivery is within the cap.
    pub(super) fn find_next_time(self, earlier: &[Timestamp], now: Timestamp) -> Timestamp {
        let counted_from = now
            .saturating_sub(self.counting_window())
            .unwrap_or(Timestamp::MIN);
        let mut counted: Vec<Timestamp> = earlier.iter().copied().filter(|at| *at > counted_from).collect();
        counted.sort_unstable();
        // So many of the newest may stay in the window beside the one that is asked for.
        let beside = usize::try_from(self.messages.saturating_sub(1)).unwrap_or(usize::MAX);
        match counted.len().checked_sub(beside + 1) {
            None => now,
            Some(last_to_leave) => counted[last_to_leave]
                .saturating_add(self.counting_window())
                .unwrap_or(Timestamp::MAX),
        }
    }
}
