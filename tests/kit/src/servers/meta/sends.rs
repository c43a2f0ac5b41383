//! The kinds of messages, with the limits of Meta's reference.

use super::super::call::{Refusal, wrong};
use super::super::shape::{flag_if, is_url, list, number, object, only, text, text_if};
use serde_json::Value;

/// The longest text, in characters (Meta's send-messages reference).
const TEXT_MAX: usize = 4096;

/// Checks the object of this type, and returns what it says in words.
pub(super) fn words(kind: &str, body: &Value) -> Result<String, Refusal> {
    if kind == "contacts" {
        return contacts(body);
    }
    let part = object(body, kind)?;
    match kind {
        "text" => {
            only(part, &["body", "preview_url"])?;
            flag_if(part, "preview_url")?;
            Ok(text(part, "body", TEXT_MAX)?.to_owned())
        }
        "image" | "video" | "audio" | "document" | "sticker" => media(kind, part),
        "location" => {
            only(part, &["latitude", "longitude", "name", "address"])?;
            number(part, "latitude")?;
            number(part, "longitude")?;
            text_if(part, "name", 1000)?;
            text_if(part, "address", 1000)?;
            Ok("[location]".to_owned())
        }
        "reaction" => {
            only(part, &["message_id", "emoji"])?;
            text(part, "message_id", 256)?;
            match part["emoji"].as_str() {
                Some(emoji) => Ok(format!("[reaction] {emoji}")),
                None => wrong("reaction.emoji is no string"),
            }
        }
        "interactive" => interactive(part),
        "template" => template(part),
        _ => wrong("type is none that is known"),
    }
}

fn media(kind: &str, part: &Value) -> Result<String, Refusal> {
    match (part.get("id"), part.get("link")) {
        (Some(_), None) => {
            text(part, "id", 100)?;
        }
        (None, Some(_)) if is_url(text(part, "link", 2048)?) => {}
        _ => return wrong("neither an id nor a link that can be fetched"),
    }
    let known: &[&str] = match kind {
        "audio" => &["id", "link", "voice"],
        "sticker" => &["id", "link"],
        "document" => &["id", "link", "caption", "filename"],
        _ => &["id", "link", "caption"],
    };
    only(part, known)?;
    flag_if(part, "voice")?;
    text_if(part, "caption", 1024)?;
    text_if(part, "filename", 240)?;
    let caption = part["caption"].as_str().unwrap_or_default();
    Ok(format!("[{kind}] {caption}").trim_end().to_owned())
}

fn contacts(body: &Value) -> Result<String, Refusal> {
    let mut names = Vec::new();
    for card in list(body, "contacts", 1, 257)? {
        only(
            card,
            &["name", "phones", "emails", "org", "addresses", "urls", "birthday"],
        )?;
        let name = object(card, "name")?;
        names.push(text(name, "formatted_name", 200)?.to_owned());
        text(name, "first_name", 200)?;
        for phone in list(card, "phones", 1, 20)? {
            only(phone, &["phone", "wa_id", "type"])?;
            text(phone, "phone", 40)?;
        }
    }
    Ok(format!("[contacts] {}", names.join("; ")))
}

fn interactive(part: &Value) -> Result<String, Refusal> {
    only(part, &["type", "header", "body", "footer", "action"])?;
    let kind = text(part, "type", 20)?;
    let body_max = if kind == "list" { TEXT_MAX } else { 1024 };
    let said = text(object(part, "body")?, "text", body_max)?;
    if part.get("footer").is_some() {
        text(object(part, "footer")?, "text", 60)?;
    }
    if part.get("header").is_some() {
        let header = object(part, "header")?;
        if header["type"] != "text" {
            return wrong("header.type is not text");
        }
        text(header, "text", 60)?;
    }
    let action = object(part, "action")?;
    match kind {
        "button" => {
            for button in list(action, "buttons", 1, 3)? {
                if button["type"] != "reply" {
                    return wrong("a button is no reply");
                }
                let reply = object(button, "reply")?;
                text(reply, "id", 256)?;
                text(reply, "title", 20)?;
            }
        }
        "list" => sections(action)?,
        "cta_url" => {
            if action["name"] != "cta_url" {
                return wrong("action.name is not cta_url");
            }
            let parameters = object(action, "parameters")?;
            text(parameters, "display_text", 20)?;
            if !is_url(text(parameters, "url", 2048)?) {
                return wrong("url is none");
            }
        }
        _ => return wrong("interactive.type is none that Recado sends"),
    }
    Ok(said.to_owned())
}

fn sections(action: &Value) -> Result<(), Refusal> {
    text(action, "button", 20)?;
    let sections = list(action, "sections", 1, 10)?;
    let mut count = 0;
    for section in sections {
        only(section, &["title", "rows"])?;
        text_if(section, "title", 24)?;
        if sections.len() > 1 {
            text(section, "title", 24)?;
        }
        for row in list(section, "rows", 1, 10)? {
            only(row, &["id", "title", "description"])?;
            text(row, "id", 200)?;
            text(row, "title", 24)?;
            text_if(row, "description", 72)?;
            count += 1;
        }
    }
    if count > 10 {
        return wrong("a list has more than 10 rows");
    }
    Ok(())
}

fn template(part: &Value) -> Result<String, Refusal> {
    only(part, &["name", "language", "components"])?;
    let name = text(part, "name", 512)?;
    text(object(part, "language")?, "code", 20)?;
    if part.get("components").is_some() {
        for component in list(part, "components", 1, 20)? {
            let kind = text(component, "type", 30)?.to_lowercase();
            if ![
                "header",
                "body",
                "button",
                "carousel",
                "limited_time_offer",
                "order_status",
            ]
            .contains(&kind.as_str())
            {
                return wrong("a component has no type that is known");
            }
            if kind == "button" {
                text(component, "sub_type", 30)?;
            }
        }
    }
    Ok(format!("[template {name}]"))
}
