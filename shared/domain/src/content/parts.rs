//! What the larger kinds of content are made of.

use serde::{Deserialize, Serialize};

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

/// A file. What goes out is given by `source` alone: an `https` URL, or `upload:` and the id of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// What kind of file.
    pub media: MediaKind,
    /// Text that came with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// Its MIME type, as the provider says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Its file name (documents).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// By what it can be fetched: the provider's id or a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// How long it plays, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// It may be looked at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub view_once: bool,
}

impl Media {
    /// A file of a kind, with nothing else known.
    pub fn from_kind(media: MediaKind) -> Self {
        Self {
            media,
            caption: None,
            mime_type: None,
            file_name: None,
            source: None,
            seconds: None,
            view_once: false,
        }
    }
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Degrees, as text so that no digit is lost.
    pub latitude: String,
    /// Degrees, as text so that no digit is lost.
    pub longitude: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// A page about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The person's own place, which moves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

/// A contact card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactCard {
    /// The whole name.
    #[serde(default)]
    pub name: String,
    /// Phone numbers, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phones: Vec<String>,
    /// E-mail addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<String>,
    /// Where the person works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
}

/// An order from a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is ordered. Empty where the provider only counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<OrderItem>,
    /// How many different products.
    pub count: u32,
    /// The catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The note with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderItem {
    /// The product's id in the catalogue.
    pub product: String,
    /// How many, as text: providers write numbers and strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The price of one, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<String>,
    /// The currency of the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
}

/// A text with buttons below.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buttons {
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The text.
    pub body: String,
    /// Small print below the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
    /// At least one: at most three that reply, or a single one that does something else.
    pub buttons: Vec<Button>,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it does.
    #[serde(flatten)]
    pub does: ButtonKind,
    /// What it says.
    pub title: String,
}

/// What a button does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ButtonKind {
    /// Answers with a [`Content::Choice`](super::Content::Choice) of this id.
    Reply {
        /// The id.
        id: String,
    },
    /// Opens a page.
    Url {
        /// The page.
        url: String,
    },
    /// Calls a number.
    Call {
        /// The number.
        phone: String,
    },
    /// Copies a text.
    Copy {
        /// The text.
        code: String,
    },
}

/// A text with a menu to choose from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListMenu {
    /// A line above the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The text.
    pub body: String,
    /// Small print below the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footer: Option<String>,
    /// What the button says that opens the menu.
    pub button: String,
    /// The menu.
    pub sections: Vec<ListSection>,
}

/// A part of a menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListSection {
    /// What stands above its rows. May be left out where there is one section only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The rows.
    pub rows: Vec<ListRow>,
}

/// A row of a menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListRow {
    /// The id that comes back when it is chosen.
    pub id: String,
    /// What it says.
    pub title: String,
    /// Small print below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A template that was approved before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageTemplate {
    /// Its name at the provider.
    pub name: String,
    /// Its language, such as `pt_BR`.
    pub language: String,
    /// What is put into it, as Meta's `components`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<serde_json::Value>,
}
