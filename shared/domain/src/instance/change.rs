//! The changes of an instance's state, as one rule for every store.

use super::{
    ConnectionStatus, ConnectionUpdate, InstanceState, NumberStanding, OpeningQueue, SeenStanding,
    TrafficProfile, UnansweredAttempt,
};
use crate::ids::ConversationId;
use crate::millis::add_duration;
use crate::rate::Rate;
use jiff::{SignedDuration, Timestamp};

/// A change of an instance's state, to be stored by [`InstanceState::apply_change`].
#[derive(Debug, Clone, PartialEq)]
pub enum InstanceChange {
    /// Stores an observation of the connection. Done if the connection's status changed.
    Connection(ConnectionUpdate),
    /// Claims the check of the connection: sets `asked_at` to `now`. Done if the instance is open and was neither asked
    /// nor confirmed since `before`.
    ClaimCheck {
        /// Time of the claim.
        now: Timestamp,
        /// Time since which nobody may have asked or confirmed.
        before: Timestamp,
    },
    /// Sets `confirmed_at` to this time. Done if the instance is open.
    Confirm(Timestamp),
    /// Claims an automatic catch-up: sets `caught_up_at` to `now`. Done if none was claimed since `before`.
    ClaimCatchUp {
        /// Time of the claim.
        now: Timestamp,
        /// Time since which no catch-up may have been claimed.
        before: Timestamp,
    },
    /// Stores the progress of a catch-up: sets `catch_up_from` to `rest`. Done if `catch_up_from` and `since` are as
    /// they were read: an instance that closed meanwhile may have missed more.
    CatchUp {
        /// `catch_up_from` as it was read.
        from: Option<Timestamp>,
        /// `since` as it was read.
        since: Option<Timestamp>,
        /// Start of the next catch-up; `None` if everything was read.
        rest: Option<Timestamp>,
    },
    /// Stores the pattern in which the instance's contacts usually write.
    Traffic(TrafficProfile),
    /// Counts an attempt that got no answer. Done if it was counted.
    Unanswered(UnansweredAttempt),
    /// Forgets the attempts that got no answer.
    ResetTimeouts,
    /// Counts a refusal of a send that may be one of the whole instance. Done if the instance's messages must wait.
    Refused {
        /// The refusal, in Recado's own words.
        why: String,
        /// The conversation of the message; `None` if the provider was asked without one.
        conversation: Option<ConversationId>,
        /// `true` if the provider said that it refuses everything.
        everything: bool,
    },
    /// Stops messages to people who never wrote until this time. Done if they were not stopped for as long before.
    StopFirstContacts(Timestamp),
    /// Lets one message to a person who never wrote go after a stop. The others wait for the end of its trial, after which the stop is
    /// forgotten. Done if the stop is still the present one.
    TryFirstContact {
        /// The end of the stop as it was read.
        until: Timestamp,
        /// The time.
        now: Timestamp,
    },
    /// Stores that another program holds a thread of the number. Done if that was not seen for a day.
    OtherAgentSeen(Timestamp),
    /// Forgets the refusals, because a message was accepted or none waits. Done if there were some.
    ForgetRefusals,
    /// Stores whether the model's key is missing or was refused. Done if the stored value changed.
    ModelKeyMissing(bool),
    /// Counts a turn in which the model failed. Done if the model counts as failing from now on.
    ModelFailed {
        /// The conversation of the turn.
        conversation: ConversationId,
        /// The time.
        at: Timestamp,
    },
    /// Forgets the turns in which the model failed, because it answered. Done if there were some.
    ModelAnswered,
    /// Counts a download of a file that failed at this time. Done if downloads are blocked from now on.
    DownloadFailed(Timestamp),
    /// Adds a turn to those that wait for an opening, `interval` behind the one before. The first begins at the opening.
    /// Turns that waited for another opening count no longer. Always done; [`OpeningQueue::last_at`] is the turn's time.
    QueueForOpening {
        /// Time of the opening.
        opens_at: Timestamp,
        /// Time between two turns.
        interval: SignedDuration,
    },
    /// Stores what the provider told of the number at this time.
    Standing {
        /// The standing that it told.
        seen: SeenStanding,
        /// The time.
        now: Timestamp,
    },
    /// Reserves people of the portfolio's budget by [`CampaignUse::reserve_people`](super::CampaignUse::reserve_people). Done if there
    /// was room for them.
    ReservePeople {
        /// The portfolio's messaging limit.
        limit: u32,
        /// Number of people.
        count: usize,
        /// Time of the reservation.
        now: Timestamp,
    },
    /// Reserves the line of the instance's batches by [`Rate::reserve_batch`]. Done if the instance is open and the line was
    /// free; else [`InstanceState::batch_line`] says from when on it is.
    ReserveBatch {
        /// Rate of the instance.
        rate: Rate,
        /// Number of messages.
        count: usize,
        /// Time of the reservation.
        now: Timestamp,
    },
}

/// The result of an [`InstanceChange`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedInstance {
    /// `true` if the change was done. Each [`InstanceChange`] says what that means.
    pub done: bool,
    /// State of the instance after the change. Its `arrival` may be older.
    pub state: InstanceState,
}

impl InstanceState {
    /// Makes a change. Returns `true` if it was done. `rev` grows if the state is another then.
    pub fn apply_change(&mut self, change: &InstanceChange) -> bool {
        let before = self.clone();
        let done = self.make_change(change);
        if *self != before {
            self.rev += 1;
        }
        done
    }

    fn make_change(&mut self, change: &InstanceChange) -> bool {
        let open = self.connection == ConnectionStatus::Open;
        match change {
            InstanceChange::Connection(seen) => self.apply_connection_update(seen),
            InstanceChange::ClaimCheck { now, before } => {
                let ours = open && self.last_checked_at().is_none_or(|at| at <= *before);
                set_if(ours, &mut self.asked_at, Some(*now))
            }
            InstanceChange::Confirm(at) => set_if(open, &mut self.confirmed_at, Some(*at)),
            InstanceChange::ClaimCatchUp { now, before } => {
                let ours = self.caught_up_at.is_none_or(|at| at <= *before);
                set_if(ours, &mut self.caught_up_at, Some(*now))
            }
            InstanceChange::CatchUp { from, since, rest } => {
                let same = self.catch_up_from == *from && self.since == *since;
                set_if(same, &mut self.catch_up_from, *rest)
            }
            InstanceChange::Traffic(profile) => set_if(true, &mut self.pattern, Some(profile.clone())),
            InstanceChange::Unanswered(found) => self.count_timeout(found),
            InstanceChange::ResetTimeouts => {
                self.reset_timeouts();
                true
            }
            InstanceChange::Refused {
                why,
                conversation,
                everything,
            } => self.count_refusal(why, conversation.as_ref(), *everything),
            InstanceChange::StopFirstContacts(until) => self.stop_first_contacts(*until),
            InstanceChange::TryFirstContact { until, now } => self.try_first_contact(*until, *now),
            InstanceChange::OtherAgentSeen(at) => self.note_other_agent(*at),
            InstanceChange::ForgetRefusals => self.refusals.take().is_some(),
            InstanceChange::ModelKeyMissing(missing) => {
                let changed = self.llm_needs_credentials != *missing;
                set_if(changed, &mut self.llm_needs_credentials, *missing)
            }
            InstanceChange::ModelFailed { conversation, at } => self.count_model_failure(conversation, *at),
            InstanceChange::ModelAnswered => self.model_failures.take().is_some(),
            InstanceChange::DownloadFailed(at) => self.downloads.record_failure(*at),
            InstanceChange::QueueForOpening { opens_at, interval } => {
                let before = self.opening.filter(|queue| queue.opens_at == *opens_at);
                let last_at = before.map_or(*opens_at, |queue| add_duration(queue.last_at, *interval));
                let opens_at = *opens_at;
                set_if(true, &mut self.opening, Some(OpeningQueue { opens_at, last_at }))
            }
            InstanceChange::Standing { seen, now } => {
                let standing = NumberStanding::after(self.standing, *seen, *now);
                set_if(true, &mut self.standing, Some(standing))
            }
            InstanceChange::ReservePeople { limit, count, now } => {
                self.campaigns.reserve_people(*limit, *count, *now).is_ok()
            }
            InstanceChange::ReserveBatch { rate, count, now } => {
                let reserved = rate.reserve_batch(self.batch_line, *count, *now);
                let until = reserved.ok().filter(|_| open);
                set_if(until.is_some(), &mut self.batch_line, until)
            }
        }
    }
}

/// Sets `field` to `value` if `condition` holds. Returns `condition`.
fn set_if<T>(condition: bool, field: &mut T, value: T) -> bool {
    if condition {
        *field = value;
    }
    condition
}
