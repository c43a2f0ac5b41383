//! What a clock that ran ahead leaves behind once it is set back: times at which something is to happen, or before which
//! nothing may, that the clock reaches only when it is there again.

use crate::conversation::Conversation;
use crate::event::EventRecord;
use crate::instance::{InFlightSend, InstanceState, ParkedConversation};
use crate::message::Message;
use crate::outbox::OutboxState;
use jiff::Timestamp;

/// A clock that was set back. Whatever lies ahead of it, by which something waits, is moved to now. What lay ahead rightly (a
/// retry, a slot, an opening) comes early then: it is looked at, and waits again or not. What waits for a time of its own, as a
/// scheduled message does, is none of this.
///
/// Each method says whether it changed anything. A record with a revision gets the next one.
#[derive(Debug, Clone, Copy)]
pub struct ClockRollback {
    /// What the clock says now.
    pub now: Timestamp,
}

impl ClockRollback {
    fn clamp_time(self, at: &mut Timestamp) -> bool {
        let ahead = *at > self.now;
        *at = self.now.min(*at);
        ahead
    }

    fn clamp_times<'a>(self, times: impl IntoIterator<Item = &'a mut Timestamp>) -> bool {
        let mut changed = false;
        for at in times {
            changed |= self.clamp_time(at);
        }
        changed
    }

    fn clamp_known_times<'a>(self, times: impl IntoIterator<Item = &'a mut Option<Timestamp>>) -> bool {
        self.clamp_times(times.into_iter().flatten())
    }

    /// A conversation's turns, and the contact's own rate.
    pub fn correct_conversation(self, conversation: &mut Conversation) -> bool {
        let mut changed = self.clamp_known_times([
            &mut conversation.waiting_since,
            &mut conversation.scheduled_for,
            &mut conversation.nudged_at,
            &mut conversation.pair_arrival,
        ]);
        changed |= self.clamp_time(&mut conversation.last_message_at);
        if let Some(lease) = &mut conversation.lease {
            changed |= self.clamp_times([&mut lease.since, &mut lease.until]);
        }
        if let Some(reengaged) = &mut conversation.reengaged {
            changed |= self.clamp_time(&mut reengaged.at);
        }
        conversation.rev += u64::from(changed);
        changed
    }

    /// A message's way out. An attempt that was claimed by a right clock is left to whoever makes it.
    pub fn correct_message(self, message: &mut Message) -> bool {
        let Some(out) = &mut message.out else { return false };
        let mut changed = match &mut out.state {
            OutboxState::Sending { claimed_at, .. } if *claimed_at <= self.now => return false,
            OutboxState::Sending {
                claimed_at,
                lease_until,
                ..
            } => self.clamp_times([claimed_at, lease_until]),
            OutboxState::Unknown { claimed_at, .. } => self.clamp_time(claimed_at),
            _ => false,
        };
        changed |= self.clamp_known_times([&mut out.slot, &mut out.not_before, &mut out.look_at]);
        changed |= self.clamp_time(&mut message.stored_at);
        out.rev += u64::from(changed);
        changed
    }

    /// An instance's rate and probes.
    pub fn correct_instance(self, state: &mut InstanceState) -> bool {
        self.clamp_known_times([
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
    pub fn correct_parked(self, parked: &mut ParkedConversation) -> bool {
        let waits = self.clamp_known_times([&mut parked.not_before]);
        self.clamp_time(&mut parked.since) || waits
    }

    /// The note of a send in flight.
    pub fn correct_in_flight(self, flight: &mut InFlightSend) -> bool {
        self.clamp_times([&mut flight.claimed_at, &mut flight.until])
    }

    /// An event that is pending.
    pub fn correct_event(self, event: &mut EventRecord) -> bool {
        let again = self.clamp_known_times([&mut event.again_at]);
        self.clamp_time(&mut event.job.received_at) || again
    }
}
