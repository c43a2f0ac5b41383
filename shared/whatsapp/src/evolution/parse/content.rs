//! Reads the content of a Baileys message. The object's key is the kind: `{"conversation": "…"}`,
//! `{"imageMessage": {…}}`.

mod business;
mod cards;
mod described;
pub(super) mod kinds;
mod media;
mod notices;
mod payment;
pub(super) mod protocol;
mod reply;
mod shop;
mod wrapping;

use crate::wire::json::{get_scalar_text, get_text, get_untrimmed_text, parse_integer};
use kinds::{KindClass, changed_message_id};
use recado_domain::content::{Content, Location, MediaKind, SystemNote, UNREADABLE_EMOJI};
use serde_json::Value;
pub(super) use shop::product_name;
pub(super) use wrapping::content_bodies;
use wrapping::{UnwrappedMessage, find_content_kind, find_mark, unwrap_message};

/// Returns `true` if a message has content, or a notice that concerns people.
pub(super) fn has_content(message: &Value) -> bool {
    let inner = unwrap_message(message).message;
    find_content_kind(inner).is_some()
        || inner
            .get("protocolMessage")
            .is_some_and(protocol::has_notice_content)
}

/// Returns the name of the mark that a message consists of. `None`: it has content, or nothing at all.
pub(super) fn find_lone_mark(message: &Value) -> Option<&str> {
    let inner = unwrap_message(message).message;
    find_mark(inner).filter(|_| !has_content(message))
}

/// Returns the id of the message that an encrypted change is about; `None` if the message is no such change.
pub(super) fn encrypted_change_target(message: &Value) -> Option<&str> {
    match find_content_kind(unwrap_message(message).message)? {
        (_, body, KindClass::EncryptedChange) => changed_message_id(body),
        _ => None,
    }
}

/// Returns the note in place of words that only the phone shows.
pub(super) fn unreadable_note() -> Content {
    Content::System {
        what: SystemNote::Unreadable,
        text: None,
    }
}

/// Parses a message's content. `id` is the message's id, with which its file can be fetched.
pub(super) fn parse_content(message: &Value, id: Option<&str>) -> Content {
    let UnwrappedMessage {
        message: inner,
        view_once,
        edited,
    } = unwrap_message(message);
    if let Some(notice) = inner.get("protocolMessage").and_then(protocol::parse_notice) {
        return notice;
    }
    let unsupported = |kind: &str| Content::Unsupported {
        kind: kind.to_owned(),
        raw: inner.clone(),
    };
    let Some((kind, body, class)) = find_content_kind(inner) else {
        return unsupported("unknown");
    };
    // Evolution puts `mediaUrl` outside of any wrapper.
    let url = get_untrimmed_text(message, "mediaUrl").or_else(|| get_untrimmed_text(inner, "mediaUrl"));
    let source = url.or_else(|| id.map(str::to_owned));
    let mut content = match class {
        KindClass::Notice => notices::describe_notice(kind, body),
        KindClass::EncryptedChange => Content::Edit {
            target: changed_message_id(body).map(str::to_owned),
            content: Box::new(unreadable_note()),
        },
        _ => parse_known_kind(kind, body, source).unwrap_or_else(|| unsupported(kind)),
    };
    if let Content::Media(media) = &mut content {
        media.view_once |= view_once;
    }
    if edited {
        return Content::Edit {
            target: None,
            content: Box::new(content),
        };
    }
    content
}

fn parse_known_kind(kind: &str, body: &Value, source: Option<String>) -> Option<Content> {
    match kind {
        "conversation" => Some(Content::from_text(body.as_str()?)),
        "extendedTextMessage" => Some(Content::from_text(body.get("text")?.as_str()?)),
        "imageMessage" => Some(media::parse_media(MediaKind::Image, body, source)),
        "videoMessage" | "ptvMessage" => Some(media::parse_media(MediaKind::Video, body, source)),
        "stickerMessage" => Some(media::parse_media(MediaKind::Sticker, body, source)),
        "documentMessage" => Some(media::parse_media(MediaKind::Document, body, source)),
        "audioMessage" => Some(media::parse_audio(body, source)),
        "reactionMessage" => Some(Content::Reaction {
            emoji: get_text(body, "text").map(str::to_owned),
            target: message_key_id(body, "key"),
        }),
        "encReactionMessage" => Some(Content::Reaction {
            emoji: Some(UNREADABLE_EMOJI.to_owned()),
            target: changed_message_id(body).map(str::to_owned),
        }),
        "locationMessage" => parse_location(body, body.get("isLive").and_then(Value::as_bool) == Some(true)),
        "liveLocationMessage" => parse_location(body, true),
        "contactMessage" | "contactsArrayMessage" => cards::parse_contact_cards(body),
        "orderMessage" => Some(shop::parse_order(body)),
        "productMessage" => shop::describe_product(body),
        _ => reply::parse_reply(kind, body)
            .or_else(|| business::parse_business_content(kind, body))
            .or_else(|| described::describe_kind(kind, body)),
    }
}

fn parse_location(body: &Value, live: bool) -> Option<Content> {
    // The person's own words about the place (`caption`, `comment`) stand with its name.
    let words: Vec<String> = ["name", "caption", "comment"]
        .iter()
        .filter_map(|field| get_untrimmed_text(body, field))
        .collect();
    Some(Content::Location(Location {
        latitude: get_scalar_text(body, "degreesLatitude")?,
        longitude: get_scalar_text(body, "degreesLongitude")?,
        name: (!words.is_empty()).then(|| words.join(", ")),
        address: get_untrimmed_text(body, "address"),
        url: get_untrimmed_text(body, "url"),
        live,
    }))
}

/// Returns the id in the message key at `field`.
fn message_key_id(body: &Value, field: &str) -> Option<String> {
    get_text(body.get(field)?, "id").map(str::to_owned)
}

/// Reads a count as a number or text; `None` if it does not fit into a `u32`.
fn parse_count(body: &Value, field: &str) -> Option<u32> {
    u32::try_from(parse_integer(body.get(field)?)?).ok()
}
