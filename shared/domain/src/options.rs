//! How a message is to be sent, besides what it says.

use serde::{Deserialize, Serialize};

/// What a client may ask for with a message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendOptions {
    /// The provider's id of the message that it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The message that a reaction is for is one of ours, not the contact's: some providers want to be told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_own: bool,
    /// Whom it mentions: phone numbers as digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// Whether a link in it is shown with a preview; as the provider likes, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_preview: Option<bool>,
}

impl SendOptions {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
