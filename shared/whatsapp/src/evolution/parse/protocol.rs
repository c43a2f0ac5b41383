//! `protocolMessage`: what WhatsApp's programs tell each other. Three of them concern people: a message was edited, taken
//! back, or the chat's messages disappear from now on. The others hold keys and histories, and are never kept.

use super::content;
use crate::json::{integer, text};
use recado_domain::content::{Content, SystemNote};
use serde_json::Value;

/// What it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Edit,
    Revoke,
    Disappearing,
    Other,
}

/// Its `type`, as a word or WhatsApp's number. An edit is known by what it brings: some versions leave the type out.
pub(super) fn kind(notice: &Value) -> Kind {
    if notice.get("editedMessage").is_some_and(Value::is_object) {
        return Kind::Edit;
    }
    let Some(written) = notice.get("type") else {
        return Kind::Other;
    };
    match (written.as_str().map(str::trim), integer(written)) {
        (Some("REVOKE"), _) | (_, Some(0)) => Kind::Revoke,
        (Some("EPHEMERAL_SETTING"), _) | (_, Some(3)) => Kind::Disappearing,
        _ => Kind::Other,
    }
}

/// The id of the message that it is about.
pub(super) fn target(notice: &Value) -> Option<&str> {
    text(notice.get("key")?, "id")
}

/// Whether [`notice`] finds something.
pub(super) fn speaks(notice: &Value) -> bool {
    match kind(notice) {
        Kind::Edit => notice.get("editedMessage").is_some_and(content::says_something),
        Kind::Revoke => target(notice).is_some(),
        Kind::Disappearing => true,
        Kind::Other => false,
    }
}

/// What it tells people; `None` if nothing.
pub(super) fn notice(notice: &Value) -> Option<Content> {
    if !speaks(notice) {
        return None;
    }
    let target = target(notice).map(str::to_owned);
    match kind(notice) {
        Kind::Edit => {
            let edited = notice.get("editedMessage")?;
            // The file of the original, by its id: an edit changes the caption.
            let content = match content::read(edited, target.as_deref()) {
                Content::Edit { content, .. } => content,
                content => Box::new(content),
            };
            Some(Content::Edit { target, content })
        }
        Kind::Revoke => Some(Content::Deletion { target }),
        Kind::Disappearing => Some(disappearing(notice)),
        Kind::Other => None,
    }
}

fn disappearing(notice: &Value) -> Content {
    let seconds = notice.get("ephemeralExpiration").and_then(integer);
    let text = match seconds.filter(|seconds| *seconds > 0) {
        None => "off".to_owned(),
        Some(seconds) if seconds % 86_400 == 0 => format!("after {} days", seconds / 86_400),
        Some(seconds) => format!("after {seconds} seconds"),
    };
    Content::System {
        what: SystemNote::DisappearingChanged,
        text: Some(text),
    }
}
