//! What can be sent, in both versions' forms, as Evolution's schemas and code want it.

use super::super::call::{Call, Refusal, wrong};
use super::super::shape::{flag_if, is_url, list, number, object, only, text, text_if};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A message as it was asked for.
pub(super) struct Wanted {
    /// To whom: a number or a JID.
    pub(super) to: String,
    /// What it says in words.
    pub(super) words: String,
    /// What WhatsApp is given, by its kind; a text is left to the version.
    pub(super) message: Option<Value>,
    pub(super) version: u8,
}

const LONG: usize = 65_536;
const ANY: usize = usize::MAX;

/// Version 2's fields that go with any message.
const OPTIONS: [&str; 6] = [
    "number",
    "quoted",
    "linkPreview",
    "mentioned",
    "mentionsEveryOne",
    "delay",
];

/// The name under which version 1 nests what `action` sends.
fn nested(action: &str) -> Option<&'static str> {
    Some(match action {
        "sendText" => "textMessage",
        "sendMedia" => "mediaMessage",
        "sendWhatsAppAudio" => "audioMessage",
        "sendSticker" => "stickerMessage",
        "sendReaction" => "reactionMessage",
        "sendLocation" => "locationMessage",
        "sendContact" => "contactMessage",
        "sendPoll" => "pollMessage",
        _ => return None,
    })
}

pub(super) fn read(action: &str, call: &Call) -> Result<Wanted, Refusal> {
    let body = &call.request.body;
    let Some(nested) = nested(action) else {
        return wrong("no such message, or one that Recado does not send");
    };
    let flat = match action {
        "sendContact" => body.get("contact").is_some(),
        "sendText" => body.get("text").is_some(),
        _ => false,
    };
    let version = match body.get(nested) {
        Some(_) if flat => return wrong(format!("{nested}: which version is this?")),
        Some(_) => 1,
        None => 2,
    };
    let fields = if version == 1 { &body[nested] } else { body };
    let (known, words, message) = part(action, version, fields)?;
    if version == 1 {
        only(body, &["number", "options", nested])?;
        if action != "sendContact" {
            only(fields, &known)?;
        }
        if let Some(options) = body.get("options") {
            options_of(options, object(options, "mentions").ok())?;
        }
    } else {
        let all: Vec<&str> = known.iter().chain(&OPTIONS).copied().collect();
        only(body, &all)?;
        options_of(body, Some(body))?;
    }
    let to = if action == "sendReaction" {
        text(&fields["key"], "remoteJid", 100)?
    } else {
        call.text("/number")?
    };
    super::check_number(to)?;
    Ok(Wanted {
        to: to.to_owned(),
        words,
        message,
        version,
    })
}

fn options_of(options: &Value, mentions: Option<&Value>) -> Result<(), Refusal> {
    flag_if(options, "linkPreview")?;
    if options.get("quoted").is_some() {
        text(object(object(options, "quoted")?, "key")?, "id", 256)?;
    }
    let Some(mentions) = mentions.filter(|mentions| mentions.get("mentioned").is_some()) else {
        return Ok(());
    };
    let digits = |mention: &Value| {
        mention
            .as_str()
            .is_some_and(|text| text.len() >= 8 && text.bytes().all(|b| b.is_ascii_digit()))
    };
    if list(mentions, "mentioned", 1, 1000)?.iter().all(digits) {
        Ok(())
    } else {
        wrong("mentioned are no phone numbers in digits")
    }
}

/// A part's known fields, its words, and what WhatsApp is given.
type Part = (Vec<&'static str>, String, Option<Value>);

fn part(action: &str, version: u8, fields: &Value) -> Result<Part, Refusal> {
    match action {
        "sendText" => Ok((vec!["text"], text(fields, "text", LONG)?.to_owned(), None)),
        "sendMedia" => media(fields),
        "sendWhatsAppAudio" => {
            place(fields, "audio")?;
            let message = json!({"audioMessage": {"ptt": true, "mimetype": "audio/ogg; codecs=opus"}});
            Ok((vec!["audio"], "[voice]".to_owned(), Some(message)))
        }
        "sendSticker" => {
            let field = if version == 1 { "image" } else { "sticker" };
            place(fields, field)?;
            let message = json!({"stickerMessage": {"mimetype": "image/webp"}});
            Ok((vec![field], "[sticker]".to_owned(), Some(message)))
        }
        "sendReaction" => reaction(fields),
        "sendLocation" => location(fields),
        "sendContact" => contacts(version, fields),
        _ => poll(fields),
    }
}

/// A URL, or Base64 without a `data:` before it.
fn place<'a>(fields: &'a Value, field: &str) -> Result<&'a str, Refusal> {
    let given = text(fields, field, ANY)?;
    if is_url(given) || STANDARD.decode(given).is_ok() {
        Ok(given)
    } else {
        wrong(format!("{field}: Owned media must be a url or base64"))
    }
}

fn media(fields: &Value) -> Result<Part, Refusal> {
    let kind = text(fields, "mediatype", 20)?;
    if !["image", "document", "video", "audio"].contains(&kind) {
        return wrong("mediatype is not one of enum values: image,document,video,audio");
    }
    let bytes = !is_url(place(fields, "media")?);
    text_if(fields, "caption", 1024)?;
    text_if(fields, "mimetype", 100)?;
    text_if(fields, "fileName", 240)?;
    if bytes && kind == "document" && fields.get("fileName").is_none() {
        return wrong("For base64 the file name must be informed.");
    }
    let (caption, name) = (fields.get("caption"), fields.get("fileName"));
    let mut message = json!({"mimetype": fields.get("mimetype").cloned().unwrap_or_default()});
    if let Some(caption) = caption {
        message["caption"] = caption.clone();
    }
    if let Some(name) = name {
        message["fileName"] = name.clone();
    }
    let words = caption.and_then(Value::as_str).unwrap_or_default();
    Ok((
        vec!["mediatype", "media", "caption", "mimetype", "fileName"],
        format!("[{kind}] {words}").trim_end().to_owned(),
        Some(json!({ format!("{kind}Message"): message })),
    ))
}

fn reaction(fields: &Value) -> Result<Part, Refusal> {
    let key = object(fields, "key")?;
    only(key, &["id", "remoteJid", "fromMe"])?;
    text(key, "id", 256)?;
    if !text(key, "remoteJid", 100)?.contains('@') {
        return wrong("key.remoteJid is no JID");
    }
    if !key["fromMe"].is_boolean() {
        return wrong("key.fromMe is no boolean");
    }
    let Some(emoji) = fields["reaction"]
        .as_str()
        .filter(|emoji| emoji.chars().count() <= 16)
    else {
        return wrong("reaction must be a single emoji or empty string");
    };
    let message = json!({"reactionMessage": {"key": key, "text": emoji}});
    Ok((
        vec!["key", "reaction"],
        format!("[reaction] {emoji}"),
        Some(message),
    ))
}

fn location(fields: &Value) -> Result<Part, Refusal> {
    let (latitude, longitude) = (number(fields, "latitude")?, number(fields, "longitude")?);
    let (name, address) = (text(fields, "name", LONG)?, text(fields, "address", LONG)?);
    let message =
        json!({"degreesLatitude": latitude, "degreesLongitude": longitude, "name": name, "address": address});
    Ok((
        vec!["latitude", "longitude", "name", "address"],
        format!("[location] {name}"),
        Some(json!({ "locationMessage": message })),
    ))
}

fn contacts(version: u8, fields: &Value) -> Result<Part, Refusal> {
    let wrapped;
    let (of, field) = if version == 1 {
        wrapped = json!({ "contactMessage": fields });
        (&wrapped, "contactMessage")
    } else {
        (fields, "contact")
    };
    let mut names = Vec::new();
    for card in list(of, field, 1, 100)? {
        only(
            card,
            &["fullName", "phoneNumber", "wuid", "organization", "email", "url"],
        )?;
        text(card, "phoneNumber", 40)?;
        names.push(text(card, "fullName", 200)?.to_owned());
    }
    let message = match names.as_slice() {
        [one] => json!({"contactMessage": {"displayName": one}}),
        all => {
            let cards: Vec<Value> = all.iter().map(|name| json!({ "displayName": name })).collect();
            json!({"contactsArrayMessage": {"contacts": cards}})
        }
    };
    Ok((
        vec!["contact"],
        format!("[contacts] {}", names.join("; ")),
        Some(message),
    ))
}

fn poll(fields: &Value) -> Result<Part, Refusal> {
    let name = text(fields, "name", 255)?;
    let options = list(fields, "values", 2, 10)?;
    let unique = options
        .iter()
        .enumerate()
        .all(|(at, option)| option.is_string() && !options[..at].contains(option));
    if !unique {
        return wrong("values are not unique strings");
    }
    if fields["selectableCount"].as_u64().is_none_or(|count| count > 10) {
        return wrong("selectableCount is no integer from 0 to 10");
    }
    let options: Vec<Value> = options
        .iter()
        .map(|option| json!({ "optionName": option }))
        .collect();
    let message = json!({"pollCreationMessageV3": {"name": name, "options": options}});
    Ok((
        vec!["name", "selectableCount", "values"],
        format!("[poll] {name}"),
        Some(message),
    ))
}
