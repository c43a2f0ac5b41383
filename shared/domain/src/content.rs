//! The content of a message, in a single form for every provider and in both directions.
//!
//! Kinds that only come in ([`Content::Choice`], [`Content::Order`] …) and kinds that only go out
//! ([`Content::Buttons`], [`Content::Template`] …) share the type, because people and the model read sent messages
//! again.

mod echo;
mod parts;
mod rendering;
mod template;
mod unsupported;

pub use parts::{
    Button, ButtonKind, Buttons, ContactCard, ListMenu, ListRow, ListSection, Location, Media, MediaKind,
    MessageTemplate, Order, OrderItem,
};
pub(crate) use rendering::UNKNOWN_EDIT;
use serde::{Deserialize, Serialize};
pub use template::{KnownTemplate, count_placeholders};

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(tag = "type", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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
        /// The id that the sender of the question gave to the button or row.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The text of the button or row that the person saw.
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
        /// The title that the person saw above the form, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The answers: an object of names and values, or another JSON value if the form sent one.
        answers: serde_json::Value,
    },
    /// A reaction to a message.
    Reaction {
        /// The emoji. `None`: the person takes an earlier reaction back.
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
        /// Greatest number of options that a person may choose; 0 means any number.
        #[serde(default)]
        selectable: u32,
    },
    /// The options that a person chose in a poll; none if the person took the vote back.
    PollVote {
        /// The provider's id of the poll.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The chosen options. The list is also empty if the provider could not decipher them.
        options: Vec<String>,
    },
    /// An order from a catalogue.
    Order(Order),
    /// A new version of a message that was sent before.
    Edit {
        /// The provider's id of the message that was edited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// The message's content after the edit.
        content: Box<Content>,
    },
    /// A message that was taken back.
    Deletion {
        /// The provider's id of the message that was taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
    },
    /// Nothing: the content was removed, because its author deleted the message or it is no longer kept.
    Removed,
    /// The person opened the chat for the first time and has written nothing yet.
    Welcome,
    /// A note from WhatsApp about the contact.
    System {
        /// The kind of note.
        what: SystemNote,
        /// The note in words, or its details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A text with buttons below.
    Buttons(Buttons),
    /// A text with a menu to choose from.
    List(ListMenu),
    /// A template that was approved before: the only content that Meta accepts outside the 24-hour window.
    Template(MessageTemplate),
    /// Content of a kind that Recado does not know (yet), kept as it came.
    Unsupported {
        /// The provider's name for the kind.
        kind: String,
        /// The message as it came.
        raw: serde_json::Value,
    },
}

/// The kinds of notes that WhatsApp sends about a contact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemNote {
    /// The person writes from another number now.
    NumberChanged,
    /// The person's business-scoped user id has changed.
    UserIdChanged,
    /// The person's keys are new: the number is now on another phone, or belongs to another person.
    IdentityChanged,
    /// The person wants no marketing messages any more.
    MarketingStopped,
    /// The person wants marketing messages again.
    MarketingResumed,
    /// The person called. A call opens the service window, as a message does.
    Called,
    /// Messages of this chat now disappear after a time, or no longer disappear.
    DisappearingChanged,
    /// The person wrote something that only the phone shows: it could not be decrypted.
    Unreadable,
    /// The same of a person who came from an advertisement. It asks for an answer: such a person may never write again.
    UnreadableLead,
    /// Any other note; `text` describes it.
    Other,
}

/// The emoji of a reaction that cannot be decrypted.
pub const UNREADABLE_EMOJI: &str = "(not readable)";

impl Content {
    /// Makes a text message.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the word for the kind of content in the API.
    pub fn kind_name(&self) -> &str {
        match self {
            Self::Media(media) => media.media.as_str(),
            other => other.into(),
        }
    }

    /// Returns `true` if a person who sends this content expects an answer. A reaction, a deletion, a note from WhatsApp (but one in place
    /// of the words of somebody who came from an advertisement) and a vote without options ask for no answer.
    pub fn expects_answer(&self) -> bool {
        match self {
            Self::Reaction { .. } | Self::Deletion { .. } => false,
            Self::System { what, .. } => *what == SystemNote::UnreadableLead,
            Self::PollVote { options, .. } => !options.is_empty(),
            Self::Edit { content, .. } => !content.is_unreadable(),
            _ => true,
        }
    }

    /// Returns `true` for the note in place of words that only the phone shows. Such an edit counts, too.
    pub fn is_unreadable(&self) -> bool {
        match self {
            Self::System { what, .. } => {
                matches!(what, SystemNote::Unreadable | SystemNote::UnreadableLead)
            }
            Self::Edit { content, .. } => content.is_unreadable(),
            _ => false,
        }
    }

    /// Returns `true` for content of an unknown kind of which people see no words.
    pub fn is_wordless_unknown(&self) -> bool {
        matches!(self, Self::Unsupported { kind, raw } if !unsupported::has_shown_words(kind, raw))
    }

    /// Returns the provider's id of the message that this content is about; `None` if the content stands for itself.
    pub fn target_id(&self) -> Option<&str> {
        match self {
            Self::Reaction { target, .. }
            | Self::Edit { target, .. }
            | Self::Deletion { target }
            | Self::PollVote { target, .. } => target.as_deref(),
            _ => None,
        }
    }

    /// Replaces the provider's id of the message that this content is about, if it names one.
    pub fn rename_target(&mut self, id: &str) {
        if let Self::Reaction { target, .. }
        | Self::Edit { target, .. }
        | Self::Deletion { target }
        | Self::PollVote { target, .. } = self
            && let Some(target) = target
        {
            id.clone_into(target);
        }
    }

    /// Returns `true` if the content changes the message that it is about: a reaction, an edit or a deletion.
    pub fn changes_target(&self) -> bool {
        matches!(
            self,
            Self::Reaction { .. } | Self::Edit { .. } | Self::Deletion { .. }
        )
    }

    /// Returns the file, if the content is a file or an edit of one.
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
