//! What is called, and with which body, for every kind of content.

use super::super::support_for_kind;
use super::format_recipient;
use super::parts;
use crate::media_file::permanent_failure;
use crate::support::ContentSupport;
use recado_domain::content::Content;
use recado_domain::options::SendOptions;
use recado_domain::outgoing::OutgoingKind;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use serde_json::{Map, Value, json};

/// The most options that `sendPoll` takes.
const OPTIONS_MAX: usize = 10;

/// A call under `/message/`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct EvolutionCall {
    /// Its last part but the instance.
    pub(super) action: &'static str,
    /// What it is given.
    pub(super) body: Value,
}

/// A kind's own fields, under the name that version 1 gives them. In version 2 they lie beside `number`.
pub(super) struct EvolutionBodyPart {
    pub(super) action: &'static str,
    /// Version 1's name for them.
    pub(super) version1_field: &'static str,
    pub(super) fields: Value,
}

/// The call that sends `message`; or why none does.
pub(super) fn build_call(version: u8, message: &OutgoingMessage) -> Result<EvolutionCall, SendOutcome> {
    let Some(kind) = message.content.outgoing_kind() else {
        return Err(permanent_failure("content of a kind that only comes in"));
    };
    let parts = match support_for_kind(kind) {
        ContentSupport::Native(_) => build_native_part(version, message, kind)?,
        ContentSupport::Degraded(_) => build_text_part(&message.content),
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

/// The content in words: also what an echo of it says.
fn build_text_part(content: &Content) -> EvolutionBodyPart {
    EvolutionBodyPart {
        action: "sendText",
        version1_field: "textMessage",
        fields: json!({ "text": content.render_fallback_text() }),
    }
}

fn assemble_body(version: u8, message: &OutgoingMessage, parts: EvolutionBodyPart) -> Value {
    let mut body = Map::new();
    // A reaction is to a message, and names the chat in its key.
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

/// What may be asked for with any message. Evolution finds the quoted one in its database by the id alone.
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
