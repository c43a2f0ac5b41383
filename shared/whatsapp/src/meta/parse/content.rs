//! What a message says: its `type` names the field that holds it.

use crate::json::{list, prose, scalar, text};
use recado_domain::content::{ContactCard, Content, Location, Media, MediaKind, Order};
use serde_json::Value;

/// Fields that hold content, for messages whose `type` is missing (seen with locations).
const KINDS: [&str; 13] = [
    "text",
    "image",
    "video",
    "audio",
    "document",
    "sticker",
    "location",
    "contacts",
    "interactive",
    "button",
    "order",
    "reaction",
    "edit",
];

/// Reads a message.
pub(super) fn read(message: &Value) -> Content {
    let kind = text(message, "type")
        .or_else(|| KINDS.into_iter().find(|kind| message.get(kind).is_some()))
        .unwrap_or("unknown");
    let body = message.get(kind).unwrap_or(&Value::Null);
    known(kind, body).unwrap_or_else(|| Content::Unsupported {
        kind: kind.to_owned(),
        raw: message.clone(),
    })
}

fn known(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        "text" => Some(Content::text(body.get("body")?.as_str()?)),
        "image" => media(MediaKind::Image, body),
        "video" => media(MediaKind::Video, body),
        "document" => media(MediaKind::Document, body),
        "sticker" => media(MediaKind::Sticker, body),
        "voice" => media(MediaKind::Voice, body),
        "audio" => {
            let voice = body.get("voice").and_then(Value::as_bool).unwrap_or(false);
            media(if voice { MediaKind::Voice } else { MediaKind::Audio }, body)
        }
        "location" => Some(Content::Location(Location {
            latitude: scalar(body, "latitude")?,
            longitude: scalar(body, "longitude")?,
            name: prose(body, "name"),
            address: prose(body, "address"),
            url: prose(body, "url"),
            live: false,
        })),
        "contacts" => Some(Content::Contacts {
            contacts: list(Some(body)).iter().filter_map(card).collect(),
        }),
        "interactive" => interactive(body),
        "button" => {
            let id = scalar(body, "payload");
            Some(Content::Choice {
                title: prose(body, "text").or_else(|| id.clone())?,
                id,
                description: None,
            })
        }
        "order" => Some(Content::Order(Order {
            count: u32::try_from(list(body.get("product_items")).len()).unwrap_or(u32::MAX),
            text: prose(body, "text"),
            ..Order::default()
        })),
        // Taking a reaction back leaves the emoji out.
        "reaction" => Some(Content::Reaction {
            emoji: text(body, "emoji").map(str::to_owned),
            target: text(body, "message_id").map(str::to_owned),
        }),
        // The body's depth bounds this: an edit holds the new message whole.
        "edit" => body
            .get("message")
            .filter(|message| message.is_object())
            .map(read),
        _ => None,
    }
}

fn media(media: MediaKind, body: &Value) -> Option<Content> {
    body.is_object().then(|| {
        Content::Media(Media {
            caption: prose(body, "caption"),
            mime_type: prose(body, "mime_type"),
            file_name: prose(body, "filename"),
            // The id is good for 7 days, a URL for 5 minutes.
            source: scalar(body, "id")
                .or_else(|| prose(body, "link"))
                .or_else(|| prose(body, "url")),
            ..Media::of(media)
        })
    })
}

/// A card's name; a number that somebody shared comes without one.
fn card(card: &Value) -> Option<ContactCard> {
    let name = card.get("name")?;
    Some(ContactCard {
        name: prose(name, "formatted_name").or_else(|| prose(name, "first_name"))?,
        ..ContactCard::default()
    })
}

fn interactive(body: &Value) -> Option<Content> {
    let kind = text(body, "type").or_else(|| {
        ["button_reply", "list_reply", "nfm_reply"]
            .into_iter()
            .find(|kind| body.get(kind).is_some())
    })?;
    let reply = body.get(kind)?;
    match kind {
        "button_reply" | "list_reply" => {
            let id = scalar(reply, "id");
            Some(Content::Choice {
                title: prose(reply, "title").or_else(|| id.clone())?,
                id,
                description: None,
            })
        }
        // A filled-in form: what the person entered is a string of JSON, which need not be an object, or valid.
        "nfm_reply" => {
            let id = scalar(reply, "name");
            let title = answers(reply)
                .or_else(|| prose(reply, "body"))
                .or_else(|| id.clone())?;
            Some(Content::Choice {
                id,
                title,
                description: None,
            })
        }
        _ => None,
    }
}

/// The answers of a form as `name: value`, without the token that is for the business's endpoint.
fn answers(reply: &Value) -> Option<String> {
    let answers: Value = serde_json::from_str(text(reply, "response_json")?).ok()?;
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let lines: Vec<String> = answers
        .as_object()?
        .iter()
        .filter(|(name, _)| name.as_str() != "flow_token")
        .map(|(name, value)| format!("{name}: {}", written(value)))
        .collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}
