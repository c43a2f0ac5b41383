//! Removes the wrappers around a message's content, and separates the content from its metadata.

use super::kinds::{KindClass, classify_kind};
use serde_json::{Map, Value};

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
        (!is_companion(key)).then_some((key.as_str(), inner))
    })
}

/// Returns `true` for a key that is never the kind of a message, whatever its value.
fn is_companion(key: &str) -> bool {
    classify_kind(key, &Value::Null) == KindClass::Companion
}

/// Returns the first key that people see something of, with its value and class. Marks and companions are passed over.
pub(super) fn find_content_kind(message: &Value) -> Option<(&str, &Value, KindClass)> {
    kinds_of(message).find(|(_, _, class)| *class != KindClass::Mark)
}

/// Returns the first mark of a message.
pub(super) fn find_mark(message: &Value) -> Option<&str> {
    kinds_of(message)
        .find(|(_, _, class)| *class == KindClass::Mark)
        .map(|(key, _, _)| key)
}

/// Returns the keys of a message with their values and classes, without companions.
fn kinds_of(message: &Value) -> impl Iterator<Item = (&str, &Value, KindClass)> {
    let fields: Option<&Map<String, Value>> = message.as_object();
    fields
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.as_str(), value, classify_kind(key, value)))
        .filter(|(_, _, class)| *class != KindClass::Companion)
}

/// Returns the values of all content keys; each of them may contain a `contextInfo`.
pub(in super::super) fn content_bodies(message: &Value) -> impl Iterator<Item = &Value> {
    let fields = unwrap_message(message).message.as_object();
    fields
        .into_iter()
        .flatten()
        .filter(|(key, _)| !is_companion(key))
        .map(|(_, body)| body)
}
