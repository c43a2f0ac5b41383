//! What a clock that ran ahead leaves behind once it is set back: times at which something is to happen, or before which
//! nothing may, that the clock reaches only when it is there again.

use crate::conversation::Conversation;
use crate::event::EventRecord;
use crate::instance::{InFlight, InstanceState, Parked};
use crate::message::Message;
use crate::outbox::OutboxState;
use jiff::Timestamp;

/// A clock that was set back. Whatever lies ahead of it, by which something waits, is moved to now. What lay ahead rightly (a
/// retry, a slot, an opening) comes early then: it is looked at, and waits again or not. What waits for a time of its own, as a
/// scheduled message does, is none of this.
///
/// Each method says whether it changed anything. A record with a revision gets the next one.
#[derive(Debug, Clone, Copy)]
pub struct SetBack {
    /// What the clock says now.
    pub now: Timestamp,
}

impl SetBack {
    fn one(self, at: &mut Timestamp) -> bool {
        let ahead = *at > self.now;
        *at = self.now.min(*at);
        ahead
    }

    fn each<'a>(self, times: impl IntoIterator<Item = &'a mut Timestamp>) -> bool {
        let mut changed = false;
        for at in times {
            changed |= self.one(at);
        }
        changed
    }

    fn those<'a>(self, times: impl IntoIterator<Item = &'a mut Option<Timestamp>>) -> bool {
        self.each(times.into_iter().flatten())
    }

    /// A conversation's turns, and the contact's own rate.
    pub fn conversation(self, conversation: &mut Conversation) -> bool {
        let mut changed = self.those([
            &mut conversation.waiting_since,
            &mut conversation.scheduled_for,
            &mut conversation.nudged_at,
            &mut conversation.pair_arrival,
        ]);
        changed |= self.one(&mut conversation.last_message_at);
        if let Some(lease) = &mut conversation.lease {
            changed |= self.each([&mut lease.since, &mut lease.until]);
        }
        if let Some(reengaged) = &mut conversation.reengaged {
            changed |= self.one(&mut reengaged.at);
        }
        conversation.rev += u64::from(changed);
        changed
    }

    /// A message's way out. An attempt that was claimed by a right clock is left to whoever makes it.
    pub fn message(self, message: &mut Message) -> bool {
        let Some(out) = &mut message.out else { return false };
        let mut changed = match &mut out.state {
            OutboxState::Sending { claimed_at, .. } if *claimed_at <= self.now => return false,
            OutboxState::Sending {
                claimed_at,
                lease_until,
                ..
            } => self.each([claimed_at, lease_until]),
            OutboxState::Unknown { claimed_at, .. } => self.one(claimed_at),
            _ => false,
        };
        changed |= self.those([&mut out.slot, &mut out.not_before, &mut out.look_at]);
        changed |= self.one(&mut message.stored_at);
        out.rev += u64::from(changed);
        changed
    }

    /// An instance's rate and probes.
    pub fn instance(self, state: &mut InstanceState) -> bool {
        self.those([
            &mut state.since,
            &mut state.probe_at,
            &mut state.arrival,
            &mut state.confirmed_at,
            &mut state.asked_at,
            &mut state.released_at,
            &mut state.catch_up_from,
            &mut state.caught_up_at,
        ])
    }

    /// A parked conversation.
    pub fn parked(self, parked: &mut Parked) -> bool {
        let waits = self.those([&mut parked.not_before]);
        self.one(&mut parked.since) || waits
    }

    /// The note of a send in flight.
    pub fn in_flight(self, flight: &mut InFlight) -> bool {
        self.each([&mut flight.claimed_at, &mut flight.until])
    }

    /// An event that is pending.
    pub fn event(self, event: &mut EventRecord) -> bool {
        let again = self.those([&mut event.again_at]);
        self.one(&mut event.job.received_at) || again
    }
}
