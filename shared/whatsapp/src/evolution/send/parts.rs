//! Builds the content kinds that are more than text.

use super::format_recipient;
use crate::wire::media_file::{self, MediaSource, parse_media_source, permanent_failure};
use recado_domain::content::{ContactCard, Location, Media};
use recado_domain::outgoing::OutgoingKind;
use recado_ports::ports::{OutgoingMessage, SendOutcome};
use serde_json::{Value, json};

/// The fields of one content kind. Version 1 nests them under a field name; version 2 has them beside `number`.
pub(super) struct EvolutionBodyPart {
    pub(super) action: &'static str,
    /// Version 1's name of the field that contains them.
    pub(super) version1_field: &'static str,
    pub(super) fields: Value,
}

/// Builds a file message. A URL is sent as it is, bytes as bare Base64: Evolution would take a `data:` prefix for text.
pub(super) fn build_file_part(
    version: u8,
    media: &Media,
    kind: OutgoingKind,
) -> Result<EvolutionBodyPart, SendOutcome> {
    let (place, mime_type) = match parse_media_source(media)? {
        MediaSource::Link(url) => (url, media.mime_type.as_deref()),
        MediaSource::Bytes { mime_type, base64 } => (base64, Some(mime_type)),
        MediaSource::Id(_) => return Err(permanent_failure("a file of another provider")),
    };
    let mediatype = match kind {
        OutgoingKind::Voice => {
            return Ok(EvolutionBodyPart {
                action: "sendWhatsAppAudio",
                version1_field: "audioMessage",
                fields: json!({ "audio": place }),
            });
        }
        OutgoingKind::Sticker => {
            let field = if version == 1 { "image" } else { "sticker" };
            return Ok(EvolutionBodyPart {
                action: "sendSticker",
                version1_field: "stickerMessage",
                fields: json!({ field: place }),
            });
        }
        OutgoingKind::Image => "image",
        OutgoingKind::Video => "video",
        OutgoingKind::Audio => "audio",
        _ => "document",
    };
    let mut fields = json!({ "mediatype": mediatype, "media": place });
    if let Some(mime_type) = mime_type {
        fields["mimetype"] = json!(mime_type);
    }
    if let Some(caption) = &media.caption {
        fields["caption"] = json!(caption);
    }
    if mediatype == "document" || media.file_name.is_some() {
        fields["fileName"] = json!(media_file::media_file_name(media));
    }
    Ok(EvolutionBodyPart {
        action: "sendMedia",
        version1_field: "mediaMessage",
        fields,
    })
}

/// Builds a location message. Evolution requires a name and an address, so a missing one is filled in.
pub(super) fn build_location_part(place: &Location) -> Result<EvolutionBodyPart, SendOutcome> {
    let degrees = |text: &str| text.parse::<f64>().ok().filter(|degrees| degrees.is_finite());
    let (Some(latitude), Some(longitude)) = (degrees(&place.latitude), degrees(&place.longitude)) else {
        return Err(permanent_failure("a place without degrees"));
    };
    let numbers = format!("{latitude}, {longitude}");
    let filled = |one: &Option<String>, other: &Option<String>| {
        one.clone()
            .or_else(|| other.clone())
            .unwrap_or_else(|| numbers.clone())
    };
    Ok(EvolutionBodyPart {
        action: "sendLocation",
        version1_field: "locationMessage",
        fields: json!({
            "latitude": latitude,
            "longitude": longitude,
            "name": filled(&place.name, &place.address),
            "address": filled(&place.address, &place.name),
        }),
    })
}

/// Builds a contact message. Evolution's card has one phone number and one e-mail address, so a contact with several
/// numbers becomes several cards.
pub(super) fn build_contacts_part(version: u8, cards: &[ContactCard]) -> EvolutionBodyPart {
    let mut all = Vec::new();
    for card in cards {
        for phone in &card.phones {
            let mut part = json!({ "fullName": card.name, "phoneNumber": phone });
            let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
            if version == 1 {
                part["wuid"] = json!(digits);
            }
            if let Some(company) = &card.organization {
                part["organization"] = json!(company);
            }
            if let Some(email) = card.emails.first() {
                part["email"] = json!(email);
            }
            all.push(part);
        }
    }
    EvolutionBodyPart {
        action: "sendContact",
        version1_field: "contactMessage",
        fields: Value::Array(all),
    }
}

/// Builds a reaction. The target's key names the chat and the author.
pub(super) fn build_reaction_part(
    message: &OutgoingMessage,
    emoji: Option<&str>,
    target: Option<&str>,
) -> Result<EvolutionBodyPart, SendOutcome> {
    let target = target.ok_or_else(|| permanent_failure("a reaction to nothing"))?;
    let chat = format_recipient(&message.to);
    let jid = if chat.contains('@') {
        chat
    } else {
        format!("{chat}@s.whatsapp.net")
    };
    let key = json!({ "id": target, "remoteJid": jid, "fromMe": message.options.to_own });
    Ok(EvolutionBodyPart {
        action: "sendReaction",
        version1_field: "reactionMessage",
        fields: json!({ "key": key, "reaction": emoji.unwrap_or_default() }),
    })
}
