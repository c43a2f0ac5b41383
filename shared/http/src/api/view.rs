//! The JSON shapes that many answers of the API have. They are a contract: fields are added, never renamed.

use crate::query::encode_cursor;
use recado_domain::conversation::Conversation;
use recado_pipeline::ports::Page;
use serde::Serialize;

/// A page of a list.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ListView<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

impl<T> ListView<T> {
    pub fn from_page<R>(page: Page<R>, view: impl Fn(R) -> T) -> Self {
        Self {
            items: page.items.into_iter().map(view).collect(),
            next_cursor: page.next_cursor.as_deref().map(encode_cursor),
        }
    }

    /// Makes a list that has one page.
    pub fn from_items(items: impl Iterator<Item = T>) -> Self {
        Self {
            items: items.collect(),
            next_cursor: None,
        }
    }
}

/// A contact, as the API shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ContactView {
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
