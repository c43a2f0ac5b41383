//! What is called, and with which body, for every kind of content.

use super::super::support;
use super::number;
use super::parts;
use crate::file::permanent;
use crate::support::Support;
use recado_domain::content::Content;
use recado_domain::options::SendOptions;
use recado_domain::outgoing::OutgoingKind;
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use serde_json::{Map, Value, json};

/// The most options that `sendPoll` takes.
const OPTIONS_MAX: usize = 10;

/// A call under `/message/`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    /// Its last part but the instance.
    pub(super) action: &'static str,
    /// What it is given.
    pub(super) body: Value,
}

/// A kind's own fields, under the name that version 1 gives them. In version 2 they lie beside `number`.
pub(super) struct Part {
    pub(super) action: &'static str,
    /// Version 1's name for them.
    pub(super) nested: &'static str,
    pub(super) fields: Value,
}

/// The call that sends `message`; or why none does.
pub(super) fn call(version: u8, message: &OutgoingMessage) -> Result<Call, SendOutcome> {
    let Some(kind) = message.content.outgoing_kind() else {
        return Err(permanent("content of a kind that only comes in"));
    };
    let parts = match support(kind) {
        Support::Native(_) => native(version, message, kind)?,
        Support::Degraded(_) => text(&message.content),
        Support::Refused(why) => return Err(permanent(why)),
    };
    Ok(Call {
        action: parts.action,
        body: shaped(version, message, parts),
    })
}

fn native(version: u8, message: &OutgoingMessage, kind: OutgoingKind) -> Result<Part, SendOutcome> {
    match &message.content {
        Content::Media(media) => parts::file(version, media, kind),
        Content::Location(place) => parts::location(place),
        Content::Contacts { contacts } => Ok(parts::cards(version, contacts)),
        Content::Reaction { emoji, target } => parts::reaction(message, emoji.as_deref(), target.as_deref()),
        Content::Poll {
            question,
            options,
            selectable,
        } if options.len() <= OPTIONS_MAX => Ok(Part {
            action: "sendPoll",
            nested: "pollMessage",
            fields: json!({ "name": question, "selectableCount": selectable, "values": options }),
        }),
        content => Ok(text(content)),
    }
}

/// The content in words: also what an echo of it says.
fn text(content: &Content) -> Part {
    Part {
        action: "sendText",
        nested: "textMessage",
        fields: json!({ "text": content.as_written() }),
    }
}

fn shaped(version: u8, message: &OutgoingMessage, parts: Part) -> Value {
    let mut body = Map::new();
    // A reaction is to a message, and names the chat in its key.
    let reaction = parts.action == "sendReaction";
    if !reaction {
        body.insert("number".to_owned(), json!(number(&message.to)));
    }
    let text = parts.action == "sendText";
    let options = if reaction {
        Map::new()
    } else {
        options(version, &message.options, text)
    };
    if version == 1 {
        if !reaction {
            body.insert("options".to_owned(), Value::Object(options));
        }
        body.insert(parts.nested.to_owned(), parts.fields);
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
fn options(version: u8, wanted: &SendOptions, text: bool) -> Map<String, Value> {
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
