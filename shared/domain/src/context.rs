//! What stands around a message: what it replies to, where it comes from.

use serde::{Deserialize, Serialize};

/// What a message came with besides its content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageContext {
    /// The message that it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<QuotedMessage>,
    /// It was written to somebody else first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forwarded: bool,
    /// It was passed on by many.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub frequently_forwarded: bool,
    /// The advertisement or post that led the person here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral: Option<Referral>,
    /// The product of a catalogue that it asks about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Whom it mentions, as addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
}

/// A message that another one replies to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotedMessage {
    /// The provider's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it said, where the provider repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An advertisement or post.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Referral {
    /// `ad` or `post`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its headline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Meta's id of the click.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click: Option<String>,
}

impl MessageContext {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What a model and an operator read before the message itself; empty if there is nothing worth telling.
    pub fn render_text(&self) -> String {
        let mut parts = Vec::new();
        if let Some(referral) = &self.referral {
            let kind = referral.kind.as_deref().unwrap_or("ad");
            let what = referral.headline.as_deref().or(referral.url.as_deref());
            parts.push(format!("[came from the {kind} {}]", what.unwrap_or_default()).replace(" ]", "]"));
        }
        if let Some(product) = &self.product {
            parts.push(format!("[about product {product}]"));
        }
        if self.forwarded || self.frequently_forwarded {
            parts.push("[forwarded]".to_owned());
        }
        if let Some(text) = self.reply_to.as_ref().and_then(|quoted| quoted.text.as_deref()) {
            parts.push(format!("[in reply to: {}]", shorten_quote(text)));
        }
        parts.join(" ")
    }
}

/// How much of a quoted text is repeated, in characters.
const QUOTED_MAX: usize = 200;

fn shorten_quote(text: &str) -> String {
    let mut kept: String = text.chars().take(QUOTED_MAX).collect();
    if kept.len() < text.len() {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_a_message_is_told_in_a_line() {
        let context = MessageContext {
            reply_to: Some(QuotedMessage {
                id: Some("A".to_owned()),
                text: Some("x".repeat(300)),
            }),
            forwarded: true,
            referral: Some(Referral {
                headline: Some("Clareamento".to_owned()),
                ..Referral::default()
            }),
            ..MessageContext::default()
        };
        let told = context.render_text();
        assert!(
            told.starts_with("[came from the ad Clareamento] [forwarded] [in reply to: xxx"),
            "{told}"
        );
        assert!(told.ends_with("x…]") && told.chars().count() < 270);
        assert!(MessageContext::default().is_empty() && MessageContext::default().render_text().is_empty());
    }
}
