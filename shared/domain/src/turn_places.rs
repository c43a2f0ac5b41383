//! The places of a tenant's turns, where the tenant limits how many run at once: who has one, and who waits for one.

use crate::ids::{ConversationId, Nonce, TenantId};
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Number of turns whose order is kept at most. Those beyond it try again without one.
const WAITING_MAX: usize = 200;

/// The time for which a turn that waits keeps its order without being seen: its job may be gone.
const WAITING_KEPT: SignedDuration = SignedDuration::from_secs(20);

/// A turn that waits renews its order when less than this is left of it. It looks again sooner than that.
const RENEWED_BELOW: SignedDuration = SignedDuration::from_secs(12);

/// Longest time until a turn that waits looks again.
const LOOK_MAX: SignedDuration = SignedDuration::from_secs(8);

/// The places of a tenant's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnPlaces {
    /// The tenant.
    pub tenant: TenantId,
    /// The places that turns have.
    taken: Vec<TakenPlace>,
    /// The turns that wait for a place, those that came first in front.
    waiting: Vec<WaitingTurn>,
}

/// A place that a turn has until it ends, or until its worker's time is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TakenPlace {
    conversation: ConversationId,
    nonce: Nonce,
    #[serde(with = "millis")]
    until: Timestamp,
}

/// A turn that waits for a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct WaitingTurn {
    conversation: ConversationId,
    #[serde(with = "millis")]
    kept_until: Timestamp,
}

/// The answer to a turn that asks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceAnswer {
    /// The turn has a place, once the record is written.
    Taken,
    /// The turn waits.
    Waits {
        /// Time at which it asks again.
        until: Timestamp,
        /// `true` if the record changed: it keeps the turn's order.
        changed: bool,
    },
}

impl PlaceAnswer {
    /// Returns `true` if the record is to be written.
    pub fn changes_record(self) -> bool {
        !matches!(self, Self::Waits { changed: false, .. })
    }
}

impl TurnPlaces {
    /// Makes the record of a tenant of which no turn has a place or waits for one.
    pub fn new(tenant: TenantId) -> Self {
        Self {
            tenant,
            taken: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// Asks for a place of `limit` in all, which ends at `until` by itself. Places go to those that came first; a turn that
    /// is not seen any more loses its order, and a worker that crashed its place.
    pub fn ask_for_place(
        &mut self,
        limit: NonZeroU32,
        (conversation, nonce): (&ConversationId, &Nonce),
        now: Timestamp,
        until: Timestamp,
    ) -> PlaceAnswer {
        self.taken.retain(|place| place.until > now);
        self.waiting.retain(|turn| turn.kept_until > now);
        if self.taken.iter().any(|place| place.nonce == *nonce) {
            // The write that took it succeeded, although it seemed to fail.
            return PlaceAnswer::Taken;
        }
        if let Some(own) = self
            .taken
            .iter()
            .find(|place| place.conversation == *conversation)
        {
            // Another worker drafts the reply, or crashed at it.
            let until = own.until.min(add_duration(now, LOOK_MAX));
            return PlaceAnswer::Waits {
                until,
                changed: false,
            };
        }
        let known = self
            .waiting
            .iter()
            .position(|turn| turn.conversation == *conversation);
        let before = known.unwrap_or(self.waiting.len());
        let limit = usize::try_from(limit.get()).unwrap_or(usize::MAX);
        if before < limit.saturating_sub(self.taken.len()) {
            if let Some(known) = known {
                self.waiting.remove(known);
            }
            self.taken.push(TakenPlace {
                conversation: conversation.clone(),
                nonce: nonce.clone(),
                until,
            });
            return PlaceAnswer::Taken;
        }
        PlaceAnswer::Waits {
            until: add_duration(now, wait_behind(before)),
            changed: self.keep_order(conversation, known, now),
        }
    }

    /// Keeps the order of a turn that waits. Returns whether the record changed.
    fn keep_order(&mut self, conversation: &ConversationId, known: Option<usize>, now: Timestamp) -> bool {
        let kept_until = add_duration(now, WAITING_KEPT);
        if let Some(known) = known {
            let turn = &mut self.waiting[known];
            let is_old = turn.kept_until < add_duration(now, RENEWED_BELOW);
            if is_old {
                turn.kept_until = kept_until;
            }
            return is_old;
        }
        let has_room = self.waiting.len() < WAITING_MAX;
        if has_room {
            self.waiting.push(WaitingTurn {
                conversation: conversation.clone(),
                kept_until,
            });
        }
        has_room
    }

    /// Returns `true` if the turn of `conversation` waits for a place, as far as its order is kept.
    pub fn has_waiting_turn(&self, conversation: &ConversationId, now: Timestamp) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|turn| turn.conversation == *conversation && turn.kept_until > now)
    }

    /// Frees the places of all turns, whose process ended. Returns whether there were any.
    pub fn free_places(&mut self) -> bool {
        let is_freed = !self.taken.is_empty();
        self.taken.clear();
        is_freed
    }

    /// Sets times back that a clock that ran ahead gave. Places end, and who waits keeps the order as if just seen. Returns whether
    /// there were any.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let kept_until = add_duration(now, WAITING_KEPT);
        let places = self.taken.iter_mut().map(|place| (&mut place.until, now));
        let waiting = self
            .waiting
            .iter_mut()
            .map(|turn| (&mut turn.kept_until, kept_until));
        let mut is_changed = false;
        for (at, latest) in places.chain(waiting) {
            is_changed |= *at > latest;
            *at = latest.min(*at);
        }
        is_changed
    }

    /// Gives the place of `nonce` back. Returns whether there was one.
    pub fn give_place_back(&mut self, nonce: &Nonce) -> bool {
        let before = self.taken.len();
        self.taken.retain(|place| place.nonce != *nonce);
        self.taken.len() < before
    }
}

/// Returns how long a turn waits behind so many others that wait: the next looks soon, those far behind less often.
fn wait_behind(before: usize) -> SignedDuration {
    let seconds = i64::try_from(before).unwrap_or(i64::MAX).saturating_add(1);
    SignedDuration::from_secs(seconds.min(LOOK_MAX.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    const ONE: NonZeroU32 = NonZeroU32::MIN;

    fn at(seconds: i64) -> Timestamp {
        from_unix_millis(seconds * 1000)
    }

    fn nonce(number: u32) -> Nonce {
        Nonce::parse(&format!("{number:032x}")).unwrap()
    }

    fn turn(number: u32) -> (ConversationId, Nonce) {
        let conversation = ConversationId::parse(&format!("c_{number:032x}-1")).unwrap();
        (conversation, nonce(number))
    }

    fn no_places() -> TurnPlaces {
        TurnPlaces::new(TenantId::parse("clinic").unwrap())
    }

    /// Asks for a turn, for a place of 95 seconds.
    fn ask(places: &mut TurnPlaces, limit: NonZeroU32, number: u32, now: i64) -> PlaceAnswer {
        let (conversation, nonce) = turn(number);
        places.ask_for_place(limit, (&conversation, &nonce), at(now), at(now + 95))
    }

    fn waits(until: i64, changed: bool) -> PlaceAnswer {
        PlaceAnswer::Waits {
            until: at(until),
            changed,
        }
    }

    #[test]
    fn as_many_turns_as_allowed_have_a_place_and_the_next_gets_the_first_that_is_given_back() {
        let (mut places, two) = (no_places(), NonZeroU32::new(2).unwrap());
        assert_eq!(ask(&mut places, two, 1, 0), PlaceAnswer::Taken);
        assert_eq!(ask(&mut places, two, 2, 0), PlaceAnswer::Taken);
        assert_eq!(ask(&mut places, two, 3, 0), waits(1, true));
        assert!(places.give_place_back(&turn(1).1));
        assert!(!places.give_place_back(&turn(1).1), "once");
        assert_eq!(ask(&mut places, two, 3, 1), PlaceAnswer::Taken);
    }

    #[test]
    fn who_came_first_is_next_and_who_comes_later_waits_behind() {
        let mut places = no_places();
        assert_eq!(ask(&mut places, ONE, 1, 0), PlaceAnswer::Taken);
        assert_eq!(ask(&mut places, ONE, 2, 0), waits(1, true));
        assert_eq!(ask(&mut places, ONE, 3, 0), waits(2, true));
        places.give_place_back(&turn(1).1);
        assert_eq!(
            ask(&mut places, ONE, 4, 1),
            waits(4, true),
            "although there is a place"
        );
        assert_eq!(ask(&mut places, ONE, 3, 1), waits(3, false));
        assert_eq!(ask(&mut places, ONE, 2, 2), PlaceAnswer::Taken);
    }

    #[test]
    fn a_turn_that_is_seen_keeps_its_order_and_one_that_is_gone_loses_it() {
        let mut places = no_places();
        ask(&mut places, ONE, 1, 0);
        ask(&mut places, ONE, 2, 0);
        ask(&mut places, ONE, 3, 0);
        assert_eq!(ask(&mut places, ONE, 3, 8), waits(10, false));
        assert_eq!(ask(&mut places, ONE, 3, 9), waits(11, true), "renewed");
        places.give_place_back(&turn(1).1);
        assert_eq!(
            ask(&mut places, ONE, 3, 19),
            waits(21, true),
            "the second may come back"
        );
        assert_eq!(ask(&mut places, ONE, 3, 20), PlaceAnswer::Taken);
    }

    #[test]
    fn a_place_whose_worker_crashed_is_free_when_its_time_is_over() {
        let mut places = no_places();
        ask(&mut places, ONE, 1, 0);
        let (conversation, _) = turn(1);
        let again = nonce(9);
        let mut ask_again = |now| places.ask_for_place(ONE, (&conversation, &again), at(now), at(now + 95));
        assert_eq!(ask_again(1), waits(9, false));
        assert_eq!(ask_again(94), waits(95, false));
        assert_eq!(ask_again(95), PlaceAnswer::Taken);
    }

    #[test]
    fn who_asks_again_under_the_same_name_has_the_place_already() {
        let mut places = no_places();
        ask(&mut places, ONE, 1, 0);
        let text = serde_json::to_string(&places).unwrap();
        let mut read: TurnPlaces = serde_json::from_str(&text).unwrap();
        assert_eq!(read, places);
        assert_eq!(ask(&mut read, ONE, 1, 1), PlaceAnswer::Taken);
    }

    #[test]
    fn the_order_of_a_crowd_is_kept_up_to_a_bound() {
        let mut places = no_places();
        for number in 0..=u32::try_from(WAITING_MAX).unwrap() {
            ask(&mut places, ONE, number, 0);
        }
        assert_eq!(ask(&mut places, ONE, 9_999, 0), waits(8, false));
        assert_eq!(places.waiting.len(), WAITING_MAX);
    }
}
