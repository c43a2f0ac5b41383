//! What passed between the use cases and the world around them, noted as it happened. The checks ask this where a record
//! could say anything.

mod attempt;
mod mail;

use crate::executor::START_MS;
pub use attempt::{Attempt, Told};
pub use mail::MailAttempt;
use recado_domain::contact::ContactAddress;
use recado_domain::effects::EffectId;
use recado_domain::ids::{EventId, InstanceId, MessageId};
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_pipeline::ports::SendOutcome;
use std::collections::{BTreeMap, BTreeSet};

/// See the module. All times are true, in milliseconds since the start.
#[derive(Debug, Default)]
pub struct Observations {
    /// When each event was handed to the store as received, first, and last before its message was stored.
    pub received: BTreeMap<EventId, (i64, i64)>,
    /// When each event was on the queue first.
    pub enqueued: BTreeMap<EventId, i64>,
    /// When each event's message was stored, or was first said to be.
    pub stored: BTreeMap<EventId, i64>,
    /// When each outgoing message was committed, or was first among the open ones.
    pub committed: BTreeMap<MessageId, i64>,
    /// When each effect began.
    pub begun_effects: BTreeMap<EffectId, i64>,
    /// Every attempt to send, in the order of their claims.
    pub attempts: Vec<Attempt>,
    /// Every attempt at an e-mail, in the order in which they were stored.
    pub mails: Vec<MailAttempt>,
    /// Not before when, if it was committed so, each outgoing message may leave.
    pub not_before: BTreeMap<MessageId, i64>,
    /// When each slot of an instance was reserved, by its time in milliseconds since the Unix epoch.
    pub reserved: BTreeMap<(InstanceId, i64), i64>,
    /// What each instance's record said of its connection from when on: whether it is open.
    pub connections: Vec<(InstanceId, i64, bool)>,
    /// When a function died or stalled, or a call failed.
    pub disturbed: Vec<i64>,
    /// When the sender was enqueued, by conversation and ordinal, for a mutation.
    pub send_jobs: BTreeMap<String, i64>,
    /// Names of files that webhooks held and that may not be stored.
    pub unkept_files: BTreeSet<String>,
    /// What replies used that a mutation keeps out of the sums.
    pub uncounted: Vec<UsageSum>,
    /// What contacts were shown of their messages being read.
    pub marks: Vec<Mark>,
    /// When an echo was taken first for an attempt at each message.
    pub echoed: BTreeMap<MessageId, i64>,
    /// Invitations that waited while others to their contact might leave.
    pub held: BTreeSet<MessageId>,
    /// Writes of each message that a store began and did not answer: it may have done them or not. Only a store that is
    /// reached by requests of its own has any.
    unanswered: BTreeMap<MessageId, u32>,
}

/// A contact was shown that a message of theirs was read, or that somebody types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// By which instance.
    pub instance: InstanceId,
    /// The provider's id of the message.
    pub id: String,
    /// Who was shown it.
    pub to: ContactAddress,
    /// Whether somebody types.
    pub typing: bool,
}

impl Observations {
    /// An event is handed to the store.
    pub fn receive(&mut self, event: &EventId, at_ms: i64) {
        let times = self.received.entry(event.clone()).or_insert((at_ms, at_ms));
        if !self.stored.contains_key(event) {
            times.1 = at_ms;
        }
    }

    /// An echo is taken for an attempt at `message`.
    pub fn record_echo(&mut self, message: &MessageId, at_ms: i64) {
        self.echoed.entry(message.clone()).or_insert(at_ms);
    }

    /// A store begins to write a message.
    pub fn begin_write(&mut self, message: &MessageId) {
        *self.unanswered.entry(message.clone()).or_default() += 1;
    }

    /// The store has answered.
    pub fn end_write(&mut self, message: &MessageId) {
        if let Some(count) = self.unanswered.get_mut(message) {
            *count = count.saturating_sub(1);
        }
    }

    /// Whether a store never answered a write of this message.
    pub fn is_unsure_of(&self, message: &MessageId) -> bool {
        self.unanswered.get(message).is_some_and(|count| *count > 0)
    }

    /// An event is on the queue.
    pub fn enqueue(&mut self, event: &EventId, at_ms: i64) {
        self.enqueued.entry(event.clone()).or_insert(at_ms);
    }

    /// An outgoing message is committed.
    pub fn commit(&mut self, message: &Message, at_ms: i64) {
        self.committed.entry(message.message_id()).or_insert(at_ms);
        let not_before = message.out.as_ref().and_then(|out| out.not_before);
        if let Some(not_before) = not_before {
            let not_before = not_before.as_millisecond() - START_MS;
            self.not_before.entry(message.message_id()).or_insert(not_before);
        }
    }

    /// An attempt begins, unless somebody found its claim before. Returns its number.
    pub fn claim(&mut self, message: &Message, at_ms: i64) -> Option<usize> {
        let attempt = Attempt::of(message, message.out.as_ref()?, at_ms);
        let is_same = |known: &Attempt| {
            known.message == attempt.message && attempt.nonce.is_some() && known.nonce == attempt.nonce
        };
        if let Some(known) = self.attempts.iter().position(is_same) {
            return Some(known);
        }
        self.attempts.push(attempt);
        Some(self.attempts.len() - 1)
    }

    /// Its sender is told how it ended.
    pub fn tell(&mut self, attempt: usize, outcome: &SendOutcome, at_ms: i64) {
        self.attempts[attempt].tell(outcome, at_ms);
    }

    /// The attempts at each message.
    pub fn by_message(&self) -> BTreeMap<MessageId, Vec<Attempt>> {
        let mut by_message: BTreeMap<MessageId, Vec<Attempt>> = BTreeMap::new();
        for attempt in &self.attempts {
            let of_it = by_message.entry(attempt.message.clone()).or_default();
            of_it.push(attempt.clone());
        }
        by_message
    }

    /// An event's message is stored.
    pub fn store(&mut self, event: &EventId, at_ms: i64) {
        self.stored.entry(event.clone()).or_insert(at_ms);
    }
}
