//! The contact of a conversation.

use recado_domain::conversation::Conversation;
use serde::Serialize;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(in crate::api) struct ContactView {
    /// Absent if WhatsApp does not show the contact's number.
    phone: Option<String>,
    name: Option<String>,
    /// URL of the contact's picture at WhatsApp, which works for some days. Absent if none is known.
    picture_url: Option<String>,
}

impl From<&Conversation> for ContactView {
    fn from(conversation: &Conversation) -> Self {
        let phone = conversation.contact.phone.clone();
        let picture = conversation.contact.picture.as_ref();
        Self {
            phone: phone.or_else(|| conversation.address.phone_number()),
            name: conversation.contact.name.clone(),
            picture_url: picture.and_then(|picture| picture.url.clone()),
        }
    }
}
