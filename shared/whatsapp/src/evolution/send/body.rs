//! Builds Evolution's API call and its body for every kind of content.

use super::super::content_support;
use super::format_recipient;
use super::menus;
use super::parts::{self, EvolutionBodyPart};
use crate::wire::content_support::ContentSupport;
use crate::wire::media_file::permanent_failure;
use recado_domain::content::Content;
use recado_domain::options::SendOptions;
use recado_domain::outgoing::OutgoingKind;
use recado_ports::ports::{OutgoingMessage, SendOutcome};
use serde_json::{Map, Value, json};

/// Limit on the options that `sendPoll` accepts.
const OPTIONS_MAX: usize = 10;

/// A call of Evolution's API under `/message/`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EvolutionCall {
    /// Part of the path before the instance name, such as `sendText`.
    pub(super) action: &'static str,
    /// JSON body of the call.
    pub(super) body: Value,
}

/// The form in which an instance's Evolution takes messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Major version of Evolution.
    pub(crate) version: u8,
    /// Buttons and lists are sent as menus, if the version has them.
    pub(crate) native_menus: bool,
}

impl Dialect {
    fn sends_menus(self) -> bool {
        self.native_menus && self.version != 1
    }
}

/// Returns `true` if a question goes out as numbered text.
pub(crate) fn is_sent_as_text(dialect: Dialect, question: &Content) -> bool {
    match question {
        Content::Buttons(_) | Content::List(_) => !dialect.sends_menus(),
        Content::Poll { options, .. } => options.len() > OPTIONS_MAX,
        _ => false,
    }
}

/// Builds the call that sends `message`. An error is the permanent failure of content that Evolution cannot send.
pub(super) fn build_call(dialect: Dialect, message: &OutgoingMessage) -> Result<EvolutionCall, SendOutcome> {
    let version = dialect.version;
    let Some(kind) = message.content.outgoing_kind() else {
        return Err(permanent_failure("content of a kind that only comes in"));
    };
    let parts = match content_support(kind) {
        ContentSupport::Native(_) => build_native_part(version, message, kind)?,
        ContentSupport::Degraded(_) => build_menu_part(dialect, &message.content),
        ContentSupport::Refused(why) => return Err(permanent_failure(why)),
    };
    Ok(EvolutionCall {
        action: parts.action,
        body: assemble_body(version, message, parts),
    })
}

fn build_native_part(
    version: u8,
    message: &OutgoingMessage,
    kind: OutgoingKind,
) -> Result<EvolutionBodyPart, SendOutcome> {
    match &message.content {
        Content::Media(media) => parts::build_file_part(version, media, kind),
        Content::Location(place) => parts::build_location_part(place),
        Content::Contacts { contacts } => Ok(parts::build_contacts_part(version, contacts)),
        Content::Reaction { emoji, target } => {
            parts::build_reaction_part(message, emoji.as_deref(), target.as_deref())
        }
        Content::Poll {
            question,
            options,
            selectable,
        } if options.len() <= OPTIONS_MAX => Ok(EvolutionBodyPart {
            action: "sendPoll",
            version1_field: "pollMessage",
            fields: json!({ "name": question, "selectableCount": selectable, "values": options }),
        }),
        content => Ok(build_text_part(content)),
    }
}

/// Builds buttons and lists as menus where they arrive as such, else as text.
fn build_menu_part(dialect: Dialect, content: &Content) -> EvolutionBodyPart {
    match content {
        Content::Buttons(menu) if dialect.sends_menus() => menus::build_buttons_part(menu),
        Content::List(menu) if dialect.sends_menus() => menus::build_list_part(menu),
        _ => build_text_part(content),
    }
}

/// Builds a text message from the content in words. The echo of the message has the same text.
fn build_text_part(content: &Content) -> EvolutionBodyPart {
    EvolutionBodyPart {
        action: "sendText",
        version1_field: "textMessage",
        fields: json!({ "text": content.render_fallback_text() }),
    }
}

fn assemble_body(version: u8, message: &OutgoingMessage, parts: EvolutionBodyPart) -> Value {
    let mut body = Map::new();
    // A reaction names the chat in the key of its target message, so it has no recipient.
    let reaction = parts.action == "sendReaction";
    if !reaction {
        body.insert("number".to_owned(), json!(format_recipient(&message.to)));
    }
    let text = parts.action == "sendText";
    let options = if reaction {
        Map::new()
    } else {
        build_options(version, &message.options, text)
    };
    if version == 1 {
        if !reaction {
            body.insert("options".to_owned(), Value::Object(options));
        }
        body.insert(parts.version1_field.to_owned(), parts.fields);
    } else {
        body.extend(options);
        match parts.fields {
            Value::Object(fields) => body.extend(fields),
            list => {
                body.insert("contact".to_owned(), list);
            }
        }
    }
    Value::Object(body)
}

/// Builds the options that every message may have. Evolution finds the quoted message in its database by the id alone.
fn build_options(version: u8, wanted: &SendOptions, text: bool) -> Map<String, Value> {
    let mut options = Map::new();
    if let Some(id) = &wanted.reply_to {
        options.insert("quoted".to_owned(), json!({ "key": { "id": id } }));
    }
    if let Some(preview) = wanted.link_preview.filter(|_| text) {
        options.insert("linkPreview".to_owned(), json!(preview));
    }
    if !wanted.mentions.is_empty() {
        let (name, value) = if version == 1 {
            (
                "mentions",
                json!({ "everyOne": false, "mentioned": wanted.mentions }),
            )
        } else {
            ("mentioned", json!(wanted.mentions))
        };
        options.insert(name.to_owned(), value);
    }
    options
}

#[cfg(test)]
mod tests;
