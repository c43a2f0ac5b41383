//! What a message says, in one form for every provider and in both directions.
//!
//! Kinds that only come in ([`Content::Choice`], [`Content::Order`] …) and kinds that only go out ([`Content::Buttons`],
//! [`Content::Template`] …) share the type: what went out is read again by people and by the model.

mod echo;
mod parts;
mod rendering;

pub use parts::{
    Button, ButtonKind, Buttons, ContactCard, ListMenu, ListRow, ListSection, Location, Media, MediaKind,
    MessageTemplate, Order, OrderItem,
};
use serde::{Deserialize, Serialize};

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A file.
    Media(Media),
    /// A place.
    Location(Location),
    /// Contact cards.
    Contacts {
        /// The cards.
        contacts: Vec<ContactCard>,
    },
    /// A button or list row that the person chose.
    Choice {
        /// The id that the sender of the question gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// What the person saw.
        title: String,
        /// The small print under a row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A form (flow) that the person filled in.
    Form {
        /// The form's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// What the person saw of it, if anything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What was entered: an object of names and values, or whatever the form made of it.
        answers: serde_json::Value,
    },
    /// A reaction to a message.
    Reaction {
        /// The emoji; `None` takes an earlier one back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        emoji: Option<String>,
        /// The provider's id of the message reacted to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// A poll.
    Poll {
        /// The question.
        question: String,
        /// The options.
        options: Vec<String>,
        /// How many of them one may choose (0: any number).
        #[serde(default)]
        selectable: u32,
    },
    /// What somebody chose in a poll; nothing, if they took it back.
    PollVote {
        /// The provider's id of the poll.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The options chosen; empty also where the provider could not decipher them.
        options: Vec<String>,
    },
    /// An order from a catalogue.
    Order(Order),
    /// The new words of a message that was sent before.
    Edit {
        /// The provider's id of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// What it says now.
        content: Box<Content>,
    },
    /// A message that was taken back.
    Deletion {
        /// The provider's id of the message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// The person opened the chat for the first time and has written nothing yet.
    Welcome,
    /// Something that WhatsApp tells of the contact.
    System {
        /// What happened.
        what: SystemNote,
        /// The same in words, or details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A text with buttons below.
    Buttons(Buttons),
    /// A text with a menu to choose from.
    List(ListMenu),
    /// A template that was approved before: the only thing that Meta takes outside the 24-hour window.
    Template(MessageTemplate),
    /// Something that Recado does not know (yet); kept as it came.
    Unsupported {
        /// What the provider calls it.
        kind: String,
        /// The message as it came.
        raw: serde_json::Value,
    },
}

/// What WhatsApp tells of a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemNote {
    /// The person writes from another number now.
    NumberChanged,
    /// The person's business-scoped user id is another now.
    UserIdChanged,
    /// The person's keys are new: another phone, or another person.
    IdentityChanged,
    /// The person wants no marketing messages any more.
    MarketingStopped,
    /// The person wants marketing messages again.
    MarketingResumed,
    /// Messages of this chat now disappear after a time, or no longer do.
    DisappearingChanged,
    /// Anything else; the text says what.
    Other,
}

impl Content {
    /// A text message.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The word for its kind in the API.
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Text { .. } => "text",
            Self::Media(media) => media.media.as_str(),
            Self::Location(_) => "location",
            Self::Contacts { .. } => "contacts",
            Self::Choice { .. } => "choice",
            Self::Form { .. } => "form",
            Self::Reaction { .. } => "reaction",
            Self::Poll { .. } => "poll",
            Self::PollVote { .. } => "poll_vote",
            Self::Order(_) => "order",
            Self::Edit { .. } => "edit",
            Self::Deletion { .. } => "deletion",
            Self::Welcome => "welcome",
            Self::System { .. } => "system",
            Self::Buttons(_) => "buttons",
            Self::List(_) => "list",
            Self::Template(_) => "template",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    /// Whether a person who sends this expects an answer. A reaction does not ask for one, nor does what was taken back.
    pub fn expects_answer(&self) -> bool {
        !matches!(
            self,
            Self::Reaction { .. } | Self::Deletion { .. } | Self::System { .. }
        )
    }

    /// The file in it, if it is one (or an edit of one).
    pub fn media_file(&self) -> Option<&Media> {
        match self {
            Self::Media(media) => Some(media),
            Self::Edit { content, .. } => content.media_file(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
