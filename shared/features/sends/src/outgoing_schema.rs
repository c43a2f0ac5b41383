//! Schemas of the content that can be sent: less than [`recado_domain::content::Content`] holds, and in another form. Every other type
//! of the API's JSON describes itself, those of other crates with their feature `schema`. Only tests compile this.
//!
//! A test of `recado-features` holds every answer and every accepted request of its tests against the schemas.
#![expect(dead_code, reason = "these types only describe")]

use recado_domain::content::{ContactCard, ListSection, MediaKind};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// The content of a message, by its kind. Not every provider can send every kind as it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OutgoingContent)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OutgoingContentSchema {
    Text {
        text: String,
    },
    Media(MediaSchema),
    Location(LocationSchema),
    Contacts {
        contacts: Vec<ContactCard>,
    },
    Reaction(ReactionSchema),
    Poll(PollSchema),
    Buttons(ButtonsSchema),
    List(ListMenuSchema),
    /// A message template that the provider approved before.
    Template {
        /// The template's name at the provider.
        name: String,
        #[schema(example = "pt_BR")]
        language: String,
        /// The values that fill the template, as Meta's `components`.
        #[schema(required = false)]
        components: Vec<Value>,
    },
}

/// A file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Media)]
pub struct MediaSchema {
    media: MediaKind,
    /// An `https` URL, or `upload:` and the id of an upload.
    #[schema(example = "https://files.example.org/receita.pdf")]
    source: String,
    /// At most 1,024 characters.
    caption: Option<String>,
    mime_type: Option<String>,
    /// The file name (documents only).
    file_name: Option<String>,
    #[schema(required = false, default = false)]
    view_once: bool,
}

/// A place.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Location)]
pub struct LocationSchema {
    latitude: DegreesSchema,
    longitude: DegreesSchema,
    name: Option<String>,
    address: Option<String>,
}

/// Degrees, as text so that no digit is lost, or as a number.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Degrees)]
#[serde(untagged)]
enum DegreesSchema {
    Text(String),
    Number(f64),
}

/// A reaction to a message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reaction)]
pub struct ReactionSchema {
    /// The emoji. If absent, an earlier reaction is taken back.
    emoji: Option<String>,
    /// The message, by its id or the provider's.
    target: Option<String>,
}

/// A poll.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Poll)]
pub struct PollSchema {
    question: String,
    options: Vec<String>,
    /// Greatest number of options that a person may choose; 0 means any number.
    #[schema(required = false, default = 0)]
    selectable: u32,
}

/// A text with buttons below: up to three of the kind `reply`, or a single one of another kind.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Buttons)]
pub struct ButtonsSchema {
    /// A line above the text.
    header: Option<String>,
    body: String,
    /// Small print below the text.
    footer: Option<String>,
    buttons: Vec<ButtonSchema>,
}

/// A button. It answers with its `id`, opens `url`, calls `phone` or copies `code`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Button)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum ButtonSchema {
    Reply { title: String, id: String },
    Url { title: String, url: String },
    Call { title: String, phone: String },
    Copy { title: String, code: String },
}

/// A text with a menu to choose from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListMenu)]
pub struct ListMenuSchema {
    /// A line above the text.
    header: Option<String>,
    body: String,
    /// Small print below the text.
    footer: Option<String>,
    /// The text on the button that opens the menu.
    button: String,
    sections: Vec<ListSection>,
}
