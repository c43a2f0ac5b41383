//! Identifiers. Each identifier is a type of its own with a single checked constructor. So no identifier can take the
//! place of another, and neither JSON nor storage can bring in an identifier that the constructor would refuse.

use crate::hexadecimal::{encode_hex, is_hexadecimal};
use crate::text_conversions::text_conversions;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;

/// The reasons why a text is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("{kind} must not be empty")]
    Empty {
        /// The kind of identifier.
        kind: &'static str,
    },
    /// The text is longer than the store's keys allow.
    #[error("{kind} must not be longer than {max} characters")]
    TooLong {
        /// The kind of identifier.
        kind: &'static str,
        /// The limit, in characters.
        max: usize,
    },
    /// The text holds a character outside the allowed set.
    #[error("{kind} may only hold letters, digits and . _ - @ : + =")]
    Character {
        /// The kind of identifier.
        kind: &'static str,
    },
    /// The text holds a slash, and identifiers of this kind stand in paths.
    #[error("{kind} must have no slash, since it stands in paths")]
    Slash {
        /// The kind of identifier.
        kind: &'static str,
    },
    /// The text does not have the form of this kind of identifier.
    #[error("{kind} is malformed")]
    Malformed {
        /// The kind of identifier.
        kind: &'static str,
    },
}

const LENGTH_MAX: usize = 200;

fn checked(kind: &'static str, text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty { kind });
    }
    if text.chars().count() > LENGTH_MAX {
        return Err(IdError::TooLong {
            kind,
            max: LENGTH_MAX,
        });
    }
    let fine = |c: char| c.is_alphanumeric() || " ._-@:+=/".contains(c);
    let is_fine = text.chars().all(fine);
    is_fine.then_some(()).ok_or(IdError::Character { kind })
}

/// Checks an identifier that stands in paths: API Gateway hands them over decoded, so that a slash would part it.
fn checked_in_path(kind: &'static str, text: &str) -> Result<(), IdError> {
    checked(kind, text)?;
    let is_one_part = !text.contains('/');
    is_one_part.then_some(()).ok_or(IdError::Slash { kind })
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        id!($(#[$doc])* $name, $kind, checked);
    };
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Parses an identifier: 1 to 200 letters, digits, spaces and `. _ - @ : + = /`, the slash only where it
            /// stands in no path.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                $check($kind, text)?;
                Ok(Self(text.to_owned()))
            }

            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                $check($kind, &text)?;
                Ok(Self(text))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// The id of a tenant: a customer of the installation, for example a clinic or a shop.
    TenantId,
    "tenant id",
    checked_in_path
);
id!(
    /// The id of an instance, given by the configuration. An instance is a WhatsApp number connected through a
    /// provider.
    InstanceId,
    "instance id",
    checked_in_path
);
id!(
    /// The provider's name for an instance: Evolution's instance name, Meta's `phone_number_id`, AWS's own id.
    ExternalId,
    "provider's instance id"
);

mod configured;
mod invitations;

pub use configured::{AgentId, CalendarId, EmailSenderId, StepId, ToolId, WebhookEndpointId};
pub use invitations::{BatchId, GuestId, InvitationId, InvitationTemplateName, OccasionId};

id!(
    /// An id that follows a webhook or request through every queue, log line and record.
    CorrelationId,
    "correlation id"
);
impl CorrelationId {
    /// Returns the id of what has none that can be read.
    pub fn unknown() -> Self {
        Self("unknown".to_owned())
    }
}

id!(
    /// The id of an event: 64 hexadecimal digits, see [`crate::event`].
    EventId,
    "event id"
);
id!(
    /// The id of a message, in or out: the conversation's id and the message's ordinal, `c_…-1.42`.
    MessageId,
    "message id"
);
id!(
    /// The random name of an attempt or a lease. Only the worker that holds the nonce may finish the attempt or lease.
    Nonce,
    "nonce"
);
id!(
    /// A client's own key for a request. A repeated request with the same key has no second effect.
    IdempotencyKey,
    "idempotency key"
);
id!(
    /// The name of a token, by which records and logs say who did something.
    TokenName,
    "token name",
    checked_in_path
);

impl IdempotencyKey {
    /// Makes the key that is stored in place of a client's text.
    pub(crate) fn from_hash(hash: String) -> Self {
        Self(hash)
    }
}

impl TokenName {
    /// Returns the name of the installation's own token, and of the installation where it acts by itself. No other
    /// token can have the name.
    pub fn installation() -> Self {
        Self("installation".to_owned())
    }

    /// Returns the name that stands for the phone of the number itself, on which a person typed. No token can have the
    /// name.
    pub fn phone() -> Self {
        Self("phone".to_owned())
    }

    /// Returns the name that stands for the agent of the instance. No token can have the name.
    pub fn agent() -> Self {
        Self("agent".to_owned())
    }

    /// Returns the name that stands for another program that answers the number's contacts. No token can have the name.
    pub fn other_agent() -> Self {
        Self("other_agent".to_owned())
    }

    /// Returns `true` if no token may be given the name: it stands for somebody else.
    pub fn is_reserved(&self) -> bool {
        [
            Self::installation(),
            Self::phone(),
            Self::agent(),
            Self::other_agent(),
        ]
        .contains(self)
    }
}

/// The place of a message in its conversation, counted from 1 in the order of arrival. 0 stands for "none".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ordinal(pub u64);

impl Ordinal {
    /// Returns the ordinal after this one.
    #[must_use]
    pub fn next_ordinal(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns `true` for 0, the ordinal of no message.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a thread: all conversations of a contact on an instance, active and resolved. The id is 32 hexadecimal
/// digits that [`crate::identity::IdentityKey::derive_thread_id`] derives, so that no key, queue group or log line
/// leads to a phone number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ThreadId(String);

impl ThreadId {
    /// Makes a thread id from the 32 hexadecimal digits that [`crate::identity`] derives.
    pub(crate) fn from_digest(hex: String) -> Self {
        Self(hex)
    }

    /// Parses 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if is_hexadecimal(text, 32) {
            Ok(Self(text.to_owned()))
        } else {
            Err(IdError::Malformed { kind: "thread id" })
        }
    }

    /// Returns the identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(ThreadId(String), IdError);

/// The id of a conversation: its thread and its number in the thread, `c_{thread}-{number}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId {
    thread: ThreadId,
    number: u32,
}

impl ConversationId {
    /// Makes the id of conversation `number` (from 1) of `thread`.
    pub fn new(thread: ThreadId, number: u32) -> Self {
        Self { thread, number }
    }

    /// Returns the thread of the conversation.
    pub fn thread_id(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the conversation's number in the thread, from 1.
    pub fn number_in_thread(&self) -> u32 {
        self.number
    }

    /// Parses `c_{32 hex}-{number}`; the number must be at least 1.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let malformed = IdError::Malformed {
            kind: "conversation id",
        };
        let (thread, number) = text
            .strip_prefix("c_")
            .and_then(|rest| rest.split_once('-'))
            .ok_or(malformed.clone())?;
        let thread = ThreadId::parse(thread).map_err(|_| malformed.clone())?;
        match number.parse::<u32>() {
            Ok(number) if number > 0 => Ok(Self { thread, number }),
            _ => Err(malformed),
        }
    }

    /// Returns the id of the message with this ordinal.
    pub fn message_id(&self, ordinal: Ordinal) -> MessageId {
        MessageId(format!("{self}.{ordinal}"))
    }
}

impl MessageId {
    /// Returns the conversation and the ordinal in the id. An error means that the id is malformed.
    pub fn conversation_and_ordinal(&self) -> Result<(ConversationId, Ordinal), IdError> {
        let malformed = IdError::Malformed { kind: "message id" };
        let (conversation, ordinal) = self.0.rsplit_once('.').ok_or(malformed.clone())?;
        let ordinal = ordinal.parse::<u64>().map_err(|_| malformed)?;
        Ok((ConversationId::parse(conversation)?, Ordinal(ordinal)))
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c_{}-{}", self.thread.0, self.number)
    }
}

text_conversions!(ConversationId, IdError);

/// Returns the first `bytes` bytes of the SHA-256 of `parts`, as lower-case hexadecimal digits. Each part is preceded
/// by its length, so that no two lists of parts give the same input.
pub fn hash_parts(parts: &[&str], bytes: usize) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    encode_hex(&digest[..bytes.min(digest.len())])
}

impl EventId {
    /// Makes an event id from the 64 hexadecimal digits that [`crate::event`] computes.
    pub(crate) fn from_digest(hex: String) -> Self {
        Self(hex)
    }
}

#[cfg(test)]
mod tests;
