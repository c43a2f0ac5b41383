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
pub(super) struct Unwrapped<'a> {
    pub(super) message: &'a Value,
    /// It may be looked at once.
    pub(super) view_once: bool,
    /// It stands in an `editedMessage`, and is not a notice that says so itself.
    pub(super) edited: bool,
}

/// Takes the wrappers off: keys whose value has a `message` that is an object (`ephemeralMessage`, `viewOnceMessageV2`,
/// `documentWithCaptionMessage`, `editedMessage`, `deviceSentMessage`, `associatedChildMessage` and what WhatsApp adds
/// every year). JSON is not nested deeper than its reader allows, so this ends.
pub(super) fn unwrapped(message: &Value) -> Unwrapped<'_> {
    let mut found = Unwrapped {
        message,
        view_once: false,
        edited: false,
    };
    while let Some((wrapper, inner)) = wrapper(found.message) {
        found.view_once |= wrapper.starts_with("viewOnce");
        found.edited |= wrapper == "editedMessage";
        found.message = inner;
    }
    found
}

fn wrapper(message: &Value) -> Option<(&str, &Value)> {
    message.as_object()?.iter().find_map(|(key, body)| {
        let inner = body.get("message").filter(|inner| inner.is_object())?;
        (!METADATA.contains(&key.as_str())).then_some((key.as_str(), inner))
    })
}

/// The first key that is content, with its value.
pub(super) fn kind_of(message: &Value) -> Option<(&str, &Value)> {
    let fields: &Map<String, Value> = message.as_object()?;
    fields
        .iter()
        .find(|(key, value)| !METADATA.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
}

/// Whether there is more than metadata, or a notice that says something.
pub(in super::super) fn says_something(message: &Value) -> bool {
    let inner = unwrapped(message).message;
    kind_of(inner).is_some() || inner.get("protocolMessage").is_some_and(protocol::speaks)
}

/// What stands at every key of the content that is not metadata, where a `contextInfo` may lie.
pub(in super::super) fn bodies(message: &Value) -> impl Iterator<Item = &Value> {
    let fields = unwrapped(message).message.as_object();
    fields
        .into_iter()
        .flatten()
        .filter(|(key, _)| !METADATA.contains(&key.as_str()))
        .map(|(_, body)| body)
}
