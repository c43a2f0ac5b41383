//! How a message of ours is known again when a provider repeats it.

use super::{Content, MediaKind};
use std::fmt::Write;

impl Content {
    /// What is written where a provider has no such thing: the same as [`Content::render_text`], but for what is an
    /// instruction to people there and no label.
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

    /// What of it comes back in an echo, whatever the provider adds (a file's name, the digits of a place) or leaves out
    /// (a card's numbers). Two messages that say the same have the same; it is compared, not shown.
    pub fn render_echo_text(&self) -> String {
        match self {
            Self::Media(media) => {
                let kind = match media.media {
                    // A voice note may come back as a recording.
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
