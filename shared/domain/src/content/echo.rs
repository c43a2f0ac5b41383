//! Texts by which Recado recognizes its own message in a provider's echo.

use super::{Content, MediaKind};
use std::fmt::Write;

impl Content {
    /// Returns the text that is sent if the provider has no such kind of content. The text is that of
    /// [`Content::render_text`], except for a poll, which becomes the question and a numbered list of its options.
    pub fn render_fallback_text(&self) -> String {
        match self {
            Self::Poll {
                question, options, ..
            } => {
                let mut text = format!("{question}\n");
                for (at, option) in options.iter().enumerate() {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\n{}. {option}", at + 1);
                }
                text
            }
            _ => self.render_text(),
        }
    }

    /// Returns the part of the content that an echo repeats, for comparing only. Left out is everything that a provider
    /// adds (a file's name, digits of a place) or leaves out (a card's numbers). Two messages with equal content have
    /// equal echo texts.
    pub fn render_echo_text(&self) -> String {
        match self {
            Self::Media(media) => {
                let kind = match media.media {
                    // A voice note may come back as a plain recording.
                    MediaKind::Voice => MediaKind::Audio,
                    kind => kind,
                };
                let caption = media.caption.as_deref().unwrap_or_default();
                format!("[{}] {}", kind.as_str(), caption.trim())
            }
            Self::Location(place) => {
                let degrees = |text: &str| {
                    text.parse::<f64>()
                        .map_or(text.to_owned(), |at| format!("{at:.4}"))
                };
                format!(
                    "[location] {},{}",
                    degrees(&place.latitude),
                    degrees(&place.longitude)
                )
            }
            Self::Contacts { contacts } => {
                let mut names: Vec<&str> = contacts.iter().map(|card| card.name.trim()).collect();
                // A card with two numbers may have become two cards.
                names.dedup();
                format!("[contacts] {}", names.join("; "))
            }
            Self::Reaction { emoji, target } => {
                let emoji = emoji.as_deref().unwrap_or_default();
                format!("[reaction] {emoji} {}", target.as_deref().unwrap_or_default())
            }
            _ => self.render_fallback_text(),
        }
    }
}
