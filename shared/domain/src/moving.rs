//! The records of an installation in the form in which they move from one store to another.
//!
//! [`RecordKind::ALL`] lists the kinds for which a store has methods of their own; those of the table are listed where they are declared.
//! Each store reads and writes every kind, or says that it keeps none of it: a test puts a record of each kind into each store. What a
//! store makes of other records by itself (indexes, copies, places in lists) is no kind.

mod digest;
mod record;

pub use digest::{KindTally, RecordDigest};
pub use record::{
    Dated, HeldKey, MovedAlias, MovedCell, MovedClaim, MovedDelivery, MovedEvent, MovedIdentityKey,
    MovedPageChange, MovedPublishedEvent, OfInstance, RemovedInstance, TableRecord,
};

use crate::conversation::Conversation;
use crate::event::{EventPayload, webhook_file_key};
use crate::instance::{InFlightSend, InstanceState, ParkedConversation};
use crate::message::{Message, MessageFile, StoredFile};
use crate::millis::add_duration;
use crate::usage::UsageSum;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Makes the list of kinds: each with its type, its name, and what it is.
macro_rules! moved_kinds {
    ($($(#[$about:meta])* $kind:ident($record:ty) = $name:literal,)*) => {
        /// A kind of records that move.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RecordKind {
            $($(#[$about])* $kind,)*
            /// A kind of the table, by its name.
            OfTable(&'static str),
        }

        impl RecordKind {
            /// All kinds but those of the table, in the order in which they are written: what refers to another record comes after it.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Returns the name of the kind, which is that of its file.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                    Self::OfTable(name) => name,
                }
            }

            /// Reads the JSON of a record of this kind.
            pub fn parse_record(self, json: &str) -> serde_json::Result<MovedRecord> {
                match self {
                    $(Self::$kind => serde_json::from_str(json).map(MovedRecord::$kind),)*
                    Self::OfTable(kind) => {
                        serde_json::from_str::<Value>(json)?;
                        Ok(MovedRecord::OfTable(TableRecord { kind, body: json.to_owned() }))
                    }
                }
            }
        }

        /// A record that moves.
        #[derive(Debug, Clone, PartialEq)]
        pub enum MovedRecord {
            $($(#[$about])* $kind(Box<$record>),)*
            /// A record of the table.
            OfTable(TableRecord),
        }

        impl MovedRecord {
            /// Returns the kind.
            pub fn kind(&self) -> RecordKind {
                match self {
                    $(Self::$kind(_) => RecordKind::$kind,)*
                    Self::OfTable(record) => RecordKind::OfTable(record.kind),
                }
            }

            /// Returns the JSON of the record.
            pub fn to_json(&self) -> serde_json::Result<Value> {
                match self {
                    $(Self::$kind(record) => serde_json::to_value(record),)*
                    Self::OfTable(record) => serde_json::from_str(&record.body),
                }
            }
        }
    };
}

moved_kinds! {
    /// The key from which ids are derived.
    IdentityKey(MovedIdentityKey) = "identity-key",
    /// States of instances.
    InstanceState(OfInstance<InstanceState>) = "instance-states",
    /// Conversations.
    Conversation(Conversation) = "conversations",
    /// Messages, in and out, with the evidence of what was sent.
    Message(Message) = "messages",
    /// Events, pending and settled.
    Event(MovedEvent) = "events",
    /// Deliveries of sent messages.
    Delivery(MovedDelivery) = "deliveries",
    /// Notes of sends whose outcome is not known.
    InFlight(OfInstance<InFlightSend>) = "in-flight-sends",
    /// Conversations that wait for their instance.
    Parked(ParkedConversation) = "parked-conversations",
    /// Sums of what models used.
    Usage(Dated<UsageSum>) = "usage",
    /// Published events, with their places in the log.
    PublishedEvent(MovedPublishedEvent) = "published-events",
}

/// A file that belongs to a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MovedFile {
    /// The bytes of a file.
    File {
        /// The key in the store of files.
        key: String,
        /// The MIME type.
        mime_type: String,
    },
    /// A large body, or a file that a webhook held, under its key.
    Payload(String),
}

/// The MIME type of a file whose record names none.
const UNKNOWN_TYPE: &str = "application/octet-stream";

impl MovedFile {
    /// Makes the file with this key, and with the MIME type that was stored with it, if that is known.
    pub fn new_file(key: String, stored: Option<&StoredFile>) -> Self {
        let mime_type = stored.map_or(UNKNOWN_TYPE, |stored| &stored.mime_type).to_owned();
        Self::File { key, mime_type }
    }

    /// Returns the key in its store.
    pub fn key(&self) -> &str {
        match self {
            Self::File { key, .. } | Self::Payload(key) => key,
        }
    }
}

impl MovedRecord {
    /// Returns the time from which the record counts as absent; `None` if it does not expire. Of a record of the table it is `None`: the
    /// record's kind knows the time.
    pub fn expires_at(&self) -> Option<Timestamp> {
        match self {
            Self::Event(event) => event.expires,
            Self::Delivery(delivery) => Some(delivery.expires),
            Self::InFlight(note) => Some(add_duration(note.record.claimed_at, InFlightSend::RETENTION)),
            Self::Usage(sum) => Some(sum.expires),
            _ => None,
        }
    }

    /// Returns whether the record is there at `now`.
    pub fn is_kept_at(&self, now: Timestamp) -> bool {
        self.expires_at().is_none_or(|expires| expires > now)
    }

    /// Lists the files that may belong to the record, unless it is one of the table: its kind knows them. Not each is stored: one may still
    /// be waited for, or be deleted.
    pub fn list_files(&self) -> Vec<MovedFile> {
        match self {
            Self::Message(message) => message
                .file_key()
                .map(|key| MovedFile::new_file(key, message.file.as_ref().and_then(MessageFile::stored)))
                .into_iter()
                .chain(message.webhook_file_key().map(MovedFile::Payload))
                .collect(),
            Self::Event(event) => {
                let job = &event.record.job;
                let body = match &job.payload {
                    EventPayload::Stored(key) => Some(MovedFile::Payload(key.clone())),
                    EventPayload::Inline(_) => None,
                };
                let file = job
                    .has_file
                    .then(|| MovedFile::Payload(webhook_file_key(&job.event)));
                body.into_iter().chain(file).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
