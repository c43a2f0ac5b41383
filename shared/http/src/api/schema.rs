//! Schemas of the types from other crates that the API's JSON holds. Those crates know nothing of `OpenAPI`.
//! Only tests compile them, as they do everything that describes the API.
//!
//! A test holds every answer and every accepted request of the tests of this crate against these schemas.

mod agents;
mod alerts;
mod calendars;
mod configuration;
mod content;
mod deliveries;
mod events;
mod hours;
mod invitations;
mod reports;
mod secrets;
mod tenants;
mod tools;

pub(super) use calendars::CalendarSchema;
pub(super) use configuration::{AgentSchema, ConfigDocumentSchema, InstanceSchema, RateSchema, TenantSchema};
pub(super) use content::OutgoingContentSchema;
pub(super) use events::{PublishedEventSchema, WebhookEndpointSchema};
pub(super) use reports::{
    CatchUpReportSchema, ConfigurationChangeSchema, PricingSchema, SimulatedMessageSchema, StatusErrorSchema,
};
pub(super) use tools::ToolSchema;

use recado_domain::alert::{AlertKind, AlertSeverity, AlertState, NotificationState};
use recado_domain::answer::{AnswerReason, AnswerState};
use recado_domain::config::ReplyFormat;
use recado_domain::conversation::{ConversationMode, ConversationStatus};
use recado_domain::dead_letter::QueueName;
use recado_domain::decision::DecisionKind;
use recado_domain::delivery::DeliveryStatus;
use recado_domain::event::{EventKind, EventState};
use recado_domain::instance::ConnectionStatus;
use recado_domain::invitations::InvitationChannel;
use recado_domain::message::{MessageStatus, Role};
use recado_domain::notice::NoticeKind;
use recado_domain::provider::Provider;
use recado_domain::published_event::{PublishedKind, TurnResult};
use recado_domain::reason::Reason;
use recado_domain::signature::SignaturePosition;
use recado_pipeline::configure::ConfigurationChangeKind;
use recado_pipeline::health::HealthStatus;
use recado_pipeline::trace::TimelineStage;
use serde::Serialize;
use std::borrow::Cow;
use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Describes an enum as the words that its variants serialize to.
fn describe_words<T: Serialize>(values: &[T]) -> RefOr<Schema> {
    let words = values.iter().map(|value| serde_json::json!(value));
    let schema = ObjectBuilder::new().schema_type(Type::String);
    schema.enum_values(Some(words)).build().into()
}

/// Defines a schema for each enum. A variant that is missing in the list does not compile.
macro_rules! word_schemas {
    ($($schema:ident: $described:ident { $($variant:ident),+ $(,)? })+) => {$(
        pub(super) struct $schema;

        impl PartialSchema for $schema {
            fn schema() -> RefOr<Schema> {
                let _all_listed = |value| match value { $($described::$variant)|+ => () };
                describe_words(&[$($described::$variant),+])
            }
        }

        impl ToSchema for $schema {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($described))
            }
        }
    )+};
}

word_schemas! {
    ProviderSchema: Provider { Evolution, Meta, Dialog360, AwsSocial }
    ConversationModeSchema: ConversationMode { Ai, Manual }
    ConversationStatusSchema: ConversationStatus { Active, Resolved }
    DecisionKindSchema: DecisionKind { HandOver, Resolve }
    ReplyFormatSchema: ReplyFormat { Markdown, Whatsapp }
    QueueNameSchema: QueueName { Inbound, Turns, Outbound }
    DeliveryStatusSchema: DeliveryStatus { Sent, Delivered, Read, Played, Failed }
    EventKindSchema: EventKind { Message, Failed, Connection }
    EventStateSchema: EventState { Pending, Applied, Dead }
    ConnectionStatusSchema: ConnectionStatus { Open, Closed, Unreachable, NeedsCredentials }
    PublishedKindSchema: PublishedKind {
        MessageCreated, MessageUpdated, MessageStatus, ConversationUpdated, ConversationWaiting, TurnStarted,
        TurnFinished, InstanceConnection, DeliveryCreated, DeliveryUpdated, AppointmentBooked, AppointmentMoved,
        AppointmentCancelled, AppointmentUnknown, LandingInvalidated, AlertFired, AlertEnded, WebhookTest,
    }
    TurnResultSchema: TurnResult { Answered, Silent, Left }
    InvitationChannelSchema: InvitationChannel { Whatsapp, Email }
    MessageStatusSchema: MessageStatus { Pending, Sent, Delivered, Read, Failed, Cancelled }
    RoleSchema: Role { User, Assistant, Operator }
    NoticeKindSchema: NoticeKind {
        TemplateStatus, TemplateQuality, TemplateCategory, TemplateComponents, Account, AccountAlert, AccountReview,
        AccountSettings, Capability, NumberQuality, NumberName, Security, Username, Flow, Partner, Payment,
    }
    ReasonSchema: Reason {
        MaxRetriesExceeded, WhatsappPermanentError, InstanceDisconnected, WindowClosed, Poison, UnknownInstance,
        TakenOver, Stale, ModelFailed, UnknownOutcome, Purged, TooMuchToRead, HandedOver, SimulatedReply,
        Blocked, Expired, TooManyTurns, AnswerLoop, AgentSilent, SpellingCorrection, TokenBudget, OptedOut,
        BatchCancelled, EmailRefused, EmailSenderUnavailable, HeldElsewhere, UnknownField,
    }
    AnswerStateSchema: AnswerState { Answered, InWork, Waiting, NotOwed, Failed }
    AnswerReasonSchema: AnswerReason {
        Replied, ErrorMessage, MaybeReplied, Person, NotKept, Debounce, Drafting, TurnPlace, EffectUnderWay, Sending, Manual, NeedsPerson,
        OutOfHours, ModelKey, InstanceClosed, InstanceUnreachable, InstanceKey, NoInstance, AgentDisabled, Stale, NothingToAnswer, Resolved, Cancelled, DeadLetter,
    }
    ConfigurationChangeKindSchema: ConfigurationChangeKind { Created, Changed, Unchanged, Removed, Disabled }
    HealthStatusSchema: HealthStatus { Healthy, Degraded, Unhealthy }
    AlertKindSchema: AlertKind {
        NoHeartbeat, FullDisk, QueueDepth, SlowProcessing, DeadLetters, Disconnected, MissingKey, SilentInstance,
        CustomerWaits, PersonNeeded, NotAcknowledged, NumberQuality, Budget, ModelFails, WebhookFails,
    }
    AlertStateSchema: AlertState { Watched, Firing, Ended, Forgotten }
    NotificationStateSchema: NotificationState { Pending, Dead }
    SeveritySchema: AlertSeverity { Warning, Critical }
    SignaturePositionSchema: SignaturePosition { StartSameLine, StartNewLine, EndSameLine, EndNewLine }
    TimelineStageSchema: TimelineStage {
        Received, Deduplicated, Processing, Stored, Scheduled, Turn, Committed, Claimed, QueuedAgain, Unknown, Sent,
        Delivered, Read, Failed, Dead, Cancelled,
    }
}
