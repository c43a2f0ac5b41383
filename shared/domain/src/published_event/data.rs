use crate::alert::{AlertKind, AlertSeverity};
use crate::conversation::{ConversationMode, ConversationStatus};
use crate::effects::EffectId;
use crate::ids::{InvitationId, OccasionId};
use crate::instance::ConnectionStatus;
use crate::invitations::InvitationChannel;
use crate::message::Role;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The way in which a turn of the agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnResult {
    /// The agent answered.
    Answered,
    /// The agent said that nothing is to be answered.
    Silent,
    /// The turn was left without an answer: it failed and is tried again, or somebody else answers.
    Left,
}

/// The facts of a published event. The kind says which of them there are; the others are absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PublishedData {
    /// The side that wrote the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The kind of the message's content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The changed part of the message: `reaction`, `edit`, `deletion`, `content`, `file` or `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The status of the message or of the invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The mode of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ConversationMode>,
    /// The status of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_status: Option<ConversationStatus>,
    /// The reason of the status, or for which the conversation waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Time since which the conversation waits, the connection is so, the alert's condition holds, or pages must be made anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The way in which the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<TurnResult>,
    /// The connection of the instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionStatus>,
    /// The invitation.
    #[serde(rename = "invitation_id", default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<InvitationId>,
    /// The occasion of the invitation or of the pages.
    #[serde(rename = "occasion_id", default, skip_serializing_if = "Option::is_none")]
    pub occasion: Option<OccasionId>,
    /// The channel of the invitation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<InvitationChannel>,
    /// The appointment: the id of its event in the calendar.
    #[serde(rename = "appointment_id", default, skip_serializing_if = "Option::is_none")]
    pub appointment: Option<EffectId>,
    /// Begin of what is kept free for the appointment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<Timestamp>,
    /// End of what is kept free for the appointment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<Timestamp>,
    /// The condition of the alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<AlertKind>,
    /// The urgency of the alert.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<AlertSeverity>,
}
