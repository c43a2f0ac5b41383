//! Reads the content of a message: its `type` is the name of the field with the content.

mod card;
mod interactive;
mod system;

use crate::wire::json::{
    get_scalar_text, get_text, get_untrimmed_text, list_members, parse_integer, sanitize_label,
};
use recado_domain::content::{
    Content, Location, Media, MediaKind, MessageTemplate, Order, OrderItem, SystemNote,
};
use serde_json::Value;

pub(super) use interactive::find_product_id;

/// Names of the fields that hold content, in messages of Meta and of 360dialog's on-premise numbers.
pub(crate) const CONTENT_FIELDS: [&str; 13] = [
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
];

/// Names of the other fields by which a message of Meta without a `type` is recognized (seen with locations).
const OTHER_FIELDS: [&str; 4] = ["edit", "revoke", "system", "template"];

pub(super) fn read_content(message: &Value) -> Content {
    let mut fields = CONTENT_FIELDS.into_iter().chain(OTHER_FIELDS);
    let kind = get_text(message, "type")
        .or_else(|| fields.find(|kind| message.get(kind).is_some()))
        .unwrap_or("unknown");
    let body = message.get(kind).unwrap_or(&Value::Null);
    read_known_kind(kind, body).unwrap_or_else(|| unsupported_content(kind, message))
}

/// Builds unsupported content. For kinds that Meta does not pass on (polls, view-once media, edits …) the webhook has at
/// most the name of the kind.
fn unsupported_content(kind: &str, message: &Value) -> Content {
    let was = message
        .get("unsupported")
        .and_then(|unsupported| get_text(unsupported, "type"));
    Content::Unsupported {
        kind: was.map_or_else(
            || kind.to_owned(),
            |was| format!("unsupported {}", sanitize_label(was)),
        ),
        raw: message.clone(),
    }
}

fn read_known_kind(kind: &str, body: &Value) -> Option<Content> {
    match kind {
        // Some servers write the text directly as the value.
        "text" => Some(Content::from_text(
            body.as_str()
                .or_else(|| body.get("body").and_then(Value::as_str))?,
        )),
        "image" => read_media(MediaKind::Image, body),
        "video" => read_media(MediaKind::Video, body),
        "document" => read_media(MediaKind::Document, body),
        "sticker" => read_media(MediaKind::Sticker, body),
        "voice" => read_media(MediaKind::Voice, body),
        "audio" => {
            let voice = body.get("voice").and_then(Value::as_bool).unwrap_or(false);
            read_media(if voice { MediaKind::Voice } else { MediaKind::Audio }, body)
        }
        "location" => read_location(body),
        "contacts" => Some(Content::Contacts {
            contacts: list_members(Some(body))
                .iter()
                .filter_map(card::read_contact_card)
                .collect(),
        }),
        "interactive" => interactive::read_interactive(body),
        "button" => read_quick_reply(body),
        "order" => body.is_object().then(|| Content::Order(read_order(body))),
        // A removed reaction has no emoji, or an empty one.
        "reaction" => body.is_object().then(|| Content::Reaction {
            emoji: get_text(body, "emoji").map(str::to_owned),
            target: get_text(body, "message_id").map(str::to_owned),
        }),
        "edit" => read_edit(body),
        "revoke" => Some(Content::Deletion {
            target: read_target_id(body),
        }),
        "request_welcome" => Some(Content::Welcome),
        "system" => Some(system::read_system_note(body)),
        "template" => read_template(body),
        // Only in a history: the file itself follows in another body, if it is younger than 14 days.
        "media_placeholder" => Some(Content::System {
            what: SystemNote::Other,
            text: Some("a file that came with the history".to_owned()),
        }),
        _ => None,
    }
}

fn read_media(media: MediaKind, body: &Value) -> Option<Content> {
    let seconds = || {
        ["seconds", "duration"]
            .into_iter()
            .find_map(|key| u32::try_from(parse_integer(body.get(key)?)?).ok())
    };
    body.is_object().then(|| {
        Content::Media(Media {
            caption: get_untrimmed_text(body, "caption"),
            mime_type: get_untrimmed_text(body, "mime_type"),
            file_name: get_untrimmed_text(body, "filename"),
            // The id is valid for 7 days, a URL for 5 minutes.
            source: get_scalar_text(body, "id")
                .or_else(|| get_untrimmed_text(body, "link"))
                .or_else(|| get_untrimmed_text(body, "url")),
            seconds: seconds(),
            view_once: body.get("view_once").and_then(Value::as_bool).unwrap_or(false),
            ..Media::from_kind(media)
        })
    })
}

fn read_location(body: &Value) -> Option<Content> {
    Some(Content::Location(Location {
        latitude: get_scalar_text(body, "latitude")?,
        longitude: get_scalar_text(body, "longitude")?,
        name: get_untrimmed_text(body, "name"),
        address: get_untrimmed_text(body, "address"),
        url: get_untrimmed_text(body, "url"),
        live: false,
    }))
}

/// Reads a quick reply to a template, which may have no payload.
fn read_quick_reply(body: &Value) -> Option<Content> {
    let id = get_scalar_text(body, "payload");
    Some(Content::Choice {
        title: get_untrimmed_text(body, "text").or_else(|| id.clone())?,
        id,
        description: None,
    })
}

fn read_order(body: &Value) -> Order {
    let items = list_members(body.get("product_items"));
    let item = |item: &Value| {
        Some(OrderItem {
            product: get_scalar_text(item, "product_retailer_id")?,
            quantity: get_scalar_text(item, "quantity"),
            price: get_scalar_text(item, "item_price"),
            currency: get_scalar_text(item, "currency"),
        })
    };
    Order {
        items: items.iter().filter_map(item).collect(),
        count: u32::try_from(items.len()).unwrap_or(u32::MAX),
        catalog: get_scalar_text(body, "catalog_id"),
        text: get_untrimmed_text(body, "text"),
    }
}

/// Returns the id of the message that was edited or revoked.
pub(super) fn read_target_id(body: &Value) -> Option<String> {
    get_text(body, "original_message_id").map(str::to_owned)
}

/// Reads an edit, which contains the whole new message. The JSON reader's depth limit bounds nested edits.
fn read_edit(body: &Value) -> Option<Content> {
    let message = body.get("message").filter(|message| message.is_object())?;
    Some(Content::Edit {
        target: read_target_id(body),
        content: Box::new(read_content(message)),
    })
}

/// Reads a template that another application or the phone sent.
fn read_template(body: &Value) -> Option<Content> {
    let language = body.get("language");
    Some(Content::Template(MessageTemplate {
        name: get_scalar_text(body, "name")?,
        language: language
            .and_then(|language| get_text(language, "code").or_else(|| language.as_str()))
            .unwrap_or_default()
            .to_owned(),
        components: list_members(body.get("components")).to_vec(),
    }))
}
