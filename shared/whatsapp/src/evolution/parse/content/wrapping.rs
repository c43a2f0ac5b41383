//! What lies around the content of a message, and beside it.

use super::protocol;
use serde_json::{Map, Value};

/// Keys beside the content, sometimes the first ones.
const METADATA: [&str; 6] = [
    "messageContextInfo",
    "senderKeyDistributionMessage",
    "fastRatchetKeySenderKeyDistributionMessage",
    "protocolMessage",
    "mediaUrl",
    "base64",
];

/// The content, without what was around it.
pub(super) struct UnwrappedMessage<'a> {
    pub(super) message: &'a Value,
    /// It may be looked at once.
    pub(super) view_once: bool,
    /// It stands in an `editedMessage`, and is not a notice that says so itself.
    pub(super) edited: bool,
}

/// Takes the wrappers off: keys whose value has a `message` that is an object (`ephemeralMessage`, `viewOnceMessageV2`,
/// `documentWithCaptionMessage`, `editedMessage`, `deviceSentMessage`, `associatedChildMessage` and what WhatsApp adds
/// every year). JSON is not nested deeper than its reader allows, so this ends.
pub(super) fn unwrap_message(message: &Value) -> UnwrappedMessage<'_> {
    let mut found = UnwrappedMessage {
        message,
        view_once: false,
        edited: false,
    };
    while let Some((wrapper, inner)) = find_wrapper(found.message) {
        found.view_once |= wrapper.starts_with("viewOnce");
        found.edited |= wrapper == "editedMessage";
        found.message = inner;
    }
    found
}

fn find_wrapper(message: &Value) -> Option<(&str, &Value)> {
    message.as_object()?.iter().find_map(|(key, body)| {
        let inner = body.get("message").filter(|inner| inner.is_object())?;
        (!METADATA.contains(&key.as_str())).then_some((key.as_str(), inner))
    })
}

/// The first key that is content, with its value.
pub(super) fn find_content_kind(message: &Value) -> Option<(&str, &Value)> {
    let fields: &Map<String, Value> = message.as_object()?;
    fields
        .iter()
        .find(|(key, value)| !METADATA.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
}

/// Whether there is more than metadata, or a notice that says something.
pub(in super::super) fn has_content(message: &Value) -> bool {
    let inner = unwrap_message(message).message;
    find_content_kind(inner).is_some()
        || inner
            .get("protocolMessage")
            .is_some_and(protocol::has_notice_content)
}

/// What stands at every key of the content that is not metadata, where a `contextInfo` may lie.
pub(in super::super) fn content_bodies(message: &Value) -> impl Iterator<Item = &Value> {
    let fields = unwrap_message(message).message.as_object();
    fields
        .into_iter()
        .flatten()
        .filter(|(key, _)| !METADATA.contains(&key.as_str()))
        .map(|(_, body)| body)
}
