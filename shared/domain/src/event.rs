//! What a webhook brings, and by what it is known again.
//!
//! Providers repeat webhooks: Evolution for twenty minutes, Meta for seven days, to several subscribers at once. An
//! event's id is made only of what stays the same in every repetition.

use crate::ids::{CorrelationId, EventId, ExternalId, Ordinal, hash_parts};
use crate::millis;
use crate::provider::Provider;
use crate::reason::Reason;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A message, from the contact or typed by the business on its phone.
    Message,
    /// A delivery failed after it was accepted. (Every other status is recorded without an event.)
    Failed,
    /// The instance's connection changed.
    Connection,
}

impl EventKind {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Failed => "failed",
            Self::Connection => "connection",
        }
    }
}

/// The id of an event that the provider gives an id: SHA-256 of provider, instance, kind and that id. (A `wamid` is too
/// long for a queue's ids and contains a phone number, hence the hash.)
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

/// The id of an event without one: the same over its RFC 8785 canonical JSON, without server addresses and keys (which
/// differ between two deliveries of one event) but with the envelope's time (the same state comes again, later).
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
    // A value that came from JSON can always be written as canonical JSON; should it not, its plain form is as stable.
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

/// How long an event that others may look just like ([`InboundJob::lookalike`]) is known again after it was applied: longer
/// than a queue drops what comes twice, and than a provider waits before it repeats a webhook.
pub const LOOKALIKE_DEDUP_MS: i64 = 6 * 60_000;

/// How far an event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventState {
    /// Recorded, and owed: a repeated webhook is enqueued again.
    Pending,
    /// Done: a repeated webhook is only acknowledged.
    Applied,
    /// Given up, with a reason; redrive makes it pending again.
    Dead,
}

/// An event's body, or where it lies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventPayload {
    /// The provider's JSON of this one event.
    Inline(Value),
    /// The name under which [too large a body](PAYLOAD_INLINE_BYTES_MAX) lies in the bucket or data folder.
    Stored(String),
}

/// Larger bodies travel as a pointer: a queue message holds 1 MiB, a DynamoDB item 400 KB.
pub const PAYLOAD_INLINE_BYTES_MAX: usize = 100 * 1024;

/// The queue message `inbound` carries, and what the event's record keeps until it is applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboundJob {
    /// The event's id.
    pub event: EventId,
    /// Where it comes from.
    pub provider: Provider,
    /// The provider's name of the instance.
    pub external: ExternalId,
    /// What it is about.
    pub kind: EventKind,
    /// FIFO group: what [`crate::identity::IdentityKey::derive_event_group`] derives of instance and contact address.
    pub group: String,
    /// Follows it everywhere.
    pub correlation: CorrelationId,
    /// When the webhook arrived.
    #[serde(with = "millis")]
    pub received_at: Timestamp,
    /// Its body.
    pub payload: EventPayload,
    /// Another event may look just like it, since it shows neither an id nor a time: the same words, written again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lookalike: bool,
    /// Set by a redrive, from wherever: an event that died then becomes pending again before it is processed. One that
    /// is alive, or died again since, is left as it is.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub redrive: Option<Timestamp>,
}

/// An event's record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// What was received.
    pub job: InboundJob,
    /// How far it has come.
    pub state: EventState,
    /// Where its message was stored, once it was: the conversation's id and the ordinal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<MessagePosition>,
    /// How often its processing ended without a report, or with one that trying again cannot help; counted from the second
    /// time the queue delivered it, and with the attempt that runs.
    #[serde(default)]
    pub attempts: u32,
    /// How often it was enqueued again because it stayed pending.
    #[serde(default)]
    pub again: u32,
    /// When it was enqueued again last.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Timestamp>,
    /// Why it was given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// When it was applied or given up.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<Timestamp>,
    /// How it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processed: Option<ProcessingRecord>,
}

/// How an event was applied; when that was finished, its record says as [`EventRecord::settled_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessingRecord {
    /// When the worker that finished it began.
    #[serde(with = "millis")]
    pub started_at: Timestamp,
    /// What followed from it.
    pub enqueued: FollowUpJob,
}

/// What followed from an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUpJob {
    /// Nothing.
    Nothing,
    /// The timer of the turn for the message with this ordinal.
    Turn(Ordinal),
}

impl EventRecord {
    /// A record just made.
    pub fn new_pending(job: InboundJob) -> Self {
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

    /// When it died, if it is dead.
    pub fn failed_at(&self) -> Option<Timestamp> {
        self.settled_at.filter(|_| self.state == EventState::Dead)
    }

    /// When it is overdue: 2 minutes after it came, 10 after it was enqueued again, then every hour.
    pub fn overdue_at(&self) -> Option<Timestamp> {
        let minutes = match self.again {
            0 => 2,
            1 => 10,
            _ => 60,
        };
        let since = self.again_at.unwrap_or(self.job.received_at);
        (self.state == EventState::Pending).then(|| millis::add_millis(since, minutes * 60_000))
    }
}

/// Where an event's message lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessagePosition {
    /// The conversation.
    pub conversation: crate::ids::ConversationId,
    /// Its place there.
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
        let id = derive_event_id(
            Provider::from_static("evolution"),
            &external(),
            EventKind::Message,
            "ABC123",
        );
        assert_eq!(
            id,
            derive_event_id(
                Provider::from_static("evolution"),
                &external(),
                EventKind::Message,
                "ABC123"
            )
        );
        assert_ne!(
            id,
            derive_event_id(
                Provider::from_static("evolution"),
                &other,
                EventKind::Message,
                "ABC123"
            )
        );
        assert_ne!(
            id,
            derive_event_id(
                Provider::from_static("meta"),
                &external(),
                EventKind::Message,
                "ABC123"
            )
        );
        assert_ne!(
            id,
            derive_event_id(
                Provider::from_static("evolution"),
                &external(),
                EventKind::Failed,
                "ABC123"
            )
        );
        assert_eq!(id.as_str().len(), 64);
    }

    #[test]
    fn a_body_is_known_again_whatever_its_key_order_and_server() {
        let id = |body| {
            derive_event_id_from_body(
                Provider::from_static("evolution"),
                &external(),
                EventKind::Connection,
                &body,
            )
        };
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
