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
mod handover;
mod limits;
mod linked_identity;
mod picture;
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
use crate::ids::{ConversationId, InstanceId, MessageId, Ordinal, StepId, TenantId};
use crate::invitations::InvitedGuest;
use crate::millis;
use crate::reason::Reason;
use crate::thread_hold::ThreadHold;
pub use annotations::{AnnotationError, Annotations, ConversationLabel, PersonNote};
pub use decision::{CommittedDecision, HandOverNote};
pub use dropped_drafts::DroppedDrafts;
pub use failed_reply::FailedReply;
pub use handover::Handover;
use jiff::Timestamp;
pub use limits::{AgentPause, RecentReplies, UsedLimits};
pub use linked_identity::JOINED_MAX;
pub use picture::ContactPicture;
pub use reengagement::{ReengagementDecision, ReengagementRecord};
use serde::{Deserialize, Serialize};
pub use session::ContactSession;
pub use silences::SilentSpan;
pub use turn::{ConversationError, Draft, TurnAttempts, TurnDecision, TurnLease};
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
    /// The contact's identity without a number that was learnt to belong to `address`, so that it is not learnt again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<ContactAddress>,
    /// The contact's phone number, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The name that the contact gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The contact's picture, as the provider last told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<ContactPicture>,
    /// The mode: `Ai` if the agent answers, `Manual` if people answer.
    pub mode: ConversationMode,
    /// The status: `Active` or `Resolved`.
    pub status: ConversationStatus,
    /// The last takeover, give-back or resolve, which led to the mode and the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// The person who took the conversation over or answered last, and since when it is that person. `None` while the
    /// agent has the conversation, and if no person acted yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Handover>,
    /// Number that grows at every takeover, give-back and resolve. A reply of an older epoch is void.
    pub epoch: u64,
    /// The newest ordinal given to a message.
    pub last: Ordinal,
    /// The newest ordinal of a message from the contact.
    #[serde(default)]
    pub last_inbound: Ordinal,
    /// Time of the contact's last message, in this conversation or an earlier one. Meta's 24 hours count from it.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub last_inbound_at: Option<Timestamp>,
    /// Time of the message that began the contact's session of 24 hours, by the provider's clock.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub session_started_at: Option<Timestamp>,
    /// The guest as whom the contact was invited last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invited: Option<InvitedGuest>,
    /// The ordinal of the newest question with options, until the contact's next message after it; 0: none.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub open_question: Ordinal,
    /// The same of the conversation that this one replaced, until the contact's next message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_question: Option<MessageId>,
    /// The business's newest message asked a question that a short message answers. Records without it: unknown, taken for no.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub asked: bool,
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
    /// Time of the turn that waits for an opening: the opening, or later if others wait for it, too.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Timestamp>,
    /// The opening that the turn waits for, while it is scheduled.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<Timestamp>,
    /// Time at which the contact was last told that the instance is closed.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub closed_told_at: Option<Timestamp>,
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
    /// The agent's note of its last hand-over, until the agent has the conversation again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hand_over_note: Option<HandOverNote>,
    /// The labels and notes that people wrote beside it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub annotations: Annotations,
    /// The step of the agent's script; `None` before the first reply, and if the agent has no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Time at which the agent answers again unless a person writes before it. `None`: not by itself.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub agent_returns_at: Option<Timestamp>,
    /// Time at which the conversation began.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time at which the newest message was stored.
    #[serde(with = "millis")]
    pub last_message_at: Timestamp,
    /// `true` if the thread may have a journal of effects: an agent with acting tools drafted a reply.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub has_journal: bool,
    /// Time at which `reconcile` last asked for the owed answer.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub nudged_at: Option<Timestamp>,
    /// Number of times in a row that `reconcile` asked in vain: the instance never opens, or is no longer configured.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub idle_nudges: u32,
    /// The theoretical arrival time (see [`crate::rate`]) of the contact's own rate limit, if the provider has one.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub pair_arrival: Option<Timestamp>,
    /// Time since which the contact wants no marketing messages.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub marketing_stopped_at: Option<Timestamp>,
    /// The last use of the instance's re-engagement template for the contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reengaged: Option<ReengagementRecord>,
    /// The newest known holder of the contact's thread; `None` if it was always ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_hold: Option<ThreadHold>,
    /// The conversation, under another identity of the same person, in which the person's messages go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<ConversationId>,
    /// The person's conversations under other identities that this one replaced, while something may be owed or open there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ConversationId>,
    /// The person's conversations under other identities that this conversation replaced while they went on, the latest last.
    /// Their history is read together with this one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<ConversationId>,
    /// The first ordinal of the history: earlier messages are no longer kept, or kept only because something is owed.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub kept_from: Ordinal,
    /// Time from which the retention period of the oldest message counts, if it is not `created_at`.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub oldest_at: Option<Timestamp>,
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

    /// Gives the next ordinal to a message stored at `at`.
    fn assign_ordinal(&mut self, at: Timestamp) -> Ordinal {
        self.last = self.last.next_ordinal();
        self.last_message_at = self.last_message_at.max(at);
        self.last
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
        let ordinal = self.assign_ordinal(at);
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
        self.last_inbound_at.is_some() || !self.last_inbound.is_zero()
    }

    /// Gives an ordinal to a message that changes nothing else. Examples are an old message typed on the phone, and a
    /// further part of a reply that was just committed. Returns the ordinal.
    pub fn append_message(&mut self, at: Timestamp) -> Ordinal {
        self.assign_ordinal(at)
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
        self.assign_ordinal(at)
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
        self.hand_over_note = None;
        self.agent_returns_at = None;
        self.taken = None;
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
