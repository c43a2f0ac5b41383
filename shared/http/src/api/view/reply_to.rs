//! The message that another one replies to.

use recado_domain::context::QuotedMessage;
use recado_domain::ids::MessageId;
use serde::Serialize;

/// The message that another one replies to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(in crate::api) struct ReplyToView {
    /// Id of the message; absent if it is not stored here. Then only the author's side tells its text.
    id: Option<MessageId>,
    /// The begin of the message's text; absent if it is not known.
    text: Option<String>,
}

impl From<&QuotedMessage> for ReplyToView {
    fn from(quoted: &QuotedMessage) -> Self {
        Self {
            id: quoted.message.clone(),
            text: quoted.text.clone(),
        }
    }
}
