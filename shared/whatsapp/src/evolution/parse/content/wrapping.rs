//! Removes the wrappers around a message's content, and separates the content from its metadata.

use serde_json::{Map, Value};

/// Keys of a message that are not content. Sometimes they come before the content.
const METADATA: [&str; 6] = [
    "messageContextInfo",
    "senderKeyDistributionMessage",
    "fastRatchetKeySenderKeyDistributionMessage",
    "protocolMessage",
    "mediaUrl",
    "base64",
];

/// A message's content, without its wrappers.
pub(super) struct UnwrappedMessage<'a> {
    pub(super) message: &'a Value,
    /// `true` if the content may be viewed only once.
    pub(super) view_once: bool,
    /// `true` if the content was in an `editedMessage` wrapper. An edit notice (`protocolMessage`) does not count here.
    pub(super) edited: bool,
}

/// Removes the wrappers: keys whose value has a `message` that is an object (`ephemeralMessage`, `viewOnceMessageV2`,
/// `documentWithCaptionMessage`, `editedMessage`, `deviceSentMessage`, `associatedChildMessage` and what WhatsApp adds
/// every year). The loop ends because the JSON reader limits the depth.
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

/// Returns the first key that is content, with its value.
pub(super) fn find_content_kind(message: &Value) -> Option<(&str, &Value)> {
    let fields: &Map<String, Value> = message.as_object()?;
    fields
        .iter()
        .find(|(key, value)| !METADATA.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
}

/// Returns the values of all content keys; each of them may contain a `contextInfo`.
pub(in super::super) fn content_bodies(message: &Value) -> impl Iterator<Item = &Value> {
    let fields = unwrap_message(message).message.as_object();
    fields
        .into_iter()
        .flatten()
        .filter(|(key, _)| !METADATA.contains(&key.as_str()))
        .map(|(_, body)| body)
}
