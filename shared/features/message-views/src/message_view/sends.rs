//! The JSON shapes of scheduled messages and of traces.

use crate::trace::{TimelineEntry, TimelineStage, scheduled_timeline};
use recado_domain::Timestamp;
use recado_domain::event::{EventKind, EventRecord, EventState, FollowUpJob};
use recado_domain::ids::{
    ConversationId, CorrelationId, EventId, ExternalId, InstanceId, MessageId, Ordinal, TokenName,
};
use recado_domain::message::MessageStatus;
use recado_domain::metadata::Metadata;
use recado_domain::millis::to_millis;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_domain::scheduled::ScheduledMessage;
use serde::Serialize;
use serde_json::{Map, Value};

/// A scheduled message that waits for its time or was cancelled.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ScheduledView {
    id: MessageId,
    r#type: String,
    content: String,
    status: MessageStatus,
    /// Name of the token with which the message was ordered.
    by: Option<TokenName>,
    send_at: Timestamp,
    instance_id: InstanceId,
    conversation_id: Option<ConversationId>,
    correlation_id: CorrelationId,
    metadata: Option<Map<String, Value>>,
    created_at: Timestamp,
    way: Vec<TimelineEntryView>,
}

impl From<ScheduledMessage> for ScheduledView {
    fn from(scheduled: ScheduledMessage) -> Self {
        Self {
            status: recado_sends::scheduled_status(&scheduled),
            way: scheduled_timeline(&scheduled)
                .into_iter()
                .map(TimelineEntryView::from)
                .collect(),
            by: scheduled.by.clone(),
            id: scheduled.id.as_message_id().clone(),
            r#type: scheduled.content.kind_name().to_owned(),
            content: scheduled.content.render_text(),
            send_at: scheduled.send_at,
            instance_id: scheduled.instance,
            conversation_id: None,
            correlation_id: scheduled.correlation,
            metadata: scheduled.metadata.as_ref().map(Metadata::to_object),
            created_at: scheduled.created_at,
        }
    }
}

/// One step of a message's timeline.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TimelineEntryView {
    step: TimelineStage,
    at: Option<Timestamp>,
    wait_ms: Option<i64>,
    message_id: MessageId,
    detail: Value,
}

impl From<TimelineEntry> for TimelineEntryView {
    fn from(step: TimelineEntry) -> Self {
        Self {
            step: step.step,
            at: step.at,
            wait_ms: step.wait.map(to_millis),
            message_id: step.message,
            detail: step.detail,
        }
    }
}

/// An event, without its payload.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventView {
    id: EventId,
    provider: Provider,
    /// The provider's name for the instance.
    external_id: ExternalId,
    kind: EventKind,
    state: EventState,
    correlation_id: CorrelationId,
    received_at: Timestamp,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    message_id: Option<MessageId>,
    /// The message for which a turn was enqueued.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    enqueued_turn: Option<Ordinal>,
    attempts: u32,
    enqueued_again: u32,
    reason: Option<Reason>,
}

impl From<EventRecord> for EventView {
    fn from(record: EventRecord) -> Self {
        let stored = record.stored.as_ref();
        Self {
            message_id: stored.map(|place| place.conversation.message_id(place.ordinal)),
            id: record.job.event,
            provider: record.job.provider,
            external_id: record.job.external,
            kind: record.job.kind,
            state: record.state,
            correlation_id: record.job.correlation,
            received_at: record.job.received_at,
            started_at: record.processed.map(|processed| processed.started_at),
            finished_at: record.settled_at,
            enqueued_turn: record.processed.and_then(|processed| match processed.enqueued {
                FollowUpJob::Nothing | FollowUpJob::Ignored => None,
                FollowUpJob::Turn(ordinal) => Some(ordinal),
            }),
            attempts: record.attempts,
            enqueued_again: record.again,
            reason: record.reason,
        }
    }
}
