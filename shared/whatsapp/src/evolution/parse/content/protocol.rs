//! Reads `protocolMessage`, a notice between WhatsApp's programs. Three kinds concern people: a message was edited, a
//! message was deleted, or the chat's messages disappear from now on. All others contain keys and histories, and are
//! never kept.

use super::{has_content, parse_content};
use crate::wire::json::{get_text, parse_integer};
use recado_domain::content::{Content, SystemNote};
use serde_json::Value;

/// The kind of a notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ProtocolKind {
    Edit,
    Revoke,
    Disappearing,
    Other,
}

/// Returns the kind of a notice from its `type`, a word or WhatsApp's number. A notice with an edited message is an
/// edit, because some versions leave the type out.
pub(in super::super) fn parse_protocol_kind(notice: &Value) -> ProtocolKind {
    if notice.get("editedMessage").is_some_and(Value::is_object) {
        return ProtocolKind::Edit;
    }
    let Some(written) = notice.get("type") else {
        return ProtocolKind::Other;
    };
    match (written.as_str().map(str::trim), parse_integer(written)) {
        (Some("REVOKE"), _) | (_, Some(0)) => ProtocolKind::Revoke,
        (Some("EPHEMERAL_SETTING"), _) | (_, Some(3)) => ProtocolKind::Disappearing,
        _ => ProtocolKind::Other,
    }
}

/// Returns the id of the message that a notice is about.
pub(in super::super) fn notice_target(notice: &Value) -> Option<&str> {
    get_text(notice.get("key")?, "id")
}

/// Returns `true` if [`parse_notice`] would return content.
pub(in super::super) fn has_notice_content(notice: &Value) -> bool {
    match parse_protocol_kind(notice) {
        ProtocolKind::Edit => notice.get("editedMessage").is_some_and(has_content),
        ProtocolKind::Revoke => notice_target(notice).is_some(),
        ProtocolKind::Disappearing => true,
        ProtocolKind::Other => false,
    }
}

/// Returns the content of a notice that concerns people; `None` for all other notices.
pub(in super::super) fn parse_notice(notice: &Value) -> Option<Content> {
    if !has_notice_content(notice) {
        return None;
    }
    let target = notice_target(notice).map(str::to_owned);
    match parse_protocol_kind(notice) {
        ProtocolKind::Edit => {
            let edited = notice.get("editedMessage")?;
            // The file of the original is kept, by the original's id, because an edit changes only the caption.
            let content = match parse_content(edited, target.as_deref()) {
                Content::Edit { content, .. } => content,
                content => Box::new(content),
            };
            Some(Content::Edit { target, content })
        }
        ProtocolKind::Revoke => Some(Content::Deletion { target }),
        ProtocolKind::Disappearing => Some(disappearing_note(notice)),
        ProtocolKind::Other => None,
    }
}

fn disappearing_note(notice: &Value) -> Content {
    let seconds = notice.get("ephemeralExpiration").and_then(parse_integer);
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
