//! Events of webhooks, and the ids by which repeated events are recognized.
//!
//! Providers repeat webhooks: Evolution for twenty minutes, Meta for seven days, to several subscribers at once. An
//! event's id is made only of data that stays the same in every repetition.

mod job_names;

pub use job_names::JobNames;

use crate::ids::{CorrelationId, EventId, ExternalId, Ordinal, hash_parts};
use crate::millis;
use crate::provider::Provider;
use crate::reason::Reason;
use crate::trace_context::ParentSpan;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum EventKind {
    /// A message, from the contact or typed by the business on its phone.
    Message,
    /// A delivery failed after the provider had accepted the message. (Every other status is recorded without an
    /// event.)
    Failed,
    /// The instance's connection changed.
    Connection,
}

impl EventKind {
    /// Returns the kind's name in records.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Derives the id of an event that has an id of the provider. It is the SHA-256 of provider, instance, kind and the
/// provider's id. (A `wamid` is too long for a queue's ids and contains a phone number, hence the hash.)
pub fn derive_event_id(
    provider: Provider,
    instance: &ExternalId,
    kind: EventKind,
    provider_id: &str,
) -> EventId {
    EventId::from_digest(hash_parts(
        &[provider.as_str(), instance.as_str(), kind.as_str(), provider_id],
        32,
    ))
}

/// Derives the id of an event that has no id of the provider. It is the SHA-256 of provider, instance, kind and the
/// body as RFC 8785 canonical JSON. Server addresses and keys are left out, because they differ between two deliveries
/// of one event. The envelope's time is included, because the same state may come again later.
pub fn derive_event_id_from_body(
    provider: Provider,
    instance: &ExternalId,
    kind: EventKind,
    body: &Value,
) -> EventId {
    let mut body = body.clone();
    if let Value::Object(fields) = &mut body {
        for volatile in ["server_url", "destination", "apikey", "api_key", "webhookUrl"] {
            fields.remove(volatile);
        }
    }
    // JSON values can always be written as canonical JSON. If one cannot, its plain form is as stable.
    let canonical = serde_json_canonicalizer::to_string(&body).unwrap_or_else(|_| body.to_string());
    EventId::from_digest(hash_parts(
        &[
            provider.as_str(),
            instance.as_str(),
            kind.as_str(),
            "body",
            &canonical,
        ],
        32,
    ))
}

/// Time after it was applied for which a lookalike event ([`InboundJob::lookalike`]) is still
/// recognized as a repetition. The 6 minutes are longer than the time in which a queue drops duplicates, and longer
/// than a provider waits before it repeats a webhook.
pub const LOOKALIKE_DEDUP: SignedDuration = SignedDuration::from_mins(6);

/// The state of an event's processing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum EventState {
    /// The event is recorded and must still be processed: a repeated webhook enqueues it again.
    Pending,
    /// The event is done: a repeated webhook is only acknowledged.
    Applied,
    /// The event was given up, with a reason; a redrive makes it pending again.
    Dead,
}

/// The body of an event, or the name under which it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventPayload {
    /// The provider's JSON of this one event.
    Inline(Value),
    /// The name of a [body too large to travel along](PAYLOAD_INLINE_BYTES_MAX) in the bucket or data folder.
    Stored(String),
}

/// Greatest size of an inline body, in bytes. Larger bodies are stored apart and travel by name: a queue message holds
/// 1 MiB, a DynamoDB item 400 KB.
pub const PAYLOAD_INLINE_BYTES_MAX: usize = 100 * 1024;

/// Returns the name under which the file lies that the webhook of an event held.
pub fn webhook_file_key(event: &EventId) -> String {
    format!("file.{event}")
}

/// The message on the queue `inbound` for an event. The event's record keeps it until the event is applied.
///
/// `P`: what is read of the event's body. `IgnoredAny` passes over it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboundJob<P = EventPayload> {
    /// The event's id.
    pub event: EventId,
    /// The provider that sent the webhook.
    pub provider: Provider,
    /// The provider's name of the instance.
    pub external: ExternalId,
    /// The kind of the event.
    pub kind: EventKind,
    /// The FIFO group, derived by [`crate::identity::IdentityKey::derive_event_group`] from instance and contact
    /// address.
    pub group: String,
    /// The correlation id, which follows the event through every queue, record and log line.
    pub correlation: CorrelationId,
    /// The span of the webhook, below which the event's processing goes on. `None`: no traces are exported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentSpan>,
    /// When the webhook arrived.
    #[serde(with = "millis")]
    pub received_at: Timestamp,
    /// The event's body, or the name under which it is stored.
    pub payload: P,
    /// `true` if another event may look exactly like this one, because the provider gave neither an id nor a time. An
    /// example is the same text, written again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lookalike: bool,
    /// `true` if the webhook held the file of the message. It is stored beside the large bodies, under
    /// [`webhook_file_key`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_file: bool,
    /// Time of the failure that a redrive undoes; set only by a redrive, wherever it was started. An event that failed
    /// at this time becomes pending again before it is processed. An event that is not dead, or failed again since, is
    /// left as it is.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Timestamp>,
}

impl<P> InboundJob<P> {
    /// Returns the same job with another body.
    pub fn with_payload<Q>(self, payload: Q) -> InboundJob<Q> {
        InboundJob {
            event: self.event,
            provider: self.provider,
            external: self.external,
            kind: self.kind,
            group: self.group,
            correlation: self.correlation,
            parent: self.parent,
            received_at: self.received_at,
            payload,
            lookalike: self.lookalike,
            has_file: self.has_file,
            redrive: self.redrive,
        }
    }
}

impl InboundJob {
    /// Returns a copy that borrows the body, which may be large.
    pub fn with_borrowed_payload(&self) -> InboundJob<&EventPayload> {
        InboundJob {
            event: self.event.clone(),
            provider: self.provider,
            external: self.external.clone(),
            kind: self.kind,
            group: self.group.clone(),
            correlation: self.correlation.clone(),
            parent: self.parent,
            received_at: self.received_at,
            payload: &self.payload,
            lookalike: self.lookalike,
            has_file: self.has_file,
            redrive: self.redrive,
        }
    }
}

/// The record of an event.
///
/// `P`: what is read of the event's body, as for [`InboundJob`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord<P = EventPayload> {
    /// The event as received.
    pub job: InboundJob<P>,
    /// The state of the processing.
    pub state: EventState,
    /// The place where the event's message is stored, once it is: the conversation's id and the ordinal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<MessagePosition>,
    /// Number of attempts that ended without a report, or with an error that a retry cannot help. The attempt that runs
    /// now is included. Counting begins when the queue delivers the event for the second time.
    #[serde(default)]
    pub attempts: u32,
    /// Number of times that the event was enqueued again because it stayed pending.
    #[serde(default)]
    pub again: u32,
    /// Time at which the event was last enqueued again.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
    /// The reason why the event was given up, or why its message was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Time at which the event was applied or given up.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// The record of how the event was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed: Option<ProcessingRecord>,
}

/// The record of how an event was applied. The time of the end is [`EventRecord::settled_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessingRecord {
    /// Time at which the worker that finished the event began.
    #[serde(with = "millis")]
    pub started_at: Timestamp,
    /// The job that was enqueued for the event.
    pub enqueued: FollowUpJob,
}

/// The job that follows from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpJob {
    /// No job follows.
    Nothing,
    /// No job follows, because the event was ignored: its instance is disabled.
    Ignored,
    /// The turn job for the message with this ordinal.
    Turn(Ordinal),
}

impl<P> EventRecord<P> {
    /// Makes the record of a new event, which is pending.
    pub fn new_pending(job: InboundJob<P>) -> Self {
        let state = EventState::Pending;
        Self {
            job,
            state,
            stored: None,
            attempts: 0,
            again: 0,
            again_at: None,
            reason: None,
            settled_at: None,
            processed: None,
        }
    }

    /// Returns the time at which the event was given up; `None` if it is not dead.
    pub fn failed_at(&self) -> Option<Timestamp> {
        self.settled_at.filter(|_| self.state == EventState::Dead)
    }

    /// Returns the time at which a pending event is overdue; `None` if it is not pending. An event is overdue 2 minutes
    /// after its webhook arrived, 10 minutes after it was first enqueued again, and an hour after each further time.
    pub fn overdue_at(&self) -> Option<Timestamp> {
        let minutes = match self.again {
            0 => 2,
            1 => 10,
            _ => 60,
        };
        let since = self.again_at.unwrap_or(self.job.received_at);
        (self.state == EventState::Pending)
            .then(|| millis::add_duration(since, SignedDuration::from_mins(minutes)))
    }

    /// Returns the same record with another body.
    pub fn with_payload<Q>(self, payload: Q) -> EventRecord<Q> {
        EventRecord {
            job: self.job.with_payload(payload),
            state: self.state,
            stored: self.stored,
            attempts: self.attempts,
            again: self.again,
            again_at: self.again_at,
            reason: self.reason,
            settled_at: self.settled_at,
            processed: self.processed,
        }
    }
}

/// The place of an event's message: its conversation and its ordinal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePosition {
    /// The conversation.
    pub conversation: crate::ids::ConversationId,
    /// The message's ordinal in the conversation.
    pub ordinal: Ordinal,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn external() -> ExternalId {
        ExternalId::parse("suporte-01").unwrap()
    }

    #[test]
    fn the_same_id_is_another_event_on_another_instance_kind_or_provider() {
        let other = ExternalId::parse("suporte-02").unwrap();
        let id = derive_event_id(Provider::Evolution, &external(), EventKind::Message, "ABC123");
        assert_eq!(
            id,
            derive_event_id(Provider::Evolution, &external(), EventKind::Message, "ABC123")
        );
        assert_ne!(
            id,
            derive_event_id(Provider::Evolution, &other, EventKind::Message, "ABC123")
        );
        assert_ne!(
            id,
            derive_event_id(Provider::Meta, &external(), EventKind::Message, "ABC123")
        );
        assert_ne!(
            id,
            derive_event_id(Provider::Evolution, &external(), EventKind::Failed, "ABC123")
        );
        assert_eq!(id.as_str().len(), 64);
    }

    #[test]
    fn a_body_is_known_again_whatever_its_key_order_and_server() {
        let id =
            |body| derive_event_id_from_body(Provider::Evolution, &external(), EventKind::Connection, &body);
        let first = id(
            json!({"event":"connection.update","data":{"state":"open"},"date_time":"t1","server_url":"a","apikey":"k"}),
        );
        let again = id(
            json!({"apikey":"j","server_url":"b","date_time":"t1","data":{"state":"open"},"event":"connection.update"}),
        );
        let later = id(json!({"event":"connection.update","data":{"state":"open"},"date_time":"t2"}));
        assert_eq!(first, again);
        assert_ne!(first, later);
    }
}
