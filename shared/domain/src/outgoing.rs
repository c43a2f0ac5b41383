//! Rules for outgoing content: the kinds that can be sent, and their limits.
//!
//! Content is checked when a client asks to send it. So content that no provider accepts is refused at once and does not
//! become a dead letter later.
//!
//! The limits are WhatsApp's own, apart from the limits of menus: a menu that is too large for buttons or a list is sent
//! as numbered text, so it only has to fit into a text.

mod check;
mod media_source;

use crate::content::{ButtonKind, Content, MediaKind};
pub use media_source::{
    UPLOAD_PREFIX, build_upload_key, is_private_url, is_public_https_url, names_upload, upload_payload_key,
};
use strum::{IntoStaticStr, VariantArray};

/// Largest length of a text, in characters.
/// <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages>
pub const TEXT_MAX: usize = 4096;

/// Largest length of a caption below a file, in characters.
pub const CAPTION_MAX: usize = 1024;

/// The kinds of content that can be sent, as providers distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum OutgoingKind {
    /// Plain text.
    Text,
    /// A picture.
    Image,
    /// A video.
    Video,
    /// A sound recording or music.
    Audio,
    /// A voice note.
    #[strum(serialize = "voice note")]
    Voice,
    /// Any other file.
    Document,
    /// A sticker.
    Sticker,
    /// A location.
    Location,
    /// Contact cards.
    Contacts,
    /// A reaction, or the removal of a reaction.
    Reaction,
    /// Buttons that send an answer.
    #[strum(serialize = "reply buttons")]
    ReplyButtons,
    /// A single button that opens a web page.
    #[strum(serialize = "URL button")]
    UrlButton,
    /// A button that calls a number or copies a code, or a mixture of buttons.
    #[strum(serialize = "call or copy button")]
    OtherButton,
    /// A list menu.
    List,
    /// A poll.
    Poll,
    /// A message template that Meta approved before.
    Template,
}

impl OutgoingKind {
    /// All kinds.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name of the kind in errors and documents.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The reason why content cannot be sent. No error text repeats the content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutgoingError {
    /// The content is of a type that only comes in.
    #[error("content of type `{0}` only comes in and cannot be sent")]
    OnlyIncoming(String),
    /// A field is missing, too long or not valid.
    #[error("{field} {why}")]
    InvalidField {
        /// Name of the field, as a client writes it.
        field: &'static str,
        /// Description of the error, which follows the field's name.
        why: String,
    },
}

impl Content {
    /// Returns the kind as which the content is sent; `None` if the content only comes in.
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
            | Self::Removed
            | Self::Welcome
            | Self::System { .. }
            | Self::Unsupported { .. } => return None,
        })
    }
}

#[cfg(test)]
mod tests;
