//! Files.

use super::count;
use crate::json::prose;
use recado_domain::content::{Content, Media, MediaKind};
use serde_json::Value;

/// Reads a file of a kind; by `source` it can be fetched.
pub(super) fn read(kind: MediaKind, body: &Value, source: Option<String>) -> Content {
    // Other files have no title; a document without a name has one.
    let title = || prose(body, "title").filter(|_| kind == MediaKind::Document);
    Content::Media(Media {
        caption: prose(body, "caption"),
        mime_type: prose(body, "mimetype"),
        file_name: prose(body, "fileName").or_else(title),
        source,
        seconds: count(body, "seconds").filter(|seconds| *seconds > 0),
        view_once: body.get("viewOnce").and_then(Value::as_bool) == Some(true),
        ..Media::of(kind)
    })
}

/// Reads a recording: a voice note if it was spoken into the chat (`ptt`).
pub(super) fn audio(body: &Value, source: Option<String>) -> Content {
    let spoken = body.get("ptt").and_then(Value::as_bool) == Some(true);
    let kind = if spoken {
        MediaKind::Voice
    } else {
        MediaKind::Audio
    };
    read(kind, body, source)
}
