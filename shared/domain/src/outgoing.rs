//! What may be sent: which kinds of content, and how large. Checked when a client asks for it, so that what no provider
//! takes is refused then and is not a dead letter later.
//!
//! The limits are WhatsApp's own, apart from those of menus: a menu that is too large for buttons or a list is sent as
//! numbered text, so it only has to fit into a text.

mod check;
mod media_source;

use crate::content::{ButtonKind, Content, MediaKind};
pub use media_source::{UPLOAD_PREFIX, is_private_url, is_public_https_url};

/// The longest text, in characters.
/// <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages>
pub const TEXT_MAX: usize = 4096;

/// The longest text below a file, in characters.
pub const CAPTION_MAX: usize = 1024;

/// The kinds of content that can be sent, as providers tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutgoingKind {
    /// Plain text.
    Text,
    /// A picture.
    Image,
    /// A film.
    Video,
    /// A recording or music.
    Audio,
    /// A voice note.
    Voice,
    /// Any other file.
    Document,
    /// A sticker.
    Sticker,
    /// A place.
    Location,
    /// Contact cards.
    Contacts,
    /// A reaction, or one taken back.
    Reaction,
    /// Buttons that answer.
    ReplyButtons,
    /// One button that opens a page.
    UrlButton,
    /// A button that calls or copies.
    OtherButton,
    /// A menu.
    List,
    /// A poll.
    Poll,
    /// A template that was approved before.
    Template,
}

impl OutgoingKind {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Text,
        Self::Image,
        Self::Video,
        Self::Audio,
        Self::Voice,
        Self::Document,
        Self::Sticker,
        Self::Location,
        Self::Contacts,
        Self::Reaction,
        Self::ReplyButtons,
        Self::UrlButton,
        Self::OtherButton,
        Self::List,
        Self::Poll,
        Self::Template,
    ];

    /// Its name in errors and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Voice => "voice note",
            Self::Document => "document",
            Self::Sticker => "sticker",
            Self::Location => "location",
            Self::Contacts => "contacts",
            Self::Reaction => "reaction",
            Self::ReplyButtons => "reply buttons",
            Self::UrlButton => "URL button",
            Self::OtherButton => "call or copy button",
            Self::List => "list",
            Self::Poll => "poll",
            Self::Template => "template",
        }
    }
}

/// Why something cannot be sent. No text of it repeats what was to be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// It only comes in.
    #[error("content of type `{0}` only comes in and cannot be sent")]
    OnlyIncoming(String),
    /// Something in it is missing, too long or not what it must be.
    #[error("{field} {why}")]
    InvalidField {
        /// Where, as a client writes it.
        field: &'static str,
        /// What is wrong.
        why: String,
    },
}

impl Content {
    /// As what it is sent; `None` for what only comes in.
    pub fn outgoing_kind(&self) -> Option<OutgoingKind> {
        Some(match self {
            Self::Text { .. } => OutgoingKind::Text,
            Self::Media(media) => match media.media {
                MediaKind::Image => OutgoingKind::Image,
                MediaKind::Audio => OutgoingKind::Audio,
                MediaKind::Voice => OutgoingKind::Voice,
                MediaKind::Video => OutgoingKind::Video,
                MediaKind::Document => OutgoingKind::Document,
                MediaKind::Sticker => OutgoingKind::Sticker,
            },
            Self::Location(_) => OutgoingKind::Location,
            Self::Contacts { .. } => OutgoingKind::Contacts,
            Self::Reaction { .. } => OutgoingKind::Reaction,
            Self::Buttons(buttons) => match buttons.buttons.as_slice() {
                [only] if matches!(only.does, ButtonKind::Url { .. }) => OutgoingKind::UrlButton,
                all if all
                    .iter()
                    .all(|button| matches!(button.does, ButtonKind::Reply { .. })) =>
                {
                    OutgoingKind::ReplyButtons
                }
                _ => OutgoingKind::OtherButton,
            },
            Self::List(_) => OutgoingKind::List,
            Self::Poll { .. } => OutgoingKind::Poll,
            Self::Template(_) => OutgoingKind::Template,
            Self::Choice { .. }
            | Self::Form { .. }
            | Self::PollVote { .. }
            | Self::Order(_)
            | Self::Edit { .. }
            | Self::Deletion { .. }
            | Self::Welcome
            | Self::System { .. }
            | Self::Unsupported { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests;
