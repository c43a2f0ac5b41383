//! Published events: what users' own systems and the console are told of a change.
//!
//! A published event is thin. It holds ids and facts such as a role, a status or a reason; a reader that wants a name, a number
//! or a text asks the API for it. So nothing of a person lies in an event, and an erasure need not look for any.
//!
//! The rules are pure: each `derive_…_events` compares a record as it was stored with the one that replaces it, and returns
//! what is published of that. Both stores call them where they write the record.

mod conversations;
mod cursor;
mod data;
mod kind;
mod messages;
mod others;

pub use conversations::{ConversationFacts, derive_conversation_events};
pub use cursor::{CursorError, EventCursor};
pub use data::{PublishedData, TurnResult};
pub use kind::{KindError, KindFilter, PublishedKind};
pub use messages::{MessageFacts, MessageOwner, derive_delivery_events, derive_message_events};
pub use others::{
    InvitationFacts, derive_alert_events, derive_instance_events, derive_invitation_events,
    derive_journal_events, derive_page_events,
};

use crate::ids::{ConversationId, InstanceId, MessageId, TenantId, hash_parts};
use crate::millis;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which a published event is kept unless a setting says another: 7 days.
pub const DEFAULT_EVENT_RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

/// An event that Recado publishes, in the JSON in which readers get it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PublishedEvent {
    /// The id, by which an event that comes twice is recognized.
    pub id: String,
    /// The tenant. Absent: the event is about the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The kind.
    pub kind: PublishedKind,
    /// Time at which the change was stored.
    pub at: Timestamp,
    /// The instance that it is about.
    #[serde(rename = "instance_id", default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// The conversation that it is about.
    #[serde(rename = "conversation_id", default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The message that it is about.
    #[serde(rename = "message_id", default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The facts. No name, number or text.
    #[cfg_attr(feature = "schema", schema(required = true))]
    #[serde(default)]
    pub data: PublishedData,
}

impl PublishedEvent {
    /// Makes an event. `record` names the version of the record that the change made, so that the same change has the same id
    /// however often it is derived.
    fn new(kind: PublishedKind, record: &[&str], at: Timestamp, data: PublishedData) -> Self {
        let at = millis::from_unix_millis(at.as_millisecond());
        let time = at.as_millisecond().to_string();
        let mut parts = vec![kind.as_str(), &time];
        parts.extend(record);
        Self {
            id: format!("pe_{}", hash_parts(&parts, 16)),
            tenant: None,
            kind,
            at,
            instance: None,
            conversation: None,
            message: None,
            data,
        }
    }

    /// Returns the key of the events among which the order counts: those of a conversation, else of an invitation, an instance or an
    /// occasion.
    pub fn order_key(&self) -> String {
        let conversation = self.conversation.as_ref().map(ToString::to_string);
        let invitation = self.data.invitation.as_ref().map(ToString::to_string);
        let instance = self.instance.as_ref().map(ToString::to_string);
        let occasion = self.data.occasion.as_ref().map(ToString::to_string);
        let parts = [conversation, invitation, instance, occasion];
        parts.into_iter().flatten().next().unwrap_or_default()
    }

    /// Makes the event that tells an endpoint nothing but that events arrive. `nonce` makes it another one each time.
    pub fn for_test(tenant: &TenantId, nonce: &str, at: Timestamp) -> Self {
        let record = [tenant.as_str(), nonce];
        Self {
            tenant: Some(tenant.clone()),
            ..Self::new(PublishedKind::WebhookTest, &record, at, PublishedData::default())
        }
    }
}

/// A record of a conversation that events tell of: the conversation itself, or one of its messages.
struct ConversationRecord<'a> {
    tenant: &'a TenantId,
    instance: &'a InstanceId,
    conversation: &'a ConversationId,
    message: Option<MessageId>,
    rev: u64,
}

impl ConversationRecord<'_> {
    /// Makes the event of a change that led to this revision of the record.
    fn make_published_event(
        &self,
        kind: PublishedKind,
        at: Timestamp,
        data: PublishedData,
    ) -> PublishedEvent {
        let message = self.message.as_ref().map(MessageId::to_string);
        let id = message.unwrap_or_else(|| self.conversation.to_string());
        let rev = self.rev.to_string();
        PublishedEvent {
            tenant: Some(self.tenant.clone()),
            instance: Some(self.instance.clone()),
            conversation: Some(self.conversation.clone()),
            message: self.message.clone(),
            ..PublishedEvent::new(kind, &[&id, &rev], at, data)
        }
    }
}

#[cfg(test)]
mod tests;
