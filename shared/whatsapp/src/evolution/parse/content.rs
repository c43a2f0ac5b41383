//! What a Baileys message says. Its kind is its key: `{"conversation": "…"}`, `{"imageMessage": {…}}`.

mod business;
mod cards;
mod media;
mod reply;
mod shop;
mod wrapping;

use super::protocol;
use crate::json::{integer, prose, scalar, text};
use recado_domain::content::{Content, Location, MediaKind, SystemNote};
use serde_json::Value;
pub(super) use shop::product_name;
use wrapping::{Unwrapped, kind_of, unwrapped};
pub(super) use wrapping::{bodies, says_something};

/// Reads a message. `id` is the message's, by which its file can be fetched.
pub(super) fn read(message: &Value, id: Option<&str>) -> Content {
    let Unwrapped {
        message: inner,
        view_once,
        edited,
    } = unwrapped(message);
    if let Some(notice) = inner.get("protocolMessage").and_then(protocol::notice) {
        return notice;
    }
    let unsupported = |kind: &str| Content::Unsupported {
        kind: kind.to_owned(),
        raw: inner.clone(),
    };
    let Some((kind, body)) = kind_of(inner) else {
        return unsupported("unknown");
    };
    // Evolution puts it outside of any wrapper.
    let url = prose(message, "mediaUrl").or_else(|| prose(inner, "mediaUrl"));
    let source = url.or_else(|| id.map(str::to_owned));
    let mut content = known(kind, body, source).unwrap_or_else(|| unsupported(kind));
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

fn known(kind: &str, body: &Value, source: Option<String>) -> Option<Content> {
    match kind {
        "conversation" => Some(Content::text(body.as_str()?)),
        "extendedTextMessage" => Some(Content::text(body.get("text")?.as_str()?)),
        "imageMessage" => Some(media::read(MediaKind::Image, body, source)),
        "videoMessage" | "ptvMessage" => Some(media::read(MediaKind::Video, body, source)),
        "stickerMessage" => Some(media::read(MediaKind::Sticker, body, source)),
        "documentMessage" => Some(media::read(MediaKind::Document, body, source)),
        "audioMessage" => Some(media::audio(body, source)),
        "reactionMessage" => Some(Content::Reaction {
            emoji: text(body, "text").map(str::to_owned),
            target: target(body, "key"),
        }),
        "locationMessage" => location(body, body.get("isLive").and_then(Value::as_bool) == Some(true)),
        "liveLocationMessage" => location(body, true),
        "contactMessage" | "contactsArrayMessage" => cards::read(body),
        "orderMessage" => Some(shop::order(body)),
        "productMessage" => shop::product(body),
        // They show in the chat, and ask for nothing.
        "pinInChatMessage" => Some(note("a message was pinned or unpinned")),
        "keepInChatMessage" => Some(note("a disappearing message was kept or let go")),
        // The name is WhatsApp's own, slip included.
        "callLogMesssage" | "callLogMessage" => Some(call(body)),
        _ => reply::read(kind, body).or_else(|| business::read(kind, body)),
    }
}

fn location(body: &Value, live: bool) -> Option<Content> {
    Some(Content::Location(Location {
        latitude: scalar(body, "degreesLatitude")?,
        longitude: scalar(body, "degreesLongitude")?,
        name: prose(body, "name").or_else(|| prose(body, "caption")),
        address: prose(body, "address").or_else(|| prose(body, "comment")),
        url: prose(body, "url"),
        live,
    }))
}

fn note(what: &str) -> Content {
    Content::System {
        what: SystemNote::Other,
        text: Some(what.to_owned()),
    }
}

/// A call that is over, as the chat shows it.
fn call(body: &Value) -> Content {
    let video = body.get("isVideo").and_then(Value::as_bool) == Some(true);
    let kind = if video { "video call" } else { "voice call" };
    let outcome = text(body, "callOutcome").map(str::to_lowercase);
    note(&match outcome {
        Some(outcome) => format!("{kind}, {outcome}"),
        None => kind.to_owned(),
    })
}

/// The id in the message key at `field`.
fn target(body: &Value, field: &str) -> Option<String> {
    text(body.get(field)?, "id").map(str::to_owned)
}

/// A count that fits, however it is written.
fn count(body: &Value, field: &str) -> Option<u32> {
    u32::try_from(integer(body.get(field)?)?).ok()
}
