//! The beginning of a conversation.

use super::{
    Annotations, Conversation, ConversationMode, ConversationStatus, DroppedDrafts, TurnAttempts, UsedLimits,
};
use crate::config::InstanceConfig;
use crate::contact::ContactAddress;
use crate::ids::{ConversationId, Ordinal};
use jiff::Timestamp;

impl Conversation {
    /// Makes the conversation that a first message begins.
    pub fn start_new(
        id: ConversationId,
        bound: &InstanceConfig,
        address: ContactAddress,
        phone: Option<String>,
        at: Timestamp,
    ) -> Self {
        Self {
            phone,
            ..Self::make_empty(id, bound, address, at)
        }
    }

    fn make_empty(id: ConversationId, bound: &InstanceConfig, to: ContactAddress, at: Timestamp) -> Self {
        Self {
            id,
            tenant: bound.tenant.id.clone(),
            instance: bound.instance.id.clone(),
            address: to,
            known_as: None,
            phone: None,
            name: None,
            picture: None,
            mode: ConversationMode::of_new_conversation(bound.instance.starts_with_ai),
            status: ConversationStatus::Active,
            epoch: 0,
            last: Ordinal(0),
            last_inbound: Ordinal(0),
            last_inbound_at: None,
            session_started_at: None,
            invited: None,
            open_question: Ordinal(0),
            left_question: None,
            asked: false,
            turn_upto: Ordinal(0),
            answered: Ordinal(0),
            human: Ordinal(0),
            seen: Ordinal(0),
            waiting_since: None,
            scheduled_for: None,
            opens_at: None,
            closed_told_at: None,
            lease: None,
            attempts: TurnAttempts::default(),
            dropped_drafts: DroppedDrafts::default(),
            unsent_use: Vec::new(),
            unread_turns: 0,
            silences: Vec::new(),
            needs_person: None,
            failed_reply: None,
            limits: UsedLimits::default(),
            hand_over_note: None,
            annotations: Annotations::default(),
            step: None,
            agent_returns_at: None,
            created_at: at,
            last_message_at: at,
            has_journal: false,
            nudged_at: None,
            idle_nudges: 0,
            pair_arrival: None,
            marketing_stopped_at: None,
            reengaged: None,
            thread_hold: None,
            moved_to: None,
            beside: Vec::new(),
            joined: Vec::new(),
            handover: None,
            taken: None,
            kept_from: Ordinal(0),
            oldest_at: None,
            erased_at: None,
            rev: 0,
        }
    }
}
