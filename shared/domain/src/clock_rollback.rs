//! Corrects stored times after a clock that ran ahead was set back. Such times lie in the future: an action would
//! start, or be allowed, only when the clock reaches them again.

use crate::alert::{Alert, Notification, NotificationState};
use crate::conversation::Conversation;
use crate::effects::Journal;
use crate::event::EventRecord;
use crate::instance::{InFlightSend, InstanceState, ParkedConversation};
use crate::invitations::{Batch, BatchState, Invitation, InvitationState};
use crate::message::Message;
use crate::outbox::OutboxState;
use crate::turn_places::TurnPlaces;
use crate::webhook_endpoint::{EndpointState, FailedEvent};
use jiff::Timestamp;

/// A correction of stored times after a clock was set back. Times that something waits for and that are later than now
/// are moved to now. Some of them were right (a retry, a rate slot, an opening); their record is then looked at early,
/// and waits again if it must. Times that a client chose, such as a scheduled message's, are not changed.
///
/// Each method returns `true` if it changed the record. A record with a revision gets the next revision then.
#[derive(Debug, Clone, Copy)]
pub struct ClockRollback {
    /// The present time, read from the corrected clock.
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

    /// Corrects the times of a conversation's turns, and of the contact's own rate limit.
    pub fn correct_conversation(self, conversation: &mut Conversation) -> bool {
        let mut changed = self.clamp_known_times([
            &mut conversation.waiting_since,
            &mut conversation.opening.scheduled_for,
            &mut conversation.opening.closed_told_at,
            &mut conversation.nudges.nudged_at,
            &mut conversation.contact.pair_arrival,
            &mut conversation.agent_returns_at,
            &mut conversation.limits.paused_until,
        ]);
        changed |= self.clamp_time(&mut conversation.last_message_at);
        if let Some(lease) = &mut conversation.lease {
            changed |= self.clamp_times([&mut lease.since, &mut lease.until]);
            changed |= self.clamp_known_times([&mut lease.left_since]);
        }
        if let Some(reengaged) = &mut conversation.features.reengaged {
            changed |= self.clamp_time(&mut reengaged.at);
        }
        if let Some(hold) = &mut conversation.features.thread_hold {
            changed |= self.clamp_time(&mut hold.at);
        }
        if let Some(picture) = &mut conversation.contact.picture {
            changed |= self.clamp_time(&mut picture.asked_at);
        }
        conversation.rev += u64::from(changed);
        changed
    }

    /// Corrects the times of a message's file and of its way out. An attempt that was claimed at or before now was claimed by
    /// a correct clock, so its message is left to the worker that makes the attempt.
    pub fn correct_message(self, message: &mut Message) -> bool {
        let mut changed = false;
        if let Some(out) = &mut message.out {
            changed |= match &mut out.state {
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
        }
        if let Some(file) = &mut message.file {
            changed |= file.set_times_back(self.now);
        }
        if changed {
            message.raise_revision();
        }
        changed
    }

    /// Corrects the times of an instance's rate limit, lines, probes, connection checks, downloads, catch-ups and first contacts.
    pub fn correct_instance(self, state: &mut InstanceState) -> bool {
        let of_downloads = state.downloads.set_times_back(self.now);
        let of_state = self.clamp_known_times([
            &mut state.since,
            &mut state.lost_at,
            &mut state.probe_at,
            &mut state.arrival,
            &mut state.places,
            &mut state.batch_line,
            &mut state.confirmed_at,
            &mut state.asked_at,
            &mut state.released_at,
            &mut state.catch_up_from,
            &mut state.caught_up_at,
            &mut state.first_contacts_from,
            &mut state.other_agent_at,
        ]);
        of_downloads || of_state
    }

    /// Corrects the times of a parked conversation.
    pub fn correct_parked(self, parked: &mut ParkedConversation) -> bool {
        let waits = self.clamp_known_times([&mut parked.not_before]);
        self.clamp_time(&mut parked.since) || waits
    }

    /// Corrects the times of an in-flight send, and marks it if its claim lies ahead.
    pub fn correct_in_flight(self, flight: &mut InFlightSend) -> bool {
        flight.is_time_unsure |= flight.claimed_at > self.now;
        self.clamp_times([&mut flight.claimed_at, &mut flight.until])
    }

    /// Corrects the times of a pending event.
    pub fn correct_event(self, event: &mut EventRecord) -> bool {
        let again = self.clamp_known_times([&mut event.again_at]);
        self.clamp_time(&mut event.job.received_at) || again
    }

    /// Corrects the times of a tenant's places of turns.
    pub fn correct_places(self, places: &mut TurnPlaces) -> bool {
        places.set_times_back(self.now)
    }

    /// Corrects the times of a thread's effects, and of the looks at its booked events.
    pub fn correct_journal(self, journal: &mut Journal) -> bool {
        journal.set_times_back(self.now)
    }

    /// Corrects the times of an invitation's e-mail.
    pub fn correct_invitation(self, invitation: &mut Invitation) -> bool {
        let InvitationState::Email { outbox } = &mut invitation.state else {
            return false;
        };
        let changed = outbox.set_times_back(self.now);
        if changed {
            invitation.raise_revision();
        }
        changed
    }

    /// Corrects the time of the next look at a batch. The time of one that a client wants later stays.
    pub fn correct_batch(self, batch: &mut Batch) -> bool {
        batch.state != BatchState::Scheduled && self.clamp_known_times([&mut batch.due_at])
    }

    /// Corrects the times of the posts to an endpoint.
    pub fn correct_endpoint(self, state: &mut EndpointState) -> bool {
        state.set_times_back(self.now)
    }

    /// Corrects the time of the next post of an event that an endpoint did not accept.
    pub fn correct_failed_event(self, failed: &mut FailedEvent) -> bool {
        self.clamp_known_times([&mut failed.next_at])
    }

    /// Corrects the time since which a condition holds, after which an alert of it is told. An alert that ended stays as it is.
    pub fn correct_alert(self, alert: &mut Alert) -> bool {
        alert.ended_at.is_none() && self.clamp_time(&mut alert.since)
    }

    /// Corrects the time of the next attempt to deliver a notification. One that was given up stays as it is.
    pub fn correct_notification(self, notification: &mut Notification) -> bool {
        notification.state == NotificationState::Pending && self.clamp_time(&mut notification.due_at)
    }
}
