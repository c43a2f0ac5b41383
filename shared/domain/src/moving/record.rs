//! Records that move with what a store keeps beside them. Times of expiry are whole seconds, as `DynamoDB` counts them.

use crate::contact::ContactAddress;
use crate::delivery::{AwaitedAcknowledgement, Delivery, DeliveryKey};
use crate::effects::{Cell, EffectId, HeldCell};
use crate::event::EventRecord;
use crate::ids::{IdempotencyKey, InstanceId, MessageId, OccasionId, TenantId, ThreadId};
use crate::millis::{self, from_unix_millis};
use crate::published_event::{EventCursor, PublishedEvent};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A record with the time at which it expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dated<T> {
    /// The record.
    pub record: T,
    /// Time at which it expires.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

impl<T> Dated<T> {
    /// Makes the record that expires at `expires`, rounded up to a second.
    pub fn new(record: T, expires: Timestamp) -> Self {
        let expires = round_up_to_second(expires);
        Self { record, expires }
    }
}

/// Returns the first whole second at or after `at`.
pub(crate) fn round_up_to_second(at: Timestamp) -> Timestamp {
    let second = at.as_millisecond().div_euclid(1000);
    let whole = from_unix_millis(second.saturating_mul(1000));
    if whole < at {
        from_unix_millis(second.saturating_add(1).saturating_mul(1000))
    } else {
        whole
    }
}

/// A record of the table: its kind says where it lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRecord {
    /// The name of the kind.
    pub kind: &'static str,
    /// The record, as JSON.
    pub body: String,
}

/// The key from which ids are derived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedIdentityKey {
    /// The key, in hexadecimal digits.
    pub key: String,
}

/// The note that an instance was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedInstance {
    /// The hash of the provider and its name for the instance.
    pub hash: String,
    /// Time at which the note expires.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

/// A record of an instance that does not name it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfInstance<T> {
    /// The instance.
    pub instance: InstanceId,
    /// The record.
    pub record: T,
}

/// The number of a person who is known by another identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedAlias {
    /// The thread that the other identity would have.
    pub thread: ThreadId,
    /// The address with the number.
    pub address: ContactAddress,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MovedEvent {
    /// The record.
    pub record: EventRecord,
    /// Time at which it expires; `None` while it is pending or dead.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// The idempotency key of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldKey {
    /// The tenant. An export before format 6 does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The scope within which the key is used once: an instance or a conversation.
    pub scope: String,
    /// The key.
    pub key: IdempotencyKey,
    /// The hash of the request. Another hash under the same key means another request.
    pub request_hash: String,
    /// The message, or the scheduled message, that the request made.
    pub message: MessageId,
    /// Time at which the key is free again.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

/// The delivery of a sent message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedDelivery {
    /// The key.
    pub key: DeliveryKey,
    /// The record; `None` if its message was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Delivery>,
    /// The acknowledgement that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<AwaitedAcknowledgement>,
    /// Time at which it expires.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

/// A cell of a calendar with the event that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedCell {
    /// The tenant.
    pub tenant: TenantId,
    /// The calendar, by the other side's name.
    pub calendar: String,
    /// The begin.
    #[serde(with = "millis")]
    pub start: Timestamp,
    /// The event.
    pub holder: EffectId,
    /// Time from which the cell is free.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

/// The claim of a key by an invitation or a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedClaim {
    /// The tenant.
    pub tenant: TenantId,
    /// The key.
    pub key: String,
    /// The id of the invitation or batch.
    pub claimant: String,
    /// Time at which the claim ends.
    #[serde(with = "millis")]
    pub until: Timestamp,
}

/// The time since which pages about an occasion must be made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPageChange {
    /// The tenant.
    pub tenant: TenantId,
    /// The occasion.
    pub occasion: OccasionId,
    /// The time.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Time at which the note expires.
    #[serde(with = "millis")]
    pub expires: Timestamp,
}

/// A published event with its place in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MovedPublishedEvent {
    /// The place.
    pub cursor: EventCursor,
    /// The event.
    pub event: PublishedEvent,
}

impl RemovedInstance {
    /// Makes the note that expires at `expires`, rounded up to a second.
    pub fn new(hash: String, expires: Timestamp) -> Self {
        let expires = round_up_to_second(expires);
        Self { hash, expires }
    }
}

impl MovedEvent {
    /// Makes the event that expires at `expires`, rounded up to a second.
    pub fn new(record: EventRecord, expires: Option<Timestamp>) -> Self {
        let expires = expires.map(round_up_to_second);
        Self { record, expires }
    }
}

impl MovedDelivery {
    /// Rounds the time of expiry up to a second, and leaves out what the record makes of itself.
    #[must_use]
    pub fn normalize_record(mut self) -> Self {
        self.expires = round_up_to_second(self.expires);
        if let Some(record) = &mut self.record {
            record.recompute_status();
        }
        self
    }
}

impl MovedCell {
    /// Makes the cell of a tenant.
    pub fn new(tenant: TenantId, held: HeldCell) -> Self {
        let HeldCell {
            cell,
            holder,
            expires,
        } = held;
        Self {
            tenant,
            calendar: cell.calendar,
            start: cell.start,
            holder,
            expires,
        }
    }

    /// Returns the cell with its holder.
    pub fn to_held_cell(&self) -> HeldCell {
        HeldCell {
            cell: Cell {
                calendar: self.calendar.clone(),
                start: self.start,
            },
            holder: self.holder.clone(),
            expires: self.expires,
        }
    }
}
