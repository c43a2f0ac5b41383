//! Schema of published events.

use super::{
    AlertKindSchema, ConnectionStatusSchema, ConversationModeSchema, ConversationStatusSchema,
    InvitationChannelSchema, PublishedKindSchema, ReasonSchema, RoleSchema, SeveritySchema, TurnResultSchema,
};
use recado_domain::Timestamp;
use recado_domain::alert::{AlertKind, AlertSeverity};
use recado_domain::conversation::{ConversationMode, ConversationStatus};
use recado_domain::effects::EffectId;
use recado_domain::ids::{ConversationId, InstanceId, InvitationId, MessageId, OccasionId, TenantId};
use recado_domain::instance::ConnectionStatus;
use recado_domain::invitations::InvitationChannel;
use recado_domain::message::Role;
use recado_domain::published_event::{PublishedKind, TurnResult};
use recado_domain::reason::Reason;
use serde::Serialize;
use utoipa::ToSchema;

/// Something that happened.
#[derive(Serialize, ToSchema)]
#[schema(as = PublishedEvent)]
pub(in crate::api) struct PublishedEventSchema {
    /// The id, by which an event that comes twice is recognized.
    id: String,
    /// The place behind the event: `after` of a list that goes on behind it.
    cursor: String,
    #[schema(value_type = PublishedKindSchema)]
    kind: PublishedKind,
    at: Timestamp,
    /// The tenant. Absent: it is about the whole installation.
    #[schema(value_type = Option<String>)]
    tenant: Option<TenantId>,
    #[schema(value_type = Option<String>)]
    instance_id: Option<InstanceId>,
    #[schema(value_type = Option<String>)]
    conversation_id: Option<ConversationId>,
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
    data: PublishedDataSchema,
}

/// Facts. The kind says which of them there are; the others are absent.
#[derive(Serialize, ToSchema)]
#[schema(as = PublishedData)]
struct PublishedDataSchema {
    /// The side that wrote the message.
    #[schema(value_type = Option<RoleSchema>)]
    role: Option<Role>,
    /// The kind of the message's content.
    content: Option<String>,
    /// What changed of the message: `reaction`, `edit`, `deletion`, `content`, `file` or `text` (of its file).
    change: Option<String>,
    /// The status of the message or of the invitation.
    status: Option<String>,
    /// The mode of the conversation.
    #[schema(value_type = Option<ConversationModeSchema>)]
    mode: Option<ConversationMode>,
    /// The status of the conversation.
    #[schema(value_type = Option<ConversationStatusSchema>)]
    conversation_status: Option<ConversationStatus>,
    /// The reason of the status, or for which the conversation waits.
    #[schema(value_type = Option<ReasonSchema>)]
    reason: Option<Reason>,
    /// Time since which the conversation waits, the connection is so, the alert's condition holds, or pages must be made anew.
    since: Option<Timestamp>,
    /// The way in which the turn ended.
    #[schema(value_type = Option<TurnResultSchema>)]
    result: Option<TurnResult>,
    /// The connection of the instance.
    #[schema(value_type = Option<ConnectionStatusSchema>)]
    connection: Option<ConnectionStatus>,
    /// The invitation.
    #[schema(value_type = Option<String>)]
    invitation_id: Option<InvitationId>,
    /// The occasion of the invitation or of the pages.
    #[schema(value_type = Option<String>)]
    occasion_id: Option<OccasionId>,
    /// The channel of the invitation.
    #[schema(value_type = Option<InvitationChannelSchema>)]
    channel: Option<InvitationChannel>,
    /// The appointment: the id of its event in the calendar.
    #[schema(value_type = Option<String>)]
    appointment_id: Option<EffectId>,
    /// Begin of what is kept free for the appointment.
    starts_at: Option<Timestamp>,
    /// End of what is kept free for the appointment.
    ends_at: Option<Timestamp>,
    /// The condition of the alert.
    #[schema(value_type = Option<AlertKindSchema>)]
    alert: Option<AlertKind>,
    /// The urgency of the alert.
    #[schema(value_type = Option<SeveritySchema>)]
    severity: Option<AlertSeverity>,
}

/// An endpoint of a tenant's own systems, which is told of published events by signed requests.
#[derive(Serialize, ToSchema)]
#[schema(
    as = WebhookEndpoint,
    example = json!({"id": "crm", "url": "https://crm.example.org/recado", "kinds": ["message.*", "conversation.waiting"]})
)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct WebhookEndpointSchema {
    /// Id of the endpoint, unique within its tenant.
    id: String,
    /// URL: https, or http to this machine or a private network, where `RECADO_PRIVATE_TOOLS` allows such hosts.
    url: String,
    /// The kinds of events that are posted: a kind, or a group (`message.*`). If absent, all are.
    #[schema(required = false)]
    kinds: Vec<String>,
    /// `true` if nothing is posted.
    #[schema(required = false, default = false)]
    disabled: bool,
}
