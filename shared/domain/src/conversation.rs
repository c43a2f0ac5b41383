//! A conversation and its turn-taking.
//!
//! Every obligation is an ordinal given on arrival: `turn_upto` is the newest message that wants an answer, `answered`
//! how far answers reach, `human` how far a person's do. The provider's clock orders nothing here: webhooks come late
//! and out of order. `epoch` grows at every takeover, give-back and resolve: what was drafted before can no longer be
//! committed, and what was committed before can no longer be claimed.

mod contact;
mod linked_identity;
mod reengagement;
mod turn;
mod unread_turns;

use crate::config::InstanceConfig;
use crate::contact::ContactAddress;
use crate::ids::{ConversationId, InstanceId, Nonce, Ordinal, TenantId};
use crate::millis::{self, add_millis};
use crate::rate::Rate;
use crate::reason::Reason;
use crate::turn::TurnRecord;
use jiff::Timestamp;
pub use reengagement::{ReengagementDecision, ReengagementRecord};
use serde::{Deserialize, Serialize};
pub use turn::{ConversationError, Draft, TurnAttempts, TurnDecision, TurnLease};
pub use unread_turns::UNREAD_TURNS_MAX;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationMode {
    /// The agent.
    Ai,
    /// People.
    Manual,
}

/// Whether it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStatus {
    /// New messages belong to it.
    Active,
    /// Over: the next message begins a new one.
    Resolved,
}

/// A conversation's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Whose.
    pub tenant: TenantId,
    /// On which instance.
    pub instance: InstanceId,
    /// With whom.
    pub address: ContactAddress,
    /// The contact's identity without a number that was learnt to belong to `address` (so it need not be learnt again).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<ContactAddress>,
    /// The contact's phone number, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The contact's name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who answers.
    pub mode: ConversationMode,
    /// Whether it goes on.
    pub status: ConversationStatus,
    /// Grows at every takeover, give-back and resolve.
    pub epoch: u64,
    /// The newest ordinal given.
    pub last: Ordinal,
    /// The newest inbound ordinal.
    #[serde(default)]
    pub last_inbound: Ordinal,
    /// When the contact wrote last, in this conversation or one before: Meta's 24 hours count from then.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub last_inbound_at: Option<Timestamp>,
    /// The newest ordinal that wants an answer.
    pub turn_upto: Ordinal,
    /// Up to which ordinal it is answered.
    pub answered: Ordinal,
    /// Up to which ordinal a person answered.
    pub human: Ordinal,
    /// When the oldest message arrived that is not answered.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub waiting_since: Option<Timestamp>,
    /// Where the turn waits for opening.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub scheduled_for: Option<Timestamp>,
    /// The turn that is being thought about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<TurnLease>,
    /// How often a model call was begun, and for what.
    #[serde(default)]
    pub attempts: TurnAttempts,
    /// How many turns in a row read less than was owed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unread_turns: u32,
    /// Why what is owed waits for a person although the agent has the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_person: Option<Reason>,
    /// When it began.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// When its newest message was stored.
    #[serde(with = "millis")]
    pub last_message_at: Timestamp,
    /// When `reconcile` last asked for the answer that is owed.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub nudged_at: Option<Timestamp>,
    /// How often in a row it asked although nobody could answer: the instance is never open, or gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_nudges: u32,
    /// The theoretical arrival time of the contact's own rate, where its provider has one.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub pair_arrival: Option<Timestamp>,
    /// Since when the contact wants no marketing messages.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub marketing_stopped_at: Option<Timestamp>,
    /// When the instance's re-engagement template went to the contact last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reengaged: Option<ReengagementRecord>,
    /// Where the person's conversation goes on, under another identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<ConversationId>,
    /// The person's conversations under other identities whose place this one took, while something there may be owed or on
    /// its way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<ConversationId>,
    /// Grows at every write: the condition of the next.
    pub rev: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Between two nudges of a conversation that nobody can answer: 5 minutes at first, an hour at most.
const NUDGE_MS: i64 = 5 * 60_000;
const NUDGE_MAX_MS: i64 = 60 * 60_000;

impl Conversation {
    /// The conversation that a first message begins.
    pub fn start_new(
        id: ConversationId,
        bound: &InstanceConfig,
        address: ContactAddress,
        phone: Option<String>,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            tenant: bound.tenant.id.clone(),
            instance: bound.instance.id.clone(),
            address,
            known_as: None,
            phone,
            name: None,
            mode: if bound.instance.starts_with_ai {
                ConversationMode::Ai
            } else {
                ConversationMode::Manual
            },
            status: ConversationStatus::Active,
            epoch: 0,
            last: Ordinal(0),
            last_inbound: Ordinal(0),
            last_inbound_at: None,
            turn_upto: Ordinal(0),
            answered: Ordinal(0),
            human: Ordinal(0),
            waiting_since: None,
            scheduled_for: None,
            lease: None,
            attempts: TurnAttempts::default(),
            unread_turns: 0,
            needs_person: None,
            created_at: at,
            last_message_at: at,
            nudged_at: None,
            idle_nudges: 0,
            pair_arrival: None,
            marketing_stopped_at: None,
            reengaged: None,
            moved_to: None,
            beside: Vec::new(),
            rev: 0,
        }
    }

    /// Gives the next ordinal to a message stored at `at`.
    fn assign_ordinal(&mut self, at: Timestamp) -> Ordinal {
        self.last = self.last.next_ordinal();
        self.last_message_at = self.last_message_at.max(at);
        self.last
    }

    /// Takes in a message of the contact that arrived at `at`.
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
            if self.needs_person.is_some() {
                self.reset_unread_turns();
                self.waiting_since = None;
            }
            self.turn_upto = ordinal;
            self.waiting_since.get_or_insert(at);
            if let Some(lease) = &mut self.lease {
                lease.left_since.get_or_insert(at);
            }
        }
        Ok(ordinal)
    }

    /// Takes in a message that changes nothing: one typed on the phone long ago, or what a reply that was just committed
    /// says further. Returns its ordinal.
    pub fn append_message(&mut self, at: Timestamp) -> Ordinal {
        self.assign_ordinal(at)
    }

    /// Whether an answer is owed, by whomever.
    pub fn owes_answer(&self) -> bool {
        self.turn_upto > self.answered
    }

    /// What a timer for `named` is to do at `now`; a burst is waited for at most `max_wait_ms`.
    pub fn decide_turn(&self, named: Ordinal, now: Timestamp, max_wait_ms: i64) -> TurnDecision {
        let young = self
            .waiting_since
            .is_some_and(|since| now < add_millis(since, max_wait_ms));
        if self.turn_upto > named && young {
            return TurnDecision::StandDown;
        }
        if !self.agent_owes_answer() {
            return TurnDecision::NothingOwed;
        }
        match &self.lease {
            Some(lease) if lease.until > now => TurnDecision::LeaseHeld(lease.until),
            _ => TurnDecision::AnswerNow,
        }
    }

    /// When an answer is overdue: 5 minutes after it was owed or asked for again, 2 after it was scheduled for, and later
    /// each time that it was asked for in vain. People's conversations are never overdue here.
    pub fn answer_overdue_at(&self) -> Option<Timestamp> {
        if !self.agent_owes_answer() {
            return None;
        }
        let since = self.waiting_since.unwrap_or(self.last_message_at);
        let nudged = self.nudged_at.map_or(since, |nudged| nudged.max(since));
        let spaced = |first: i64| {
            let doublings = self.idle_nudges.saturating_sub(1).min(10);
            add_millis(nudged, (first << doublings).min(NUDGE_MAX_MS))
        };
        Some(match self.scheduled_for {
            Some(at) => add_millis(at, 2 * 60_000).max(spaced(60_000)),
            None => spaced(NUDGE_MS),
        })
    }

    /// Notes that `reconcile` asks for the answer at `now`; `idle`: nobody can give it.
    pub fn record_nudge(&mut self, idle: bool, now: Timestamp) {
        self.nudged_at = Some(now);
        self.idle_nudges = if idle {
            self.idle_nudges.saturating_add(1)
        } else {
            0
        };
    }

    /// Reserves the next message's place in the contact's own rate at `now`; when it may leave, if that is later.
    pub fn reserve_pair_slot(&mut self, rate: Rate, now: Timestamp) -> Option<Timestamp> {
        let slot = rate.reserve_slot(self.pair_arrival, now);
        self.pair_arrival = Some(slot.arrival);
        (slot.at > now).then_some(slot.at)
    }

    /// Takes the lease of the turn, which reads what is owed up to `covers`.
    pub fn acquire_lease(
        &mut self,
        nonce: Nonce,
        covers: Ordinal,
        now: Timestamp,
        until: Timestamp,
    ) -> Draft {
        let upto = covers.min(self.turn_upto);
        if self.attempts.upto != upto {
            self.attempts = TurnAttempts { upto, count: 0 };
        }
        self.attempts.count += 1;
        self.lease = Some(TurnLease {
            nonce: nonce.clone(),
            since: now,
            until,
            left_since: None,
        });
        let turn = TurnRecord {
            began_at: now,
            attempt: self.attempts.count,
            opening: self.scheduled_for.take(),
        };
        self.idle_nudges = 0;
        Draft {
            nonce,
            since: now,
            covers: upto,
            more_owed: upto < self.turn_upto,
            epoch: self.epoch,
            answered: self.answered,
            attempt: self.attempts.count,
            turn,
        }
    }

    /// Gives the lease back, if it is still `nonce`'s. `counted`: the attempt at the turn stays counted.
    pub fn release_lease(&mut self, nonce: &Nonce, counted: bool) -> bool {
        let ours = self.lease.as_ref().is_some_and(|lease| lease.nonce == *nonce);
        if ours {
            self.lease = None;
            if !counted {
                self.attempts.count = self.attempts.count.saturating_sub(1);
            }
        }
        ours
    }

    /// Notes that the turn waits until `at`.
    pub fn schedule_turn(&mut self, at: Timestamp) {
        self.scheduled_for = Some(at);
    }

    /// Commits the reply drafted from `draft`, stored at `at`. Returns its ordinal.
    pub fn commit_reply(&mut self, draft: &Draft, at: Timestamp) -> Result<Ordinal, ConversationError> {
        if self.mode != ConversationMode::Ai {
            return Err(ConversationError::TakenOver);
        }
        if self.epoch != draft.epoch || self.answered != draft.answered {
            return Err(ConversationError::Answered);
        }
        let ordinal = self.assign_ordinal(at);
        self.answered = self.answered.max(draft.covers);
        if !draft.more_owed {
            // What is left arrived after the lease was taken.
            let lease = self.lease.as_ref().filter(|lease| lease.nonce == draft.nonce);
            let left_since = lease.and_then(|lease| lease.left_since);
            self.waiting_since = self.owes_answer().then(|| left_since.unwrap_or(draft.since));
        }
        self.count_unread_turn(draft.more_owed);
        self.scheduled_for = None;
        self.release_lease(&draft.nonce, true);
        Ok(ordinal)
    }

    /// A person takes over: from now on nothing of the agent's is claimed.
    pub fn take_over(&mut self) -> bool {
        if self.mode == ConversationMode::Manual {
            return false;
        }
        self.mode = ConversationMode::Manual;
        self.epoch += 1;
        self.reset_unread_turns();
        true
    }

    /// A person answers, having seen everything up to `seen`; takes over if the agent had it. Returns the ordinal.
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

    /// A person gives the conversation back to the agent. `left` is how far replies reach that left or may have left:
    /// what was cancelled at the takeover and nobody answered is owed again. What waited for a person without a takeover
    /// is the agent's again.
    pub fn give_back_to_agent(&mut self, left: Ordinal, now: Timestamp) -> bool {
        let needed_person = self.needs_person.is_some();
        self.reset_unread_turns();
        if self.mode == ConversationMode::Ai {
            return needed_person;
        }
        self.mode = ConversationMode::Ai;
        self.epoch += 1;
        // Of a conversation that is over nothing is owed, whoever has it.
        if self.status == ConversationStatus::Active {
            self.answered = self.human.max(left).min(self.last);
            self.waiting_since = self.owes_answer().then(|| self.waiting_since.unwrap_or(now));
        }
        true
    }

    /// A reply was cancelled that certainly never left: what it covered and `left` does not is owed again.
    pub fn reopen_unanswered(&mut self, left: Ordinal, now: Timestamp) -> bool {
        let answered = self.human.max(left).min(self.answered);
        if self.mode != ConversationMode::Ai
            || self.status == ConversationStatus::Resolved
            || answered == self.answered
        {
            return false;
        }
        self.answered = answered;
        if self.owes_answer() {
            self.waiting_since.get_or_insert(now);
        }
        true
    }

    /// Ends the conversation, if nothing came in that its author had not seen.
    pub fn resolve_if_seen(&mut self, seen: Ordinal) -> Result<bool, ConversationError> {
        if self.last_inbound > seen {
            return Err(ConversationError::NewerMessage);
        }
        if self.status == ConversationStatus::Resolved {
            return Ok(false);
        }
        self.status = ConversationStatus::Resolved;
        self.epoch += 1;
        self.answered = self.answered.max(self.turn_upto);
        self.waiting_since = None;
        self.scheduled_for = None;
        self.reset_unread_turns();
        Ok(true)
    }

    /// Learns the contact's name and number.
    pub fn update_contact_details(&mut self, name: Option<&str>, phone: Option<&str>) {
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            self.name = Some(name.chars().take(200).collect());
        }
        if self.phone.is_none() {
            self.phone = phone.map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests;
