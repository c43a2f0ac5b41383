//! Reads media messages.

use super::parse_count;
use crate::wire::json::get_untrimmed_text;
use recado_domain::content::{Content, Media, MediaKind};
use serde_json::Value;

/// Reads a file of the given kind; `source` is the URL or message id with which it can be fetched.
pub(super) fn parse_media(kind: MediaKind, body: &Value, source: Option<String>) -> Content {
    // Only a document has a title, which replaces a missing file name.
    let title = || get_untrimmed_text(body, "title").filter(|_| kind == MediaKind::Document);
    Content::Media(Media {
        caption: get_untrimmed_text(body, "caption"),
        mime_type: get_untrimmed_text(body, "mimetype"),
        file_name: get_untrimmed_text(body, "fileName").or_else(title),
        source,
        seconds: parse_count(body, "seconds").filter(|seconds| *seconds > 0),
        view_once: body.get("viewOnce").and_then(Value::as_bool) == Some(true),
        ..Media::from_kind(kind)
    })
}

/// Reads an audio file: a voice note if it was recorded in the chat (`ptt`).
pub(super) fn parse_audio(body: &Value, source: Option<String>) -> Content {
    let spoken = body.get("ptt").and_then(Value::as_bool) == Some(true);
    let kind = if spoken {
        MediaKind::Voice
    } else {
        MediaKind::Audio
    };
    parse_media(kind, body, source)
}
