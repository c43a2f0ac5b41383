//! Messages that a provider accepted and that WhatsApp has not acknowledged.

use crate::ids::{ConversationId, InstanceId, MessageId, TenantId};
use crate::millis;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time after which a message that was never acknowledged is no longer told by an alert: a day.
pub const UNACKNOWLEDGED_TOLD_FOR: SignedDuration = SignedDuration::from_hours(24);

/// The acknowledgement that an accepted message waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedAcknowledgement {
    /// The message's tenant.
    pub tenant: TenantId,
    /// The message's instance.
    pub instance: InstanceId,
    /// Time at which the provider accepted the message.
    #[serde(with = "millis")]
    pub accepted_at: Timestamp,
    /// Time from which the acknowledgement is missing.
    #[serde(with = "millis")]
    pub due: Timestamp,
}

/// A message whose acknowledgement is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnacknowledgedMessage {
    /// The message.
    pub message: MessageId,
    /// The acknowledgement that it waits for.
    pub awaited: AwaitedAcknowledgement,
}

impl UnacknowledgedMessage {
    /// Returns the message's conversation; `None` if the id is malformed.
    pub fn conversation_id(&self) -> Option<ConversationId> {
        let place = self.message.conversation_and_ordinal().ok();
        place.map(|(conversation, _)| conversation)
    }
}
