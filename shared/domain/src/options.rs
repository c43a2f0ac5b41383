//! The options of a message that is sent, apart from its content.

use serde::{Deserialize, Serialize};

/// The options of a message. A client may set all but the last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendOptions {
    /// The provider's id of the message that this message replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// `true` if a reaction is for a message that Recado sent, not for the contact's. Evolution API needs to know this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_own: bool,
    /// People whom the message mentions: phone numbers as digits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
    /// `true` to show a preview of a link in the message, `false` to hide it. `None`: the provider decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_preview: Option<bool>,
}

impl SendOptions {
    /// Returns `true` if no option is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
