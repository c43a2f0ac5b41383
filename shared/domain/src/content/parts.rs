//! The structures that the larger kinds of content consist of.

use serde::{Deserialize, Serialize};

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MediaKind {
    /// A picture.
    Image,
    /// A recording or music.
    Audio,
    /// A voice note.
    Voice,
    /// A video.
    Video,
    /// Any other file.
    Document,
    /// A sticker.
    Sticker,
}

impl MediaKind {
    /// Returns the word for the kind in the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A file. An outgoing file is given by `source` alone: an `https` URL, or `upload:` and the id of an upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// The kind of file.
    pub media: MediaKind,
    /// The text that was sent with the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<String>,
    /// The MIME type that the provider gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The file name (documents only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    /// The place from which the file can be fetched: the provider's id or a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Playing time, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    /// `true` if the file may be looked at only once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub view_once: bool,
}

impl Media {
    /// Makes a file of a kind, with nothing else known.
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
    /// Latitude in degrees, as text so that no digit is lost.
    pub latitude: String,
    /// Longitude in degrees, as text so that no digit is lost.
    pub longitude: String,
    /// The place's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The URL of a page about the place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `true` for the person's own position, which moves (a live location).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub live: bool,
}

/// A contact card.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContactCard {
    /// The person's whole name.
    #[cfg_attr(feature = "schema", schema(required = true))]
    #[serde(default)]
    pub name: String,
    /// The person's phone numbers, as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phones: Vec<String>,
    /// The person's e-mail addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<String>,
    /// The organization for which the person works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
}

/// An order from a catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The products ordered. The list is empty if the provider gives only their count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<OrderItem>,
    /// Number of different products.
    pub count: u32,
    /// The catalogue's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The note that the person wrote with the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A product in an order, with its quantity and price.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderItem {
    /// The product's id in the catalogue.
    pub product: String,
    /// Quantity, as text, because providers write numbers and strings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// Price of a single item, as text.
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
    /// The buttons, at least one. Allowed are up to three [`ButtonKind::Reply`] buttons, or a single button of another
    /// kind.
    pub buttons: Vec<Button>,
}

/// A button below a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// The action of the button.
    #[serde(flatten)]
    pub does: ButtonKind,
    /// The text on the button.
    pub title: String,
}

/// The actions that a button may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ButtonKind {
    /// Answers with a [`Content::Choice`](super::Content::Choice) of this id.
    Reply {
        /// The id that the choice will have.
        id: String,
    },
    /// Opens a web page.
    Url {
        /// The page's URL.
        url: String,
    },
    /// Calls a number.
    Call {
        /// The phone number to call.
        phone: String,
    },
    /// Copies a text.
    Copy {
        /// The text to copy.
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
    /// The text on the button that opens the menu.
    pub button: String,
    /// The sections of the menu.
    pub sections: Vec<ListSection>,
}

/// A section of a menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ListSection {
    /// The heading above the rows. A menu with a single section needs no heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The rows of the section.
    pub rows: Vec<ListRow>,
}

/// A row of a menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ListRow {
    /// The id that comes back when the person chooses the row.
    pub id: String,
    /// The text of the row.
    pub title: String,
    /// Small print below the row's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A message template that the provider approved before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MessageTemplate {
    /// The template's name at the provider.
    pub name: String,
    /// The template's language, such as `pt_BR`.
    #[cfg_attr(feature = "schema", schema(example = "pt_BR"))]
    pub language: String,
    /// The values that fill the template, as Meta's `components`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<serde_json::Value>,
}
