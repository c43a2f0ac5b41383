use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use strum::VariantArray;

/// The kind of a published event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, VariantArray)]
#[serde(try_from = "String", into = "String")]
pub enum PublishedKind {
    /// A message was stored.
    MessageCreated,
    /// A stored message changed: a reaction, an edit, a deletion, or its file came.
    MessageUpdated,
    /// The status of an outgoing message changed.
    MessageStatus,
    /// A conversation began, or changed as people see it.
    ConversationUpdated,
    /// A conversation waits for a person from now on.
    ConversationWaiting,
    /// The agent began to draft a reply.
    TurnStarted,
    /// The agent's turn ended.
    TurnFinished,
    /// The connection of an instance changed.
    InstanceConnection,
    /// An invitation was taken.
    DeliveryCreated,
    /// The status of an invitation changed.
    DeliveryUpdated,
    /// An agent booked an appointment.
    AppointmentBooked,
    /// An agent moved an appointment.
    AppointmentMoved,
    /// An agent cancelled an appointment.
    AppointmentCancelled,
    /// Nobody could say whether an appointment was booked, moved or cancelled.
    AppointmentUnknown,
    /// Pages about an occasion must be made anew.
    LandingInvalidated,
    /// An alert began.
    AlertFired,
    /// An alert ended.
    AlertEnded,
    /// Somebody tests an endpoint. It is in no list of events.
    WebhookTest,
}

impl PublishedKind {
    /// All kinds.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageCreated => "message.created",
            Self::MessageUpdated => "message.updated",
            Self::MessageStatus => "message.status",
            Self::ConversationUpdated => "conversation.updated",
            Self::ConversationWaiting => "conversation.waiting",
            Self::TurnStarted => "turn.started",
            Self::TurnFinished => "turn.finished",
            Self::InstanceConnection => "instance.connection",
            Self::DeliveryCreated => "delivery.created",
            Self::DeliveryUpdated => "delivery.updated",
            Self::AppointmentBooked => "appointment.booked",
            Self::AppointmentMoved => "appointment.moved",
            Self::AppointmentCancelled => "appointment.cancelled",
            Self::AppointmentUnknown => "appointment.unknown",
            Self::LandingInvalidated => "landing.invalidated",
            Self::AlertFired => "alert.fired",
            Self::AlertEnded => "alert.ended",
            Self::WebhookTest => "webhook.test",
        }
    }
}

#[cfg(feature = "schema")]
impl utoipa::PartialSchema for PublishedKind {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let text = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::Type::String);
        text.enum_values(Some(Self::ALL.iter().map(|kind| kind.as_str())))
            .build()
            .into()
    }
}

#[cfg(feature = "schema")]
impl utoipa::ToSchema for PublishedKind {}

/// The error for a word that names no kind of published events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are no events of the kind {0:?}")]
pub struct KindError(String);

impl FromStr for PublishedKind {
    type Err = KindError;

    fn from_str(word: &str) -> Result<Self, KindError> {
        let found = Self::ALL.iter().copied().find(|kind| kind.as_str() == word);
        found.ok_or_else(|| KindError(word.to_owned()))
    }
}

impl TryFrom<String> for PublishedKind {
    type Error = KindError;

    fn try_from(word: String) -> Result<Self, KindError> {
        word.parse()
    }
}

impl From<PublishedKind> for String {
    fn from(kind: PublishedKind) -> Self {
        kind.as_str().to_owned()
    }
}

impl fmt::Display for PublishedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The kinds of events that a reader wants: one kind, or all of a group (`message.*`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(try_from = "String", into = "String")]
pub struct KindFilter(String);

impl KindFilter {
    /// Returns whether an event of `kind` is wanted.
    pub fn covers_kind(&self, kind: PublishedKind) -> bool {
        match self.0.strip_suffix('*') {
            Some(group) => kind.as_str().starts_with(group),
            None => kind.as_str() == self.0,
        }
    }

    /// Returns the filter as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for KindFilter {
    type Err = KindError;

    fn from_str(word: &str) -> Result<Self, KindError> {
        let is_group = word.ends_with(".*");
        let filter = Self(word.to_owned());
        let is_known = PublishedKind::ALL.iter().any(|kind| filter.covers_kind(*kind));
        let is_written = is_group || !word.contains('*');
        (is_known && is_written)
            .then_some(filter)
            .ok_or_else(|| KindError(word.to_owned()))
    }
}

impl TryFrom<String> for KindFilter {
    type Error = KindError;

    fn try_from(word: String) -> Result<Self, KindError> {
        word.parse()
    }
}

impl From<KindFilter> for String {
    fn from(filter: KindFilter) -> Self {
        filter.0
    }
}
