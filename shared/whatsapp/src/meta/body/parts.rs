//! Builds the simpler content kinds.

use crate::wire::media_file::{self, MediaSource, parse_media_source, permanent_failure};
use recado_domain::content::{ContactCard, Location, Media, MessageTemplate};
use recado_domain::outgoing::{CAPTION_MAX, OutgoingKind};
use recado_ports::ports::SendOutcome;
use serde_json::{Value, json};

pub(super) fn build_file(media: &Media, kind: OutgoingKind) -> Result<(&'static str, Value), SendOutcome> {
    let mut part = match parse_media_source(media)? {
        MediaSource::Link(url) => json!({ "link": url }),
        MediaSource::Id(id) => json!({ "id": id }),
        MediaSource::Bytes { .. } => return Err(permanent_failure("the file was not uploaded")),
    };
    let name = match kind {
        OutgoingKind::Image => "image",
        OutgoingKind::Video => "video",
        OutgoingKind::Sticker => "sticker",
        OutgoingKind::Document => {
            part["filename"] = json!(media_file::media_file_name(media));
            "document"
        }
        OutgoingKind::Voice => {
            part["voice"] = json!(true);
            "audio"
        }
        _ => "audio",
    };
    if let Some(caption) = &media.caption {
        if matches!(name, "audio" | "sticker") {
            return Err(permanent_failure("a caption below a file that can have none"));
        }
        if caption.chars().count() > CAPTION_MAX {
            return Err(permanent_failure("caption too long"));
        }
        part["caption"] = json!(caption);
    }
    Ok((name, part))
}

pub(super) fn build_location(place: &Location) -> Result<Value, SendOutcome> {
    let degrees = |text: &str| text.parse::<f64>().ok().filter(|degrees| degrees.is_finite());
    let (Some(latitude), Some(longitude)) = (degrees(&place.latitude), degrees(&place.longitude)) else {
        return Err(permanent_failure("a place without degrees"));
    };
    let mut part = json!({ "latitude": latitude, "longitude": longitude });
    for (field, value) in [("name", &place.name), ("address", &place.address)] {
        if let Some(value) = value {
            part[field] = json!(value);
        }
    }
    Ok(part)
}

/// Builds contact cards. Meta requires the full name and one of its parts. A number with its country code is also sent
/// as a WhatsApp number, so that the recipient can write to it.
pub(super) fn build_contacts(cards: &[ContactCard]) -> Value {
    let phone = |phone: &String| {
        let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
        let mut part = json!({ "phone": phone, "type": "CELL" });
        if phone.trim_start().starts_with('+') {
            part["wa_id"] = json!(digits);
        }
        part
    };
    let card = |card: &ContactCard| {
        let first = card.name.split_whitespace().next().unwrap_or_default();
        let phones: Vec<Value> = card.phones.iter().map(phone).collect();
        let mut part = json!({
            "name": { "formatted_name": card.name, "first_name": first },
            "phones": phones,
        });
        if !card.emails.is_empty() {
            let emails: Vec<Value> = card
                .emails
                .iter()
                .map(|email| json!({ "email": email }))
                .collect();
            part["emails"] = json!(emails);
        }
        if let Some(company) = &card.organization {
            part["org"] = json!({ "company": company });
        }
        part
    };
    Value::Array(cards.iter().map(card).collect())
}

pub(super) fn build_reaction(emoji: Option<&str>, target: Option<&str>) -> Result<Value, SendOutcome> {
    let target = target.ok_or_else(|| permanent_failure("a reaction to nothing"))?;
    Ok(json!({ "message_id": target, "emoji": emoji.unwrap_or_default() }))
}

pub(super) fn build_template(template: &MessageTemplate) -> Value {
    let mut part = json!({ "name": template.name, "language": { "code": template.language } });
    if !template.components.is_empty() {
        part["components"] = json!(template.components);
    }
    part
}
