//! The budget of Meta's business portfolio for campaigns: to how many people its batches may write within any 24 hours.

use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Share of the portfolio's messaging limit, in percent, that batches use together. The rest is left to conversations: templates
/// that answer a contact whose 24 hours are over count for the same limit.
pub const CAMPAIGN_SHARE: u64 = 80;

const HOUR_SECONDS: i64 = 3_600;

/// Number of hours that count. One more than a day, since the first and the last hour are parts of hours.
const HOURS: i64 = 25;

/// The people to whom the batches of a portfolio wrote, by the hour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CampaignUse(Vec<(i64, u64)>);

impl CampaignUse {
    fn hour(at: Timestamp) -> i64 {
        at.as_second().div_euclid(HOUR_SECONDS)
    }

    /// Returns the number of people of the last 24 hours, and of the hour in which they began.
    pub fn count_people(&self, now: Timestamp) -> u64 {
        let first = Self::hour(now) - HOURS + 1;
        let counts = self.0.iter().filter(|(hour, _)| *hour >= first);
        counts.map(|(_, people)| people).sum()
    }

    /// Reserves `count` people of the part of `limit` that is for batches. `Err` with the time at which to ask again, if they are too
    /// many. A reservation that is larger than the whole part is made where nothing else is.
    pub fn reserve_people(&mut self, limit: u32, count: usize, now: Timestamp) -> Result<(), Timestamp> {
        let (this, most) = (Self::hour(now), (u64::from(limit) * CAMPAIGN_SHARE / 100).max(1));
        self.0.retain(|(hour, _)| *hour > this - HOURS && *hour <= this);
        let used = self.count_people(now);
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        if used > 0 && used.saturating_add(count) > most {
            return Err(self.find_free_hour(used.saturating_add(count) - most, now));
        }
        match self.0.last_mut().filter(|(hour, _)| *hour == this) {
            Some((_, people)) => *people = people.saturating_add(count),
            None => self.0.push((this, count)),
        }
        Ok(())
    }

    /// Returns the time at which so many people count no longer.
    fn find_free_hour(&self, mut people: u64, now: Timestamp) -> Timestamp {
        for (hour, gone) in &self.0 {
            people = people.saturating_sub(*gone);
            if people == 0 {
                let free = Timestamp::from_second((hour + HOURS) * HOUR_SECONDS);
                return free.unwrap_or(now).max(now);
            }
        }
        add_duration(now, SignedDuration::from_hours(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;
    use proptest::prelude::*;

    fn minutes(count: i64) -> Timestamp {
        from_unix_millis(count * 60_000)
    }

    #[test]
    fn batches_get_their_share_and_wait_until_a_day_is_over() {
        let mut used = CampaignUse::default();
        for _ in 0..4 {
            assert_eq!(used.reserve_people(250, 50, minutes(10)), Ok(()));
        }
        assert_eq!(used.reserve_people(250, 50, minutes(20)), Err(minutes(25 * 60)));
        assert_eq!(used.count_people(minutes(20)), 200);
        // A limit that rose lets them go on at once.
        assert_eq!(used.reserve_people(2_000, 50, minutes(30)), Ok(()));
        assert_eq!(used.reserve_people(250, 200, minutes(25 * 60 + 1)), Ok(()));
    }

    #[test]
    fn a_step_that_is_larger_than_the_share_goes_alone() {
        let mut used = CampaignUse::default();
        assert_eq!(used.reserve_people(50, 120, minutes(0)), Ok(()));
        assert!(used.reserve_people(50, 1, minutes(1)).is_err());
    }

    proptest! {
        #[test]
        fn no_24_hours_hold_more_than_the_share(gaps in proptest::collection::vec(0_i64..240, 1..80), step in 1_usize..60) {
            let (mut used, mut now, mut made) = (CampaignUse::default(), 0_i64, Vec::new());
            for gap in gaps {
                now += gap;
                if used.reserve_people(250, step, minutes(now)).is_ok() {
                    made.push(now);
                }
            }
            for first in &made {
                let within = made.iter().filter(|at| (*first..first + 24 * 60).contains(*at)).count();
                prop_assert!(within * step <= 200, "{} of {step} from {first} on", within);
            }
        }

        #[test]
        fn what_was_refused_is_possible_at_the_told_time(first in 1_usize..200, then in 1_usize..200) {
            let mut used = CampaignUse::default();
            prop_assert!(used.reserve_people(250, first, minutes(7)).is_ok());
            if let Err(at) = used.reserve_people(250, then, minutes(70)) {
                prop_assert!(at > minutes(70));
                prop_assert!(used.reserve_people(250, then, at).is_ok());
            }
        }
    }
}
