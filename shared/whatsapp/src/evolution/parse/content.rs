//! What a Baileys message says. Its kind is its key: `{"conversation": "…"}`, `{"imageMessage": {…}}`.

use crate::json::{integer, list, prose, scalar, text};
use recado_domain::content::{ContactCard, Content, Location, Media, MediaKind, Order};
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

/// Keys whose `message` is the real content.
const WRAPPERS: [&str; 9] = [
    "ephemeralMessage",
    "viewOnceMessage",
    "viewOnceMessageV2",
    "viewOnceMessageV2Extension",
    "documentWithCaptionMessage",
    "editedMessage",
    "deviceSentMessage",
    "groupMentionedMessage",
    "lottieStickerMessage",
];

/// Whether there is more than metadata. (`protocolMessage` is a revocation, an edit or a setting, and comes as another
/// event.)
pub(super) fn says_something(message: &Value) -> bool {
    kind_of(unwrapped(message)).is_some()
}

/// Reads a message. `id` is the message's, by which its file can be fetched.
pub(super) fn read(message: &Value, id: Option<&str>) -> Content {
    let message = unwrapped(message);
    let Some((kind, body)) = kind_of(message) else {
        return Content::Unsupported {
            kind: "unknown".to_owned(),
            raw: message.clone(),
        };
    };
    let source = prose(message, "mediaUrl").or_else(|| id.map(str::to_owned));
    known(kind, body, source).unwrap_or_else(|| Content::Unsupported {
        kind: kind.to_owned(),
        raw: message.clone(),
    })
}

/// Takes the wrappers off. An edit wraps its text once more, in `protocolMessage.editedMessage`.
fn unwrapped(message: &Value) -> &Value {
    let mut message = message;
    while let Some(inner) = WRAPPERS
        .iter()
        .find_map(|wrapper| message.get(wrapper)?.get("message"))
    {
        message = inner
            .get("protocolMessage")
            .and_then(|edit| edit.get("editedMessage"))
            .unwrap_or(inner);
    }
    message
}

/// The first key that is content, with its value.
fn kind_of(message: &Value) -> Option<(&str, &Value)> {
    let fields: &Map<String, Value> = message.as_object()?;
    fields
        .iter()
        .find(|(key, value)| !METADATA.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.as_str(), value))
}

fn known(kind: &str, body: &Value, source: Option<String>) -> Option<Content> {
    match kind {
        "conversation" => Some(Content::text(body.as_str()?)),
        "extendedTextMessage" => Some(Content::text(body.get("text")?.as_str()?)),
        "imageMessage" => Some(media(MediaKind::Image, body, source)),
        "videoMessage" | "ptvMessage" => Some(media(MediaKind::Video, body, source)),
        "stickerMessage" => Some(media(MediaKind::Sticker, body, source)),
        "documentMessage" => Some(media(MediaKind::Document, body, source)),
        "audioMessage" => {
            let voice = body.get("ptt").and_then(Value::as_bool).unwrap_or(false);
            Some(media(
                if voice { MediaKind::Voice } else { MediaKind::Audio },
                body,
                source,
            ))
        }
        "reactionMessage" => Some(Content::Reaction {
            emoji: text(body, "text").map(str::to_owned),
            target: body.get("key").and_then(|key| text(key, "id")).map(str::to_owned),
        }),
        "locationMessage" | "liveLocationMessage" => Some(Content::Location(Location {
            latitude: scalar(body, "degreesLatitude")?,
            longitude: scalar(body, "degreesLongitude")?,
            name: prose(body, "name"),
            address: prose(body, "address"),
            url: prose(body, "url"),
            live: kind == "liveLocationMessage",
        })),
        "contactMessage" => Some(Content::Contacts {
            contacts: card(body).into_iter().collect(),
        }),
        "contactsArrayMessage" => Some(Content::Contacts {
            contacts: list(body.get("contacts")).iter().filter_map(card).collect(),
        }),
        "pollCreationMessage" | "pollCreationMessageV2" | "pollCreationMessageV3" => Some(Content::Poll {
            question: prose(body, "name")?,
            options: list(body.get("options"))
                .iter()
                .filter_map(|option| prose(option, "optionName"))
                .collect(),
            selectable: 0,
        }),
        "orderMessage" => Some(Content::Order(Order {
            count: body
                .get("itemCount")
                .and_then(integer)
                .and_then(|count| u32::try_from(count).ok())
                .unwrap_or(0),
            text: prose(body, "message"),
            ..Order::default()
        })),
        _ => choice(kind, body).or_else(|| template(kind, body)),
    }
}

/// Answers to buttons, lists, forms and polls.
fn choice(kind: &str, body: &Value) -> Option<Content> {
    let (id, title) = match kind {
        "buttonsResponseMessage" => (
            scalar(body, "selectedButtonId"),
            prose(body, "selectedDisplayText"),
        ),
        "templateButtonReplyMessage" => (scalar(body, "selectedId"), prose(body, "selectedDisplayText")),
        "listResponseMessage" => (
            body.get("singleSelectReply")
                .and_then(|reply| scalar(reply, "selectedRowId")),
            prose(body, "title"),
        ),
        "interactiveResponseMessage" => {
            let flow = body.get("nativeFlowResponseMessage");
            let parameters = flow.and_then(|flow| text(flow, "paramsJson"));
            let parameters: Option<Value> = parameters.and_then(|json| serde_json::from_str(json).ok());
            let id = parameters
                .as_ref()
                .and_then(|parameters| scalar(parameters, "id"));
            (id, body.get("body").and_then(|shown| prose(shown, "text")))
        }
        "pollUpdateMessage" => {
            // Names after decryption (2.3.7 on); before, bytes that mean nothing.
            let chosen = list(body.get("vote").and_then(|vote| vote.get("selectedOptions")));
            let names: Vec<&str> = chosen.iter().filter_map(Value::as_str).collect();
            (None, (!names.is_empty()).then(|| names.join(", ")))
        }
        _ => return None,
    };
    let title = title.or_else(|| id.clone())?;
    Some(Content::Choice {
        id,
        title,
        description: None,
    })
}

/// What a business sends with buttons: its text.
fn template(kind: &str, body: &Value) -> Option<Content> {
    let text = match kind {
        "templateMessage" => ["hydratedTemplate", "hydratedFourRowTemplate"]
            .iter()
            .find_map(|form| prose(body.get(form)?, "hydratedContentText")),
        "buttonsMessage" => prose(body, "contentText"),
        "listMessage" => prose(body, "description").or_else(|| prose(body, "title")),
        "interactiveMessage" => body.get("body").and_then(|shown| prose(shown, "text")),
        _ => None,
    };
    text.map(Content::text)
}

fn media(media: MediaKind, body: &Value, source: Option<String>) -> Content {
    Content::Media(Media {
        caption: prose(body, "caption"),
        mime_type: prose(body, "mimetype"),
        file_name: prose(body, "fileName").or_else(|| {
            // Other files have no title; a document without a name has one.
            (media == MediaKind::Document)
                .then(|| prose(body, "title"))
                .flatten()
        }),
        source,
        ..Media::of(media)
    })
}

fn card(body: &Value) -> Option<ContactCard> {
    Some(ContactCard {
        name: prose(body, "displayName")?,
        ..ContactCard::default()
    })
}
