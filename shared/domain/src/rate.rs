//! The rate limit of an instance, computed from one number: the theoretical arrival time (GCRA).
//!
//! A message reserves its slot once, even if the slot lies in the future, and then waits for it. So a thousand waiting
//! messages do not compete for tokens, and only one number per instance is stored.

use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time after its start for which a slot may still be used.
pub const SLOT_SLACK: SignedDuration = SignedDuration::from_secs(1);

/// Distance ahead of the clock up to which a stored time is always believed: 24 hours.
const TRUSTED_AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Number of messages that may wait for their slots at once, at least.
const BACKLOG: i32 = 100_000;

/// A limit on the speed at which an instance sends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Messages per second in the long run.
    pub per_second: f64,
    /// Number of messages that may leave at once after a pause.
    pub burst: u32,
}

impl Rate {
    /// Rate of Evolution API, meant to keep its unofficial connection from being banned.
    pub const EVOLUTION: Self = Self {
        per_second: 1.0,
        burst: 5,
    };
    /// Meta's default throughput of a number.
    pub const META: Self = Self {
        per_second: 80.0,
        burst: 160,
    };
    /// Meta's limit for one recipient: one message in 6 seconds, and 45 at once after a pause.
    pub const META_PAIR: Self = Self {
        per_second: 1.0 / 6.0,
        burst: 45,
    };

    /// Returns the time between two messages in the long run, in whole milliseconds and at least one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rate below one message a day is clamped"
    )]
    pub fn interval(&self) -> SignedDuration {
        let per_second = if self.per_second.is_finite() {
            self.per_second.max(1.0 / 86_400.0)
        } else {
            1.0
        };
        SignedDuration::from_millis(((1000.0 / per_second).ceil() as i64).max(1))
    }

    /// Returns the time by which messages may run ahead of the long-run rate. Slots may be used late
    /// ([`SLOT_SLACK`]). The burst is reduced by that time, so that the promised rate holds in every window.
    fn tolerance(&self) -> SignedDuration {
        let others = i32::try_from(self.burst.max(1) - 1).unwrap_or(i32::MAX);
        self.interval()
            .saturating_mul(others)
            .saturating_sub(SLOT_SLACK)
            .max(SignedDuration::ZERO)
    }

    /// Returns the latest arrival time or slot that is believed at `now`: 24 hours ahead, or further if the rate is slow
    /// or the burst large. A later time was stored by a clock that ran ahead and was set back. It is ignored; otherwise
    /// no message would leave until the clock reaches it.
    pub fn latest_plausible_time(&self, now: Timestamp) -> Timestamp {
        let backlog = self.interval().saturating_mul(BACKLOG);
        add_duration(now, TRUSTED_AHEAD.max(backlog).saturating_add(self.tolerance()))
    }

    /// Reserves a slot at `now`, given the stored arrival time. Returns the slot and the arrival time to store.
    pub fn reserve_slot(&self, stored: Option<Timestamp>, now: Timestamp) -> Slot {
        let believed = stored.filter(|stored| *stored <= self.latest_plausible_time(now));
        let arrival = believed.map_or(now, |stored| stored.max(now));
        Slot {
            at: now.max(add_duration(arrival, -self.tolerance())),
            arrival: add_duration(arrival, self.interval()),
        }
    }
}

/// The places of messages that let others go before them: the arrival times of an instance's slots, and of these places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlotLines {
    /// Theoretical arrival time of the slots.
    pub arrival: Option<Timestamp>,
    /// Time of the next place, as far as places are taken.
    pub places: Option<Timestamp>,
}

/// The result of a reservation by a message that lets others go before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldingSlot {
    /// The slot is near, and reserved.
    Slot(Slot),
    /// The next slot is too far ahead to be reserved. The message asks again at `at`.
    Place {
        /// Time at which to ask again.
        at: Timestamp,
        /// Time of the next place after this one, to be stored.
        next: Timestamp,
    },
}

impl Rate {
    /// Returns the distance of the farthest slot that a message reserves which lets others go before it. It suffices that the
    /// instance is never idle while such messages wait.
    fn yielding_reach(&self) -> SignedDuration {
        self.interval().max(SLOT_SLACK)
    }

    /// Reserves a slot at `now` for a message that lets others go before it: a near one, or else a place behind all that wait
    /// so. `holds_place`: the message took a place before, and its time has come.
    pub fn reserve_yielding(&self, lines: SlotLines, holds_place: bool, now: Timestamp) -> YieldingSlot {
        let slot = self.reserve_slot(lines.arrival, now);
        let near_at = add_duration(slot.at, -self.yielding_reach());
        let latest = self.latest_plausible_time(now);
        let places = lines.places.filter(|places| *places <= latest);
        let behind_all = places.map_or(near_at, |places| places.max(near_at));
        if near_at <= now && (holds_place || behind_all <= now) {
            return YieldingSlot::Slot(slot);
        }
        YieldingSlot::Place {
            at: behind_all,
            next: add_duration(behind_all, self.interval()),
        }
    }
}

/// Share of an instance's rate, in percent, that its batches use together. The rest is left to conversations.
pub const BATCH_SHARE: i32 = 75;

impl Rate {
    /// Returns the number of recipients of a batch whose invitations are made at once: what the batches' share lets out in two
    /// seconds, at least `least`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is positive, and a step is bounded by its caller"
    )]
    pub fn batch_step(&self, least: usize) -> usize {
        let share = f64::from(BATCH_SHARE) / 100.0;
        let step = (self.per_second * share * 2.0).floor().clamp(1.0, 10_000.0) as usize;
        step.max(least)
    }

    /// Reserves the batches' line of an instance for `count` messages, given the time until which it is reserved. Returns that time
    /// after the reservation; `Err` with the time from which the line is free, if it is not.
    pub fn reserve_batch(
        &self,
        stored: Option<Timestamp>,
        count: usize,
        now: Timestamp,
    ) -> Result<Timestamp, Timestamp> {
        let believed = stored.filter(|stored| *stored <= self.latest_plausible_time(now));
        if let Some(free_at) = believed.filter(|stored| *stored > now) {
            return Err(free_at);
        }
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        let taken = self.interval().saturating_mul(count).saturating_mul(100) / BATCH_SHARE;
        Ok(add_duration(now, taken))
    }
}

/// A reserved slot and the arrival time to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Time at which the message may leave.
    pub at: Timestamp,
    /// Theoretical arrival time after the message, to be stored.
    pub arrival: Timestamp,
}

/// Wait for a slot from which on a warning is logged: a minute.
pub const LONG_SLOT_WAIT: SignedDuration = SignedDuration::from_mins(1);

/// Returns `true` if a wait for a slot is worth a warning. Of messages that wait one behind the other, one for each minute of
/// the wait is.
pub fn is_long_wait(wait: SignedDuration, rate: Rate) -> bool {
    let minutes = |wait: SignedDuration| wait.as_secs().div_euclid(LONG_SLOT_WAIT.as_secs());
    wait >= LONG_SLOT_WAIT && minutes(wait) > minutes(wait.saturating_sub(rate.interval()))
}

/// Returns `true` if `slot` can no longer be used at `now`: it began more than [`SLOT_SLACK`] ago.
pub fn is_slot_missed(slot: Timestamp, now: Timestamp) -> bool {
    now > add_duration(slot, SLOT_SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;
    use proptest::prelude::*;

    fn slots(rate: Rate, asks: &[i64]) -> Vec<i64> {
        let mut stored = None;
        asks.iter()
            .map(|at| {
                let slot = rate.reserve_slot(stored, from_unix_millis(*at));
                stored = Some(slot.arrival);
                slot.at.as_millisecond()
            })
            .collect()
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_a_second_apart() {
        // Burst 5, less one for slots used up to a second late: four at once.
        assert_eq!(slots(Rate::EVOLUTION, &[0; 7]), [0, 0, 0, 0, 1000, 2000, 3000]);
    }

    /// Plays messages that ask at times of milliseconds: `true` lets others go before it. Returns when each leaves.
    fn play(rate: Rate, asks: &[(i64, bool)]) -> Vec<i64> {
        let (mut lines, mut left) = (SlotLines::default(), vec![None; asks.len()]);
        let mut waiting: Vec<(i64, usize, bool)> = asks
            .iter()
            .enumerate()
            .map(|(number, (at, _))| (*at, number, false))
            .collect();
        loop {
            waiting.sort_unstable_by(|a, b| b.cmp(a));
            let Some((at, number, holds_place)) = waiting.pop() else {
                return left.into_iter().map(Option::unwrap).collect();
            };
            let (now, yields) = (from_unix_millis(at), asks[number].1);
            let got = if yields {
                rate.reserve_yielding(lines, holds_place, now)
            } else {
                YieldingSlot::Slot(rate.reserve_slot(lines.arrival, now))
            };
            match got {
                YieldingSlot::Slot(slot) => {
                    lines.arrival = Some(slot.arrival);
                    left[number] = Some(slot.at.as_millisecond());
                }
                YieldingSlot::Place { at, next } => {
                    lines.places = Some(next);
                    waiting.push((at.as_millisecond(), number, true));
                }
            }
        }
    }

    #[test]
    fn a_reply_goes_before_what_a_client_sends_in_bulk_and_delays_it_by_its_own_slot_alone() {
        let bulk = [(0, true); 100];
        let alone = play(Rate::EVOLUTION, &bulk);
        assert_eq!(*alone.iter().max().unwrap(), 96_000, "the whole rate is used");
        let replies = [(10_500, false), (10_600, false), (50_500, false)];
        let left = play(Rate::EVOLUTION, &[&bulk[..], &replies].concat());
        let (bulk, replies) = left.split_at(bulk.len());
        for ((asked, _), left) in [(10_500, false), (10_600, false), (50_500, false)]
            .iter()
            .zip(replies)
        {
            assert!(left - asked <= 3_000, "asked at {asked}, left at {left}");
        }
        assert_eq!(*bulk.iter().max().unwrap(), 99_000, "three slots later");
    }

    #[test]
    fn batches_use_their_share_of_the_rate_and_no_more() {
        for rate in [Rate::EVOLUTION, Rate::META] {
            let (mut line, mut sent, mut now) = (None, 0_usize, 0_i64);
            while now < 6_000_000 {
                match rate.reserve_batch(line, rate.batch_step(20), from_unix_millis(now)) {
                    Ok(until) => {
                        line = Some(until);
                        sent += rate.batch_step(20);
                    }
                    Err(free_at) => now = free_at.as_millisecond(),
                }
            }
            let all = rate.per_second * 6_000.0;
            #[expect(clippy::cast_precision_loss, reason = "a small number")]
            let share = sent as f64 / all;
            assert!((0.70..=0.76).contains(&share), "{share} of {rate:?}");
        }
    }

    #[test]
    fn a_line_of_batches_from_a_clock_that_ran_ahead_blocks_no_batch_once_it_is_set_back() {
        let (now, year) = (from_unix_millis(0), from_unix_millis(365 * 86_400_000));
        let ahead = Rate::EVOLUTION.reserve_batch(None, 20, year).unwrap();
        let new = Rate::EVOLUTION.reserve_batch(None, 20, now);
        assert_eq!(Rate::EVOLUTION.reserve_batch(Some(ahead), 20, now), new);
        let near = new.unwrap();
        assert_eq!(Rate::EVOLUTION.reserve_batch(Some(near), 20, now), Err(near));
    }

    #[test]
    fn of_messages_that_wait_one_behind_the_other_one_a_minute_is_worth_a_warning() {
        let second = SignedDuration::from_secs(1);
        let warned: Vec<i32> = (0..200)
            .filter(|wait| is_long_wait(second * *wait, Rate::EVOLUTION))
            .collect();
        assert_eq!(warned, [60, 120, 180]);
        let slow = Rate {
            per_second: 0.01,
            burst: 1,
        };
        assert!(is_long_wait(second * 100, slow) && !is_long_wait(second * 59, slow));
    }

    #[test]
    fn a_pause_brings_the_burst_back() {
        assert_eq!(
            slots(Rate::EVOLUTION, &[0, 0, 0, 0, 60_000, 60_000]),
            [0, 0, 0, 0, 60_000, 60_000]
        );
    }

    #[test]
    fn one_recipient_gets_a_burst_and_then_a_message_every_six_seconds() {
        let slots = slots(Rate::META_PAIR, &[0; 60]);
        assert!(
            slots[..44].iter().all(|slot| *slot == 0),
            "45, less one for late use"
        );
        let spaced = slots[45..]
            .windows(2)
            .all(|pair| (6000..=6001).contains(&(pair[1] - pair[0])));
        assert!(spaced, "{slots:?}");
    }

    /// A time that is further ahead than waiting messages explain is ignored.
    #[test]
    fn a_clock_that_ran_ahead_blocks_nothing_once_it_is_set_back() {
        let (now, year) = (from_unix_millis(0), from_unix_millis(365 * 86_400_000));
        for rate in [Rate::EVOLUTION, Rate::META] {
            let ahead = rate.reserve_slot(None, year);
            assert_eq!(
                rate.reserve_slot(Some(ahead.arrival), now),
                rate.reserve_slot(None, now)
            );
        }
    }

    #[test]
    fn a_backlog_of_a_hundred_thousand_messages_is_believed() {
        let now = from_unix_millis(0);
        for per_second in [0.1, 1.0, 80.0] {
            let rate = Rate { per_second, burst: 5 };
            let arrival = add_duration(now, rate.interval() * 100_000);
            let slot = rate.reserve_slot(Some(arrival), now);
            assert_eq!(slot.arrival, add_duration(arrival, rate.interval()));
            assert!(slot.at > now);
        }
    }

    proptest! {
        #[test]
        fn one_recipient_never_gets_more_than_its_rate_in_any_window(
            gaps in proptest::collection::vec(0i64..20_000, 1..120),
            late in proptest::collection::vec(0i64..=1_000, 120),
        ) {
            let mut at = 0;
            let asks: Vec<i64> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let slots = slots(Rate::META_PAIR, &asks);
            prop_assert!(slots.iter().zip(&asks).all(|(slot, ask)| slot >= ask));
            prop_assert!(slots.is_sorted(), "order holds");
            let mut sent: Vec<i64> = slots.iter().zip(late).map(|(slot, late)| slot + late).collect();
            sent.sort_unstable();
            for (i, first) in sent.iter().enumerate() {
                for (j, last) in sent.iter().enumerate().skip(i) {
                    let count = i64::try_from(j - i + 1).unwrap();
                    prop_assert!(count <= 45 + (last - first) / 6000 + 1, "{} in {} ms", count, last - first);
                }
            }
        }

        #[test]
        fn no_window_holds_more_than_burst_and_rate_allow(
            gaps in proptest::collection::vec(0i64..3000, 1..80),
            late in proptest::collection::vec(0i64..=1_000, 80),
        ) {
            let mut at = 0;
            let asks: Vec<i64> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let mut sent: Vec<i64> = slots(Rate::EVOLUTION, &asks).iter().zip(late).map(|(slot, late)| slot + late).collect();
            sent.sort_unstable();
            for (i, first) in sent.iter().enumerate() {
                for (j, last) in sent.iter().enumerate().skip(i) {
                    let window = (last - first) / 1000;
                    let count = i64::try_from(j - i + 1).unwrap();
                    prop_assert!(count <= 5 + window + 1, "{} in {} ms", count, last - first);
                }
            }
        }
    }
}
