//! The beginning of a conversation.

use super::{
    ContactFacts, Conversation, ConversationMode, ConversationStatus, DroppedDrafts, FeatureNotes,
    KeptHistory, LinkedConversations, OpenQuestions, OpeningWait, OwedNudges, PeopleNotes, TurnAttempts,
    UsedLimits,
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
        let mut begun = Self::make_empty(id, bound, address, at);
        begun.contact.phone = phone;
        begun
    }

    fn make_empty(id: ConversationId, bound: &InstanceConfig, to: ContactAddress, at: Timestamp) -> Self {
        Self {
            id,
            tenant: bound.tenant.id.clone(),
            instance: bound.instance.id.clone(),
            address: to,
            contact: ContactFacts::default(),
            linked: LinkedConversations::default(),
            kept: KeptHistory::default(),
            questions: OpenQuestions::default(),
            opening: OpeningWait::default(),
            people: PeopleNotes::default(),
            features: FeatureNotes::default(),
            nudges: OwedNudges::default(),
            mode: ConversationMode::of_new_conversation(bound.instance.starts_with_ai),
            status: ConversationStatus::Active,
            epoch: 0,
            last: Ordinal(0),
            last_inbound: Ordinal(0),
            turn_upto: Ordinal(0),
            answered: Ordinal(0),
            human: Ordinal(0),
            seen: Ordinal(0),
            waiting_since: None,
            lease: None,
            attempts: TurnAttempts::default(),
            dropped_drafts: DroppedDrafts::default(),
            unsent_use: Vec::new(),
            unread_turns: 0,
            silences: Vec::new(),
            needs_person: None,
            failed_reply: None,
            limits: UsedLimits::default(),
            agent_returns_at: None,
            created_at: at,
            last_message_at: at,
            erased_at: None,
            rev: 0,
        }
    }
}
