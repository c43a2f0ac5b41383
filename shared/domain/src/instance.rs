//! The run-time state of an instance: its connection and its rate.

use crate::ids::{ConversationId, InstanceId, MessageId, Nonce};
use crate::millis;
use crate::rate::{Rate, SlotLines, YieldingSlot};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

mod campaign_budget;
mod change;
mod downloads;
mod in_flight;
mod inactivity;
mod model_failures;
mod refusals;
mod standing;

pub use campaign_budget::{CAMPAIGN_SHARE, CampaignUse};
pub use change::{ChangedInstance, InstanceChange};
pub use downloads::DownloadBlock;
pub use in_flight::{Echo, ErasedRecipient, HashedEcho, InFlightSend, OwnMessageEcho};
pub use inactivity::TrafficProfile;
pub use model_failures::{MODEL_FAILURES_MAX, ModelFailures};
pub use refusals::{REFUSALS_MAX, RefusalRun};
pub use standing::{MessagingLimit, NumberQuality, NumberStanding, SeenStanding};

/// The state of an instance's connection, which decides whether messages can be sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ConnectionStatus {
    /// The instance can send, as far as known.
    #[default]
    Open,
    /// The provider has lost its connection to WhatsApp.
    Closed,
    /// The provider cannot be reached, or the credential cannot be read.
    Unreachable,
    /// The key or token is missing or was refused.
    NeedsCredentials,
}

impl ConnectionStatus {
    /// Returns the word for the state in records and the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The run-time record of an instance. An instance without a record is open and has sent nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstanceState {
    /// The state of the connection.
    pub connection: ConnectionStatus,
    /// Time since which the connection has this state.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Time at which the connection was lost. It stays while the instance is not open, whatever its state is then.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Timestamp>,
    /// Time of the next probe while the instance is not open. For an open instance: the time at which to release
    /// conversations that may still be parked.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub probe_at: Option<Timestamp>,
    /// Number of probes without a change, which sets the wait until the next probe.
    pub probes: u32,
    /// The theoretical arrival time (see [`crate::rate`]) of the instance's rate limit.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Timestamp>,
    /// Time of the next place of messages that let others go before them (see [`crate::rate::SlotLines`]).
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub places: Option<Timestamp>,
    /// Time until which the line of the instance's batches is reserved (see [`Rate::reserve_batch`]).
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub batch_line: Option<Timestamp>,
    /// The people to whom the batches of its business portfolio wrote, if it keeps the portfolio's budget.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub campaigns: CampaignUse,
    /// The standing of the number; `None`: nobody told yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<NumberStanding>,
    /// The turns that wait for the next opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<OpeningQueue>,
    /// Number of slots that were reserved so far. The growth of this number tells the rate at which the instance sends.
    pub slots: u64,
    /// Number of failures in a row: time-outs, and attempts that did not reach the provider. Two park the instance.
    /// Several time-outs in a row of the same message count once.
    pub timeouts: u32,
    /// The message whose time-out was counted last. `None` if another failure was counted, or a message was accepted,
    /// since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<MessageId>,
    /// The equal refusals of the newest sends; `None` if the newest send was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusals: Option<RefusalRun>,
    /// Time until which no message goes to people who never wrote: WhatsApp refuses them. `None`: they go.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub first_contacts_from: Option<Timestamp>,
    /// `true` if one such message was let go since the stop, and the others wait for its end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub first_contact_tried: bool,
    /// Time at which another program was last seen to hold a thread of the number's contacts, within a day; `None`: never.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub other_agent_at: Option<Timestamp>,
    /// `true` if the model's key is missing or was refused: turns wait.
    pub llm_needs_credentials: bool,
    /// The newest turns in which the model failed; `None` if it answered since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_failures: Option<ModelFailures>,
    /// Time at which the connection was last confirmed: the provider was asked and answered, or it accepted a message.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<Timestamp>,
    /// Time at which a sender last claimed the check of a connection that was long unconfirmed. The first rate slot
    /// also sets this time.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<Timestamp>,
    /// Time at which the parked conversations were last released.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub released_at: Option<Timestamp>,
    /// Time since which messages may have been missed. It is set when the connection is lost, and stays until a
    /// catch-up has fetched the messages.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub catch_up_from: Option<Timestamp>,
    /// Time of the last catch-up that began without a request by a person.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub caught_up_at: Option<Timestamp>,
    /// The usual traffic from the instance's contacts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<TrafficProfile>,
    /// The failed downloads of files, where the provider blocks downloads for them.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub downloads: DownloadBlock,
    /// Revision: grows at every change, but not at the reservation of a slot.
    pub rev: u64,
}

/// The turns that wait for one opening of an instance, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpeningQueue {
    /// Time of the opening.
    #[serde(with = "millis")]
    pub opens_at: Timestamp,
    /// Time at which the turn that was added last begins.
    #[serde(with = "millis")]
    pub last_at: Timestamp,
}

/// The result of an attempt that got no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnansweredAttempt {
    /// The request with this message was sent, and no answer came in time: the provider hangs, or hangs at this
    /// message.
    TimedOut(MessageId),
    /// The provider was not reached.
    Unreached,
}

/// An observation of an instance's connection, to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionUpdate {
    /// The observed state.
    pub connection: ConnectionStatus,
    /// Time at which the observation is stored.
    pub at: Timestamp,
    /// Time of the next probe. For an open instance: the time at which to release conversations that may still be
    /// parked.
    pub probe_at: Option<Timestamp>,
    /// Time at which the provider was asked, if the observation is its answer.
    pub asked_at: Option<Timestamp>,
    /// `true` if the parked conversations are released now.
    pub releases_waiting: bool,
}

impl InstanceState {
    /// Has a catch-up look for what was missed since `since`, as after a backup that was made then.
    pub fn expect_missed_messages(&mut self, since: Timestamp) {
        self.catch_up_from = Some(self.catch_up_from.map_or(since, |from| from.min(since)));
        self.caught_up_at = None;
        self.rev += 1;
    }

    /// Reserves a slot for a message that lets others go before it. Returns the slot, or the time at which to ask again.
    pub fn reserve_yielding(&mut self, rate: Rate, holds_place: bool, now: Timestamp) -> YieldingSlot {
        let lines = SlotLines {
            arrival: self.arrival,
            places: self.places,
        };
        let reserved = rate.reserve_yielding(lines, holds_place, now);
        match reserved {
            YieldingSlot::Slot(slot) => {
                self.arrival = Some(slot.arrival);
                self.slots = self.slots.saturating_add(1);
                self.asked_at.get_or_insert(now);
            }
            YieldingSlot::Place { next, .. } => self.places = Some(next),
        }
        reserved
    }

    /// Returns the time at which the provider is to be asked again. An open instance has such a time only while
    /// conversations may not have been released.
    pub fn next_probe_at(&self) -> Option<Timestamp> {
        if self.connection == ConnectionStatus::Open {
            self.probe_at
        } else {
            self.probe_at.or(self.since)
        }
    }

    /// Returns the time under which a store indexes the state: that of the next probe. A state that only monitors look
    /// for is indexed under a time that never comes. `None`: the instance works as it should.
    pub fn index_time(&self) -> Option<Timestamp> {
        let is_judged = self.standing.is_some_and(|standing| standing.is_troubled());
        let is_silent = self.inactive_since().is_some();
        let is_refused = self.refusal().is_some() || self.first_contacts_from.is_some();
        let has_model = !self.llm_needs_credentials && self.failing_model().is_none();
        let is_troubled = !has_model || is_silent || is_judged || is_refused;
        self.next_probe_at().or_else(|| is_troubled.then_some(NEVER))
    }

    /// Returns the time since which the instance is not open; `None` if it is open.
    pub fn disconnected_since(&self) -> Option<Timestamp> {
        let lost = self.connection != ConnectionStatus::Open;
        self.lost_at.or(self.since).filter(|_| lost)
    }

    /// Returns the refusals for which the instance's messages wait or are tried one by one. `None`: there are none.
    pub fn refusal(&self) -> Option<&RefusalRun> {
        self.refusals.as_ref().filter(|run| run.concerns_instance())
    }

    /// Returns `true` if messages of a refused instance are tried one by one.
    pub fn is_on_trial(&self) -> bool {
        self.connection == ConnectionStatus::Open && self.refusal().is_some()
    }

    /// Stores an observation of the connection. Returns `true` if the state of the connection changed.
    pub fn apply_connection_update(&mut self, seen: &ConnectionUpdate) -> bool {
        let changed = self.connection != seen.connection;
        if seen.connection == ConnectionStatus::Open {
            // The provider says that it works again. Where sends alone were refused, a send must show it.
            self.refusals = self.refusals.take().filter(|run| !run.everything);
            if let Some(run) = self.refusals.as_mut().filter(|run| run.concerns_instance()) {
                run.trials = run.trials.saturating_add(1);
            }
        }
        self.probe_at = seen.probe_at;
        self.confirmed_at = seen.asked_at.or(self.confirmed_at);
        if seen.releases_waiting {
            self.released_at = Some(seen.at);
        }
        if changed {
            if seen.connection == ConnectionStatus::Open {
                self.lost_at = None;
            } else {
                self.catch_up_from.get_or_insert(seen.at);
                self.lost_at.get_or_insert(seen.at);
            }
            self.connection = seen.connection;
            self.since = Some(seen.at);
            self.probes = 0;
            self.reset_timeouts();
        } else {
            self.probes = self.probes.saturating_add(1);
        }
        changed
    }

    /// Counts an attempt that got no answer. Returns `true` if it was counted: repeated time-outs of the same message
    /// say nothing about other messages.
    pub fn count_timeout(&mut self, found: &UnansweredAttempt) -> bool {
        let of = match found {
            UnansweredAttempt::TimedOut(message) => Some(message),
            UnansweredAttempt::Unreached => None,
        };
        let counts = of.is_none() || self.timed_out.as_ref() != of;
        if counts {
            self.timeouts = self.timeouts.saturating_add(1);
            self.timed_out = of.cloned();
        }
        counts
    }

    /// Forgets the attempts that got no answer, because the connection changed or a message was accepted.
    pub fn reset_timeouts(&mut self) {
        self.timeouts = 0;
        self.timed_out = None;
    }

    /// Returns the time at which the open connection was last confirmed or its check claimed.
    pub fn last_checked_at(&self) -> Option<Timestamp> {
        self.confirmed_at.max(self.asked_at)
    }

    /// Returns `true` if the instance is open and was neither confirmed nor asked about for `limit`. An instance
    /// that was never used is not stale.
    pub fn is_stale(&self, now: Timestamp, limit: SignedDuration) -> bool {
        let old = |at: Timestamp| millis::add_duration(at, limit) <= now;
        self.connection == ConnectionStatus::Open && self.last_checked_at().is_some_and(old)
    }

    /// Returns the time since which messages may have been missed. That is the earlier of the loss of the connection
    /// and the start of a silence. `None` while the instance is not open.
    pub fn messages_missing_since(&self) -> Option<Timestamp> {
        let both = [self.catch_up_from, self.inactive_since()];
        let open = self.connection == ConnectionStatus::Open;
        both.into_iter().flatten().min().filter(|_| open)
    }

    /// Returns the time since which the instance has been unusually silent; `None` if it is not.
    pub fn inactive_since(&self) -> Option<Timestamp> {
        self.pattern.as_ref().and_then(|pattern| pattern.silent_since)
    }
}

/// A time that never comes: the year 9999.
const NEVER: Timestamp = Timestamp::constant(253_370_764_800, 0);

/// Time for which messages to people who never wrote stop after WhatsApp refused one: 6 hours. WhatsApp tells no end, and each try may
/// prolong the lock; a lock of six days was reported (whatsmeow #1197). So there are four tries a day.
pub const FIRST_CONTACTS_STOP: SignedDuration = SignedDuration::from_hours(6);

/// Time for which the others wait after one of these messages was tried: the refusal of one comes within seconds, or some minutes.
pub const FIRST_CONTACT_TRIAL: SignedDuration = SignedDuration::from_mins(15);

/// Default time for which a parked conversation waits: 72 hours.
pub const DEFAULT_PATIENCE: SignedDuration = SignedDuration::from_hours(72);

fn default_patience() -> SignedDuration {
    DEFAULT_PATIENCE
}

impl ParkedConversation {
    /// Returns the time at which the conversation is looked at, even if the instance has not opened. That is its
    /// `not_before`, or else the end of its patience.
    pub fn release_due_at(&self) -> Timestamp {
        self.not_before
            .unwrap_or_else(|| millis::add_duration(self.since, self.patience))
    }
}

/// A parked conversation: its messages wait for the instance or for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedConversation {
    /// The instance that the messages wait for.
    pub instance: InstanceId,
    /// The conversation that is parked.
    pub conversation: ConversationId,
    /// A new nonce at every parking. A release removes the record only if the nonce is still the one that was read.
    pub version: Nonce,
    /// Time at which the conversation was first parked.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Time before which the conversation is not released.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Time for which the conversation waits for its instance, from `since`. The setting at the last
    /// parking is stored here, so that the index knows it too.
    #[serde(
        rename = "patience_ms",
        default = "default_patience",
        with = "millis::duration"
    )]
    pub patience: SignedDuration,
    /// The agent's reply that waits first, as [`Message::reply_id`] names it. The send job at the release goes into
    /// this reply's FIFO group.
    ///
    /// [`Message::reply_id`]: crate::message::Message::reply_id
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<MessageId>,
}

#[cfg(test)]
mod tests;
