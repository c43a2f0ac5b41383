//! Builds the body of `POST /messages` for every kind of content. Providers that pass Meta's bodies on use it too.

mod interactive;
mod parts;

use super::content_support;
use super::parse::is_user_id;
use crate::wire::content_support::ContentSupport;
use crate::wire::media_file::permanent_failure;
use recado_domain::content::{Content, Media};
use recado_domain::outgoing::{OutgoingKind, TEXT_MAX};
use recado_ports::ports::{OutgoingMessage, SendOutcome};
use serde_json::{Value, json};

/// Builds the body that sends `message`. An error is the permanent failure of content that cannot be sent. A file must
/// be a link or the provider's own id of it: bytes are uploaded first, and [`with_media_id`] inserts their id.
///
/// The body also carries Recado's message id, which comes back in statuses. This is the evidence for a send without an
/// answer.
pub(crate) fn build_message_body(message: &OutgoingMessage) -> Result<Value, SendOutcome> {
    let (kind, part) = build_typed_part(message)?;
    let mut body = json!({
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "type": kind,
        "biz_opaque_callback_data": message.id,
    });
    body[kind] = part;
    if let Some(id) = message.options.reply_to.as_ref().filter(|_| kind != "reaction") {
        body["context"] = json!({ "message_id": id });
    }
    set_recipient(&mut body, message);
    Ok(body)
}

/// Sets the recipient. A number keeps its `+`, because otherwise Meta would prepend the sender's country code; a user id
/// is sent as `recipient`.
fn set_recipient(body: &mut Value, message: &OutgoingMessage) {
    let raw = message.to.as_str();
    match message.to.phone_number() {
        Some(phone) => body["to"] = json!(phone),
        None if is_user_id(raw) => body["recipient"] = json!(raw),
        None => body["to"] = json!(raw),
    }
}

/// Returns `true` if a question goes out as numbered text, because it is beyond a limit of Meta's menus.
pub(crate) fn is_sent_as_text(question: &Content) -> bool {
    match question {
        Content::Buttons(menu) => interactive::build_buttons(menu).is_none(),
        Content::List(menu) => interactive::build_list(menu).is_none(),
        Content::Poll { .. } => true,
        _ => false,
    }
}

/// Returns the message type, and the object that the body has under that name.
fn build_typed_part(message: &OutgoingMessage) -> Result<(&'static str, Value), SendOutcome> {
    let content = &message.content;
    let Some(kind) = content.outgoing_kind() else {
        return Err(permanent_failure("content of a kind that only comes in"));
    };
    match content_support(kind) {
        ContentSupport::Native(_) => build_native_part(message, kind),
        ContentSupport::Degraded(_) => build_text_part(message),
        ContentSupport::Refused(why) => Err(permanent_failure(why)),
    }
}

fn build_native_part(
    message: &OutgoingMessage,
    kind: OutgoingKind,
) -> Result<(&'static str, Value), SendOutcome> {
    match &message.content {
        Content::Media(media) => parts::build_file(media, kind),
        Content::Location(place) => parts::build_location(place).map(|part| ("location", part)),
        Content::Contacts { contacts } => Ok(("contacts", parts::build_contacts(contacts))),
        Content::Reaction { emoji, target } => {
            parts::build_reaction(emoji.as_deref(), target.as_deref()).map(|part| ("reaction", part))
        }
        Content::Buttons(menu) => match interactive::build_buttons(menu) {
            Some(part) => Ok(("interactive", part)),
            None => build_text_part(message),
        },
        Content::List(menu) => match interactive::build_list(menu) {
            Some(part) => Ok(("interactive", part)),
            None => build_text_part(message),
        },
        Content::Template(template) => Ok(("template", parts::build_template(template))),
        _ => build_text_part(message),
    }
}

/// Builds a text message from the content in words. A text over the limit is refused, because a cut one would change its
/// meaning.
fn build_text_part(message: &OutgoingMessage) -> Result<(&'static str, Value), SendOutcome> {
    let words = message.content.render_fallback_text();
    if words.chars().count() > TEXT_MAX {
        return Err(permanent_failure("text too long"));
    }
    let preview = message.options.link_preview.unwrap_or(false);
    Ok(("text", json!({ "body": words, "preview_url": preview })))
}

/// Returns the same message with the provider's id `id` as the source of its file.
pub(crate) fn with_media_id(message: &OutgoingMessage, media: &Media, id: &str) -> OutgoingMessage {
    OutgoingMessage {
        content: Content::Media(Media {
            source: Some(id.to_owned()),
            ..media.clone()
        }),
        ..message.clone()
    }
}

#[cfg(test)]
mod tests;
