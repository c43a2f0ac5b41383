//! What a message says: its `type` names the field that holds it.

mod card;
mod interactive;
mod system;

use crate::json::{integer, label, list, prose, scalar, text};
use recado_domain::content::{Content, Location, Media, MediaKind, Order, OrderItem, SystemNote, Template};
use serde_json::Value;

pub(super) use interactive::product;

/// Fields that hold content, for messages whose `type` is missing (seen with locations).
const KINDS: [&str; 17] = [
    "text",
    "image",
    "video",
    "audio",
    "voice",
    "document",
    "sticker",
    "location",
    "contacts",
    "interactive",
    "button",
    "order",
    "reaction",
    "edit",
    "revoke",
    "system",
    "template",
];

/// Reads a message.
pub(super) fn read(message: &Value) -> Content {
    let kind = text(message, "type")
        .or_else(|| KINDS.into_iter().find(|kind| message.get(kind).is_some()))
        .unwrap_or("unknown");
    let body = message.get(kind).unwrap_or(&Value::Null);
    known(kind, body).unwrap_or_else(|| unsupported(kind, message))
}

/// What Meta does not pass on (polls, view-once media, edits …) says at most what it was.
fn unsupported(kind: &str, message: &Value) -> Content {
    let was = message
        .get("unsupported")
        .and_then(|unsupported| text(unsupported, "type"));
    Content::Unsupported {
        kind: was.map_or_else(|| kind.to_owned(), |was| format!("unsupported {}", label(was))),
        raw: message.clone(),
    }
}

fn known(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        // Some servers write the words themselves.
        "text" => Some(Content::text(
            body.as_str()
                .or_else(|| body.get("body").and_then(Value::as_str))?,
        )),
        "image" => media(MediaKind::Image, body),
        "video" => media(MediaKind::Video, body),
        "document" => media(MediaKind::Document, body),
        "sticker" => media(MediaKind::Sticker, body),
        "voice" => media(MediaKind::Voice, body),
        "audio" => {
            let voice = body.get("voice").and_then(Value::as_bool).unwrap_or(false);
            media(if voice { MediaKind::Voice } else { MediaKind::Audio }, body)
        }
        "location" => location(body),
        "contacts" => Some(Content::Contacts {
            contacts: list(Some(body)).iter().filter_map(card::read).collect(),
        }),
        "interactive" => interactive::read(body),
        "button" => button(body),
        "order" => body.is_object().then(|| Content::Order(order(body))),
        // Taking a reaction back leaves the emoji out, or empty.
        "reaction" => body.is_object().then(|| Content::Reaction {
            emoji: text(body, "emoji").map(str::to_owned),
            target: text(body, "message_id").map(str::to_owned),
        }),
        "edit" => edit(body),
        "revoke" => Some(Content::Deletion { target: target(body) }),
        "request_welcome" => Some(Content::Welcome),
        "system" => Some(system::read(body)),
        "template" => template(body),
        // In a history: the file itself follows in a body of its own, if it is younger than 14 days.
        "media_placeholder" => Some(Content::System {
            what: SystemNote::Other,
            text: Some("a file that came with the history".to_owned()),
        }),
        _ => None,
    }
}

fn media(media: MediaKind, body: &Value) -> Option<Content> {
    let seconds = || {
        ["seconds", "duration"]
            .into_iter()
            .find_map(|key| u32::try_from(integer(body.get(key)?)?).ok())
    };
    body.is_object().then(|| {
        Content::Media(Media {
            caption: prose(body, "caption"),
            mime_type: prose(body, "mime_type"),
            file_name: prose(body, "filename"),
            // The id is good for 7 days, a URL for 5 minutes.
            source: scalar(body, "id")
                .or_else(|| prose(body, "link"))
                .or_else(|| prose(body, "url")),
            seconds: seconds(),
            view_once: body.get("view_once").and_then(Value::as_bool).unwrap_or(false),
            ..Media::of(media)
        })
    })
}

fn location(body: &Value) -> Option<Content> {
    Some(Content::Location(Location {
        latitude: scalar(body, "latitude")?,
        longitude: scalar(body, "longitude")?,
        name: prose(body, "name"),
        address: prose(body, "address"),
        url: prose(body, "url"),
        live: false,
    }))
}

/// The quick reply of a template; it may have no payload.
fn button(body: &Value) -> Option<Content> {
    let id = scalar(body, "payload");
    Some(Content::Choice {
        title: prose(body, "text").or_else(|| id.clone())?,
        id,
        description: None,
    })
}

fn order(body: &Value) -> Order {
    let items = list(body.get("product_items"));
    let item = |item: &Value| {
        Some(OrderItem {
            product: scalar(item, "product_retailer_id")?,
            quantity: scalar(item, "quantity"),
            price: scalar(item, "item_price"),
            currency: scalar(item, "currency"),
        })
    };
    Order {
        items: items.iter().filter_map(item).collect(),
        count: u32::try_from(items.len()).unwrap_or(u32::MAX),
        catalog: scalar(body, "catalog_id"),
        text: prose(body, "text"),
    }
}

/// The id of the message that an edit or a revocation is about.
pub(super) fn target(body: &Value) -> Option<String> {
    text(body, "original_message_id").map(str::to_owned)
}

/// An edit holds the new message whole. (The body's depth bounds how many lie in one another.)
fn edit(body: &Value) -> Option<Content> {
    let message = body.get("message").filter(|message| message.is_object())?;
    Some(Content::Edit {
        target: target(body),
        content: Box::new(read(message)),
    })
}

/// A template that another application or the phone sent.
fn template(body: &Value) -> Option<Content> {
    let language = body.get("language");
    Some(Content::Template(Template {
        name: scalar(body, "name")?,
        language: language
            .and_then(|language| text(language, "code").or_else(|| language.as_str()))
            .unwrap_or_default()
            .to_owned(),
        components: list(body.get("components")).to_vec(),
    }))
}
