//! What a message says, in one form for every provider.

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
    Media {
        /// What kind of file.
        media: MediaKind,
        /// Text that came with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caption: Option<String>,
        /// Its MIME type, as the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Its file name (documents).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_name: Option<String>,
        /// By what it can be fetched from the provider: an id or a URL.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A place.
    Location {
        /// Degrees, as text so that no digit is lost.
        latitude: String,
        /// Degrees, as text so that no digit is lost.
        longitude: String,
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<String>,
    },
    /// Contact cards.
    Contacts {
        /// The names on them.
        names: Vec<String>,
    },
    /// A button, list row or form that the person chose or filled in.
    Choice {
        /// The id that the sender of the question gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// What the person saw.
        title: String,
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
    },
    /// An order from a catalogue.
    Order {
        /// How many different products.
        items: u32,
        /// The note with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Something that Recado does not know (yet); kept as it came.
    Unsupported {
        /// What the provider calls it.
        kind: String,
        /// The message as it came.
        raw: serde_json::Value,
    },
}

/// Kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A recording or music.
    Audio,
    /// A voice note.
    Voice,
    /// A film.
    Video,
    /// Any other file.
    Document,
    /// A sticker.
    Sticker,
}

impl MediaKind {
    /// The word for it in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Voice => "voice",
            Self::Video => "video",
            Self::Document => "document",
            Self::Sticker => "sticker",
        }
    }
}

impl Content {
    /// A text message.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The word for its kind in the API.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text { .. } => "text",
            Self::Media { media, .. } => media.as_str(),
            Self::Location { .. } => "location",
            Self::Contacts { .. } => "contacts",
            Self::Choice { .. } => "choice",
            Self::Reaction { .. } => "reaction",
            Self::Poll { .. } => "poll",
            Self::Order { .. } => "order",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    /// Whether a person who sends this expects an answer. A reaction does not ask for one.
    pub fn wants_answer(&self) -> bool {
        !matches!(self, Self::Reaction { .. })
    }

    /// What a model and an operator read.
    pub fn as_text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Media {
                media,
                caption,
                file_name,
                ..
            } => {
                let name = file_name.as_deref().map(|n| format!(" {n}")).unwrap_or_default();
                let label = format!("[{}{name}]", media.as_str());
                caption
                    .as_deref()
                    .map_or(label.clone(), |caption| format!("{label} {caption}"))
            }
            Self::Location {
                latitude,
                longitude,
                name,
                address,
            } => {
                let what: Vec<&str> = [name.as_deref(), address.as_deref()]
                    .into_iter()
                    .flatten()
                    .collect();
                format!("[location {latitude},{longitude}] {}", what.join(", "))
                    .trim_end()
                    .to_owned()
            }
            Self::Contacts { names } => format!("[contacts] {}", names.join(", ")),
            Self::Choice { title, .. } => title.clone(),
            Self::Reaction {
                emoji: Some(emoji), ..
            } => format!("[reaction] {emoji}"),
            Self::Reaction { emoji: None, .. } => "[reaction removed]".to_owned(),
            Self::Poll { question, options } => format!("[poll] {question}: {}", options.join(" / ")),
            Self::Order { items, text } => {
                format!("[order of {items}] {}", text.as_deref().unwrap_or_default())
                    .trim_end()
                    .to_owned()
            }
            Self::Unsupported { kind, .. } => format!("[{kind}]"),
        }
    }
}
