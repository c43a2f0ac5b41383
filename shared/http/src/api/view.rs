//! The JSON shapes that many answers of the API have. They are a contract: fields are added, never renamed.

use crate::api::request::{JsonAnswer, encode_cursor};
use crate::problem::HttpProblem;
use axum::Json;
use recado_domain::conversation::Conversation;
use recado_pipeline::ports::{Page, PageRequest, PortError};
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

/// Answers with a page of a list that was requested by `page`.
pub fn answer_page<R, T>(
    found: Result<Page<R>, impl Into<HttpProblem> + ListError>,
    page: &PageRequest,
    view: impl Fn(R) -> T,
) -> JsonAnswer<ListView<T>> {
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, view)))
}

/// Maps an error of a list that was requested with or without a cursor. With a cursor, input that the store cannot read
/// is reported as a bad cursor (400).
pub fn list_problem(error: impl Into<HttpProblem> + ListError, with_cursor: bool) -> HttpProblem {
    if with_cursor && error.is_unreadable_input() {
        return HttpProblem::bad_request("the cursor is not one that a list gave");
    }
    error.into()
}

/// An error of a list, which tells whether the store could not read what the request named.
pub trait ListError {
    /// Returns `true` if the store could not read its input.
    fn is_unreadable_input(&self) -> bool;
}

impl ListError for PortError {
    fn is_unreadable_input(&self) -> bool {
        matches!(self, Self::Invalid { .. })
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
