//! The checks of each kind.

use super::web::is_upload;
use super::{CAPTION_MAX, OutgoingError, TEXT_MAX, is_private_address, is_web_address};
use crate::content::{
    ButtonKind, Buttons, ContactCard, Content, ListMenu, Location, Media, MediaKind, Section, Template,
};
use crate::options::SendOptions;
use std::collections::BTreeSet;

/// The longest provider's id, in bytes: a `wamid` can be longer than a hundred.
const ID_MAX: usize = 256;
/// The longest id of a button or row, in characters: what every provider takes.
const CHOICE_ID_MAX: usize = 200;
/// The longest title of a button, row or section, in characters: more is no menu.
const TITLE_MAX: usize = 200;
/// Rows of a list, in all.
const ROWS_MAX: usize = 100;
/// Contact cards in one message.
const CARDS_MAX: usize = 20;
/// Options of a poll.
const OPTIONS_MAX: usize = 12;
/// The largest template, in bytes of JSON.
const TEMPLATE_BYTES_MAX: usize = 16 * 1024;
/// People mentioned in one message.
const MENTIONS_MAX: usize = 100;

type Checked = Result<(), OutgoingError>;

fn wrong(field: &'static str, why: impl Into<String>) -> Checked {
    Err(OutgoingError::Wrong {
        field,
        why: why.into(),
    })
}

fn length(field: &'static str, text: &str, max: usize) -> Checked {
    if text.trim().is_empty() || text.chars().count() > max {
        return wrong(field, format!("must have 1 to {max} characters"));
    }
    Ok(())
}

fn length_if(field: &'static str, text: Option<&str>, max: usize) -> Checked {
    text.map_or(Ok(()), |text| length(field, text, max))
}

fn count(field: &'static str, number: usize, least: usize, most: usize) -> Checked {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    wrong(field, format!("must have {least} to {most} members"))
}

fn distinct<'a>(field: &'static str, values: impl Iterator<Item = &'a str>) -> Checked {
    let mut seen = BTreeSet::new();
    for value in values {
        if !seen.insert(value) {
            return wrong(field, "must differ from one another");
        }
    }
    Ok(())
}

/// A provider's id of a message: one word.
fn provider_id(field: &'static str, id: &str) -> Checked {
    let fine = !id.is_empty() && id.len() <= ID_MAX && id.bytes().all(|b| b.is_ascii_graphic());
    if fine {
        Ok(())
    } else {
        wrong(field, "must be the id of a message")
    }
}

impl Content {
    /// Whether it can be sent by at least one provider, whole and as it is.
    pub fn check_outgoing(&self) -> Result<(), OutgoingError> {
        match self {
            Self::Text { text } => length("text", text, TEXT_MAX),
            Self::Media(media) => file(media),
            Self::Location(place) => location(place),
            Self::Contacts { contacts } => {
                count("contacts", contacts.len(), 1, CARDS_MAX)?;
                contacts.iter().try_for_each(card)
            }
            Self::Reaction { emoji, target } => reaction(emoji.as_deref(), target.as_deref()),
            Self::Buttons(menu) => buttons(menu),
            Self::List(menu) => list(menu),
            Self::Poll {
                question,
                options,
                selectable,
            } => poll(question, options, *selectable),
            Self::Template(wanted) => template(wanted),
            _ => Err(OutgoingError::OnlyIncoming(self.kind().to_owned())),
        }
    }
}

impl SendOptions {
    /// Whether they can be asked for.
    pub fn check(&self) -> Result<(), OutgoingError> {
        if let Some(id) = &self.reply_to {
            provider_id("reply_to", id)?;
        }
        count("mentions", self.mentions.len(), 0, MENTIONS_MAX)?;
        let number =
            |digits: &String| (8..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if self.mentions.iter().all(number) {
            Ok(())
        } else {
            wrong("mentions", "must be phone numbers of 8 to 15 digits, without +")
        }
    }
}

fn file(media: &Media) -> Checked {
    match media.source.as_deref() {
        Some(source) if is_web_address(source) || is_private_address(source) || is_upload(source) => {}
        _ => return wrong("source", "must be an https URL or the source of an upload"),
    }
    length_if("caption", media.caption.as_deref(), CAPTION_MAX)?;
    let wordless = matches!(
        media.media,
        MediaKind::Audio | MediaKind::Voice | MediaKind::Sticker
    );
    if wordless && media.caption.is_some() {
        return wrong("caption", "cannot stand below audio, voice notes and stickers");
    }
    if media.view_once || media.seconds.is_some() {
        return wrong("content", "must not have view_once or seconds: they only come in");
    }
    if let Some(name) = &media.file_name {
        length("file_name", name, 240)?;
        if name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\')) {
            return wrong("file_name", "must be a name without a folder");
        }
    }
    match media.mime_type.as_deref() {
        Some(given) if !is_mime_type(given) => wrong("mime_type", "must be a MIME type, such as image/png"),
        _ => Ok(()),
    }
}

/// Whether `text` is a type and a subtype, each a token, and perhaps parameters whose values are tokens, as in
/// `audio/ogg; codecs=opus`. It becomes part of headers and bodies of others.
fn is_mime_type(text: &str) -> bool {
    let token = |text: &str| {
        let fine = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
        !text.is_empty() && text.bytes().all(fine)
    };
    let pair = |text: &str, between: char| {
        text.split_once(between)
            .is_some_and(|(left, right)| token(left) && token(right))
    };
    let mut parts = text.split(';');
    text.len() <= 100
        && parts.next().is_some_and(|kind| pair(kind, '/'))
        && parts.all(|parameter| pair(parameter.trim_matches(' '), '='))
}

fn location(place: &Location) -> Checked {
    let degrees = |text: &str, most: f64| text.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most);
    if !degrees(&place.latitude, 90.0) {
        return wrong("latitude", "must be degrees from -90 to 90, as text");
    }
    if !degrees(&place.longitude, 180.0) {
        return wrong("longitude", "must be degrees from -180 to 180, as text");
    }
    if place.live || place.url.is_some() {
        return wrong("content", "must not have live or url: they only come in");
    }
    length_if("name", place.name.as_deref(), 1000)?;
    length_if("address", place.address.as_deref(), 1000)
}

fn card(card: &ContactCard) -> Checked {
    length("name", &card.name, 200)?;
    count("phones", card.phones.len(), 1, 10)?;
    count("emails", card.emails.len(), 0, 10)?;
    for phone in &card.phones {
        let digits = phone.bytes().filter(u8::is_ascii_digit).count();
        let written = |c: char| c.is_ascii_digit() || "+-(). \u{a0}".contains(c);
        if !(3..=15).contains(&digits) || !phone.chars().all(written) {
            return wrong("phones", "must be phone numbers");
        }
    }
    card.emails
        .iter()
        .try_for_each(|email| length("emails", email, 320))?;
    length_if("organization", card.organization.as_deref(), 200)
}

fn reaction(emoji: Option<&str>, target: Option<&str>) -> Checked {
    match target {
        Some(id) => provider_id("target", id)?,
        None => return wrong("target", "must be the message that is reacted to"),
    }
    // Joined ones are a dozen characters. A keycap begins with a digit, so only letters and spaces tell of words.
    let emoji = emoji.unwrap_or("👍");
    let word = |c: char| c.is_alphabetic() || c.is_whitespace() || c.is_control();
    if emoji.is_empty() || emoji.chars().count() > 16 || emoji.is_ascii() || emoji.chars().any(word) {
        return wrong("emoji", "must be one emoji, or absent to take a reaction back");
    }
    Ok(())
}

fn menu(header: Option<&str>, body: &str, footer: Option<&str>, content: &Content) -> Checked {
    length_if("header", header, TITLE_MAX)?;
    length("body", body, TEXT_MAX)?;
    length_if("footer", footer, TITLE_MAX)?;
    // What every provider can take: all of it as one text.
    if content.as_written().chars().count() > TEXT_MAX {
        return wrong(
            "content",
            format!("has more than {TEXT_MAX} characters when written out"),
        );
    }
    Ok(())
}

fn buttons(menu_: &Buttons) -> Checked {
    let all = &menu_.buttons;
    count("buttons", all.len(), 1, 3)?;
    let mut ids = Vec::new();
    for button in all {
        length("title", &button.title, TITLE_MAX)?;
        match &button.does {
            ButtonKind::Reply { id } => {
                length("id", id, CHOICE_ID_MAX)?;
                ids.push(id.as_str());
                continue;
            }
            ButtonKind::Url { url } if !is_web_address(url) => return wrong("url", "must be an https URL"),
            ButtonKind::Url { .. } => {}
            ButtonKind::Call { phone } => length("phone", phone, 20)?,
            ButtonKind::Copy { code } => length("code", code, 100)?,
        }
        if all.len() > 1 {
            return wrong("buttons", "must be up to three replies, or a single other one");
        }
    }
    distinct("ids of buttons", ids.into_iter())?;
    distinct(
        "titles of buttons",
        all.iter().map(|button| button.title.as_str()),
    )?;
    menu(
        menu_.header.as_deref(),
        &menu_.body,
        menu_.footer.as_deref(),
        &Content::Buttons(menu_.clone()),
    )
}

fn list(menu_: &ListMenu) -> Checked {
    length("button", &menu_.button, TITLE_MAX)?;
    count("sections", menu_.sections.len(), 1, ROWS_MAX)?;
    let untitled = |section: &Section| section.title.is_none();
    if menu_.sections.len() > 1 && menu_.sections.iter().any(untitled) {
        return wrong("sections", "must have a title each where there are several");
    }
    let rows: Vec<_> = menu_.sections.iter().flat_map(|section| &section.rows).collect();
    if menu_.sections.iter().any(|section| section.rows.is_empty()) {
        return wrong("rows", "must have at least 1 member in each section");
    }
    count("rows", rows.len(), 1, ROWS_MAX)?;
    for section in &menu_.sections {
        length_if("title", section.title.as_deref(), TITLE_MAX)?;
    }
    for row in &rows {
        length("id", &row.id, CHOICE_ID_MAX)?;
        length("title", &row.title, TITLE_MAX)?;
        length_if("description", row.description.as_deref(), TITLE_MAX)?;
    }
    distinct("ids of rows", rows.iter().map(|row| row.id.as_str()))?;
    menu(
        menu_.header.as_deref(),
        &menu_.body,
        menu_.footer.as_deref(),
        &Content::List(menu_.clone()),
    )
}

fn poll(question: &str, options: &[String], selectable: u32) -> Checked {
    length("question", question, 255)?;
    count("options", options.len(), 2, OPTIONS_MAX)?;
    options
        .iter()
        .try_for_each(|option| length("options", option, 100))?;
    distinct("options", options.iter().map(String::as_str))?;
    if usize::try_from(selectable).is_ok_and(|selectable| selectable <= options.len()) {
        return Ok(());
    }
    wrong(
        "selectable",
        "must be no more than there are options (0: any number)",
    )
}

fn template(wanted: &Template) -> Checked {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if wanted.name.is_empty() || wanted.name.len() > 512 || !wanted.name.bytes().all(plain) {
        return wrong("name", "must be a template's name: small letters, digits and _");
    }
    let code = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !(2..=16).contains(&wanted.language.len()) || !wanted.language.bytes().all(code) {
        return wrong("language", "must be a language code such as pt_BR");
    }
    for component in &wanted.components {
        let known = [
            "header",
            "body",
            "button",
            "footer",
            "carousel",
            "limited_time_offer",
            "order_status",
        ];
        let kind = component.get("type").and_then(serde_json::Value::as_str);
        let kind = kind.map(str::to_ascii_lowercase);
        if !kind.is_some_and(|kind| known.contains(&kind.as_str())) {
            return wrong(
                "components",
                "must be objects as Meta's, with a type such as body",
            );
        }
        let parameters = component.get("parameters");
        if parameters.is_some_and(|parameters| !parameters.is_array()) {
            return wrong("parameters", "must be a list");
        }
    }
    let bytes = serde_json::to_string(&wanted.components).map_or(usize::MAX, |json| json.len());
    if bytes > TEMPLATE_BYTES_MAX {
        return wrong(
            "components",
            format!("must not be larger than {TEMPLATE_BYTES_MAX} bytes"),
        );
    }
    Ok(())
}
