//! A conversation's record, and the rules for who answers and when.
//!
//! Every message gets an ordinal on arrival, and the state consists of such ordinals: `turn_upto` is the newest message
//! that wants an answer, messages up to `answered` are answered, and a person has answered up to `human`. The
//! provider's clock orders nothing here, because webhooks come late and out of order. `epoch` grows at every takeover,
//! give-back and resolve: a reply that was drafted in an earlier epoch can no longer be committed, and a reply that was
//! committed in an earlier epoch can no longer be claimed for sending.

mod agent_return;
mod annotations;
mod beginning;
mod closure;
mod contact;
mod decision;
mod dropped_drafts;
mod erasure;
mod failed_reply;
mod features;
mod handover;
mod limits;
mod linked_identity;
mod picture;
mod questions;
mod reengagement;
mod resolving;
mod retention;
mod seen;
mod session;
mod silences;
mod thread_hold;
mod turn;
mod unread_turns;
mod unsent_use;

use crate::contact::ContactAddress;
use crate::ids::{ConversationId, InstanceId, Ordinal, TenantId};
use crate::millis;
use crate::reason::Reason;
pub use annotations::{AnnotationError, Annotations, ConversationLabel, PersonNote};
pub use closure::OpeningWait;
pub use contact::ContactFacts;
pub use decision::{CommittedDecision, HandOverNote};
pub use dropped_drafts::DroppedDrafts;
pub use failed_reply::FailedReply;
pub use features::FeatureNotes;
pub use handover::{Handover, PeopleNotes};
use jiff::Timestamp;
pub use limits::{AgentPause, RecentReplies, UsedLimits};
pub use linked_identity::{JOINED_MAX, LinkedConversations};
pub use picture::ContactPicture;
pub use questions::OpenQuestions;
pub use reengagement::{ReengagementDecision, ReengagementRecord};
pub use retention::KeptHistory;
use serde::{Deserialize, Serialize};
pub use session::ContactSession;
pub use silences::SilentSpan;
pub use turn::{ConversationError, Draft, OwedNudges, TurnAttempts, TurnDecision, TurnLease};
pub use unread_turns::UNREAD_TURNS_MAX;
pub use unsent_use::{ConversationUse, UnsentUse};

/// The mode of a conversation: the agent or people answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConversationMode {
    /// The agent answers.
    Ai,
    /// People answer.
    Manual,
}

/// The status of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// The conversation goes on: new messages belong to it.
    Active,
    /// The conversation is over: the next message begins a new one.
    Resolved,
}

/// A conversation's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The conversation's id.
    pub id: ConversationId,
    /// The tenant that the conversation belongs to.
    pub tenant: TenantId,
    /// The instance on which the contact writes.
    pub instance: InstanceId,
    /// The contact's address, to which replies go.
    pub address: ContactAddress,
    /// What is known of the contact. Most of it goes on in the next conversation.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub contact: ContactFacts,
    /// The mode: `Ai` if the agent answers, `Manual` if people answer.
    pub mode: ConversationMode,
    /// The status: `Active` or `Resolved`.
    pub status: ConversationStatus,
    /// The people who took part, and what they wrote for each other.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub people: PeopleNotes,
    /// Number that grows at every takeover, give-back and resolve. A reply of an older epoch is void.
    pub epoch: u64,
    /// The newest ordinal given to a message.
    pub last: Ordinal,
    /// The newest ordinal of a message from the contact.
    #[serde(default)]
    pub last_inbound: Ordinal,
    /// The notes that features keep beside the turn-taking.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub features: FeatureNotes,
    /// The questions that wait for the contact's next message.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub questions: OpenQuestions,
    /// The newest ordinal of a message that wants an answer.
    pub turn_upto: Ordinal,
    /// The ordinal up to which messages are answered.
    pub answered: Ordinal,
    /// The ordinal up to which a person answered.
    pub human: Ordinal,
    /// The ordinal up to which a person looked at messages while one was waited for. Records without it: nobody looked.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub seen: Ordinal,
    /// Arrival time of the oldest message that is not answered.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Timestamp>,
    /// The wait of a turn for an opening.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub opening: OpeningWait,
    /// The lease of the worker that drafts the reply now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<TurnLease>,
    /// The count of model calls begun, and the turn that they were begun for.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub attempts: TurnAttempts,
    /// The drafts that were dropped because the contact wrote while they were made.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub dropped_drafts: DroppedDrafts,
    /// The use of models in turns that ended without a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsent_use: Vec<ConversationUse>,
    /// Number of turns in a row that read less than was owed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unread_turns: u32,
    /// The messages of turns in which nothing was to be answered; the newest spans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<SilentSpan>,
    /// The reason why the owed answer waits for a person although the agent has the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<Reason>,
    /// The agent's error message that the contact got in place of a reply; `None`: the agent's last reply was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_reply: Option<FailedReply>,
    /// The use that the contact made of the agent's limits.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub limits: UsedLimits,
    /// Time at which the agent answers again unless a person writes before it. `None`: not by itself.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub agent_returns_at: Option<Timestamp>,
    /// Time at which the conversation began.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time at which the newest message was stored.
    #[serde(with = "millis")]
    pub last_message_at: Timestamp,
    /// The times that `reconcile` asked for the owed answer.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub nudges: OwedNudges,
    /// The person's conversations under other identities.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub linked: LinkedConversations,
    /// The part of the history that is kept.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub kept: KeptHistory,
    /// Time at which the contact was erased. The record is a tombstone from then on.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub erased_at: Option<Timestamp>,
    /// Revision: grows at every write. The next write is made only if the stored revision is still the one that was read.
    pub rev: u64,
}

impl Conversation {
    /// Raises the revision, once before each write: several transitions become one write, and a write may hold none.
    pub fn raise_revision(&mut self) {
        self.rev += 1;
    }

    /// Records a message of the contact that arrived at `at`, and returns its ordinal. `wants_answer`: the message
    /// expects an answer. Refused with [`ConversationError::Resolved`] if the conversation is resolved.
    pub fn receive_message(
        &mut self,
        wants_answer: bool,
        at: Timestamp,
    ) -> Result<Ordinal, ConversationError> {
        if self.status == ConversationStatus::Resolved {
            return Err(ConversationError::Resolved);
        }
        let ordinal = self.append_message(at);
        self.last_inbound = ordinal;
        if wants_answer {
            self.end_wait_with_message(at);
            self.turn_upto = ordinal;
            self.waiting_since.get_or_insert(at);
            if let Some(lease) = &mut self.lease {
                lease.left_since.get_or_insert(at);
            }
        }
        Ok(ordinal)
    }

    /// Returns `true` if the contact ever wrote here.
    pub fn has_contact_written(&self) -> bool {
        self.contact.last_inbound_at.is_some() || !self.last_inbound.is_zero()
    }

    /// Gives the next ordinal to a message stored at `at`. That is all for a message that changes nothing else, such as an old one
    /// typed on the phone, and a further part of a reply that was just committed. Returns the ordinal.
    pub fn append_message(&mut self, at: Timestamp) -> Ordinal {
        self.last = self.last.next_ordinal();
        self.last_message_at = self.last_message_at.max(at);
        self.last
    }

    /// Hands the conversation to a person: from now on no reply of the agent is claimed. Returns `false` if people had
    /// the conversation already.
    pub fn take_over(&mut self) -> bool {
        if self.mode == ConversationMode::Manual {
            return false;
        }
        self.mode = ConversationMode::Manual;
        self.epoch += 1;
        self.reset_unread_turns();
        true
    }

    /// Records the answer of a person who has seen every message up to `seen`. `takes_over`: the conversation is taken
    /// over if the agent had it. Returns the answer's ordinal.
    pub fn record_operator_answer(&mut self, seen: Ordinal, takes_over: bool, at: Timestamp) -> Ordinal {
        if takes_over {
            self.take_over();
        }
        self.reset_unread_turns();
        let seen = seen.min(self.last);
        self.answered = self.answered.max(seen);
        self.human = self.human.max(seen);
        if !self.owes_answer() {
            self.waiting_since = None;
        }
        self.append_message(at)
    }

    /// Gives the conversation back to the agent. `left` is the ordinal up to which replies answer that left or may have
    /// left. Messages above `left` are owed again if nobody answered them: their reply was cancelled at the takeover.
    /// If the conversation waited for a person without a takeover (`needs_person`), the agent goes on. Returns `true`
    /// if the conversation changed.
    pub fn give_back_to_agent(&mut self, left: Ordinal, now: Timestamp) -> bool {
        let needed_person = self.needs_person.is_some();
        let failed = self.failed_reply.filter(|_| self.failed_since().is_some());
        self.reset_unread_turns();
        self.limits = UsedLimits::default();
        self.people.hand_over_note = None;
        self.agent_returns_at = None;
        self.people.taken = None;
        if self.mode == ConversationMode::Ai {
            if let Some(failed) = failed {
                self.reopen_failed(failed);
            }
            return needed_person;
        }
        self.mode = ConversationMode::Ai;
        self.epoch += 1;
        // In a resolved conversation nothing is owed, in either mode.
        if self.status == ConversationStatus::Active {
            self.answered = self.reopen_after(self.human.max(left)).min(self.last);
            self.waiting_since = self.owes_answer().then(|| self.waiting_since.unwrap_or(now));
        }
        true
    }

    /// Makes messages owed again after their reply was cancelled and certainly never left: by whoever has the conversation.
    /// Messages up to `left`, and messages that a person answered, stay answered. Returns `true` if the conversation changed.
    pub fn reopen_unanswered(&mut self, left: Ordinal, now: Timestamp) -> bool {
        if self.status != ConversationStatus::Active || self.human.max(left) >= self.answered {
            return false;
        }
        let before = self.answered;
        self.answered = self.reopen_after(self.human.max(left)).min(before);
        if self.owes_answer() {
            self.waiting_since.get_or_insert(now);
            self.end_failed_wait();
        }
        self.answered < before
    }
}

#[cfg(test)]
mod tests;
