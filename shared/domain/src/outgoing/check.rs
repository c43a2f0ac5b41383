//! Checks of outgoing content, one for each kind.

use super::media_source::is_upload_source;
use super::{CAPTION_MAX, OutgoingError, TEXT_MAX, is_private_url, is_public_https_url};
use crate::content::{
    ButtonKind, Buttons, ContactCard, Content, ListMenu, ListSection, Location, Media, MediaKind,
    MessageTemplate,
};
use crate::options::SendOptions;
use std::collections::BTreeSet;

/// Largest length of a provider's message id, in bytes: a `wamid` can be longer than a hundred.
const ID_MAX: usize = 256;
/// Largest length of the id of a button or row, in characters: every provider accepts this length.
const CHOICE_ID_MAX: usize = 200;
/// Largest length of a header, a footer, or the title of a button, row or section, in characters. A longer text is no
/// menu.
const TITLE_MAX: usize = 200;
/// Largest number of rows of a list, over all sections.
const ROWS_MAX: usize = 100;
/// Largest number of contact cards in one message.
const CARDS_MAX: usize = 20;
/// Largest number of options of a poll.
const OPTIONS_MAX: usize = 12;
/// Largest size of a template's components, in bytes of JSON.
const TEMPLATE_BYTES_MAX: usize = 16 * 1024;
/// Largest number of people mentioned in one message.
const MENTIONS_MAX: usize = 100;

type ValidationResult = Result<(), OutgoingError>;

fn invalid_field(field: &'static str, why: impl Into<String>) -> ValidationResult {
    Err(OutgoingError::InvalidField {
        field,
        why: why.into(),
    })
}

fn check_length(field: &'static str, text: &str, max: usize) -> ValidationResult {
    if text.trim().is_empty() || text.chars().count() > max {
        return invalid_field(field, format!("must have 1 to {max} characters"));
    }
    Ok(())
}

fn check_optional_length(field: &'static str, text: Option<&str>, max: usize) -> ValidationResult {
    text.map_or(Ok(()), |text| check_length(field, text, max))
}

fn check_count(field: &'static str, number: usize, least: usize, most: usize) -> ValidationResult {
    if (least..=most).contains(&number) {
        return Ok(());
    }
    invalid_field(field, format!("must have {least} to {most} members"))
}

fn check_distinct<'a>(field: &'static str, values: impl Iterator<Item = &'a str>) -> ValidationResult {
    let mut seen = BTreeSet::new();
    for value in values {
        if !seen.insert(value) {
            return invalid_field(field, "must differ from one another");
        }
    }
    Ok(())
}

/// Checks a provider's id of a message: 1 to [`ID_MAX`] visible ASCII characters, without spaces.
fn check_provider_id(field: &'static str, id: &str) -> ValidationResult {
    let fine = !id.is_empty() && id.len() <= ID_MAX && id.bytes().all(|b| b.is_ascii_graphic());
    if fine {
        Ok(())
    } else {
        invalid_field(field, "must be the id of a message")
    }
}

impl Content {
    /// Checks that at least one provider can send the content, complete and unchanged.
    pub fn check_outgoing(&self) -> Result<(), OutgoingError> {
        match self {
            Self::Text { text } => check_length("text", text, TEXT_MAX),
            Self::Media(media) => check_media(media),
            Self::Location(place) => check_location(place),
            Self::Contacts { contacts } => {
                check_count("contacts", contacts.len(), 1, CARDS_MAX)?;
                contacts.iter().try_for_each(check_contact_card)
            }
            Self::Reaction { emoji, target } => check_reaction(emoji.as_deref(), target.as_deref()),
            Self::Buttons(menu) => check_buttons(menu),
            Self::List(menu) => check_list_menu(menu),
            Self::Poll {
                question,
                options,
                selectable,
            } => check_poll(question, options, *selectable),
            Self::Template(wanted) => check_template(wanted),
            _ => Err(OutgoingError::OnlyIncoming(self.kind_name().to_owned())),
        }
    }
}

impl SendOptions {
    /// Checks that the options are valid.
    pub fn check_options(&self) -> Result<(), OutgoingError> {
        if let Some(id) = &self.reply_to {
            check_provider_id("reply_to", id)?;
        }
        check_count("mentions", self.mentions.len(), 0, MENTIONS_MAX)?;
        let number =
            |digits: &String| (8..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        if self.mentions.iter().all(number) {
            Ok(())
        } else {
            invalid_field("mentions", "must be phone numbers of 8 to 15 digits, without +")
        }
    }
}

fn check_media(media: &Media) -> ValidationResult {
    match media.source.as_deref() {
        Some(source) if is_public_https_url(source) || is_private_url(source) || is_upload_source(source) => {
        }
        _ => return invalid_field("source", "must be an https URL or the source of an upload"),
    }
    check_optional_length("caption", media.caption.as_deref(), CAPTION_MAX)?;
    let wordless = matches!(
        media.media,
        MediaKind::Audio | MediaKind::Voice | MediaKind::Sticker
    );
    if wordless && media.caption.is_some() {
        return invalid_field("caption", "cannot stand below audio, voice notes and stickers");
    }
    if media.view_once || media.seconds.is_some() {
        return invalid_field("content", "must not have view_once or seconds: they only come in");
    }
    if let Some(name) = &media.file_name {
        check_length("file_name", name, 240)?;
        if name.chars().any(|c| c.is_control() || matches!(c, '/' | '\\')) {
            return invalid_field("file_name", "must be a name without a folder");
        }
    }
    match media.mime_type.as_deref() {
        Some(given) if !is_mime_type(given) => {
            invalid_field("mime_type", "must be a MIME type, such as image/png")
        }
        _ => Ok(()),
    }
}

/// Returns `true` if `text` is a MIME type of at most 100 bytes, such as `audio/ogg; codecs=opus`. Type, subtype and the
/// values of parameters must be tokens, because the text is copied into headers and bodies of requests.
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

fn check_location(place: &Location) -> ValidationResult {
    let degrees = |text: &str, most: f64| text.parse::<f64>().is_ok_and(|degrees| degrees.abs() <= most);
    if !degrees(&place.latitude, 90.0) {
        return invalid_field("latitude", "must be degrees from -90 to 90, as text");
    }
    if !degrees(&place.longitude, 180.0) {
        return invalid_field("longitude", "must be degrees from -180 to 180, as text");
    }
    if place.live || place.url.is_some() {
        return invalid_field("content", "must not have live or url: they only come in");
    }
    check_optional_length("name", place.name.as_deref(), 1000)?;
    check_optional_length("address", place.address.as_deref(), 1000)
}

fn check_contact_card(card: &ContactCard) -> ValidationResult {
    check_length("name", &card.name, 200)?;
    check_count("phones", card.phones.len(), 1, 10)?;
    check_count("emails", card.emails.len(), 0, 10)?;
    for phone in &card.phones {
        let digits = phone.bytes().filter(u8::is_ascii_digit).count();
        let written = |c: char| c.is_ascii_digit() || "+-(). \u{a0}".contains(c);
        if !(3..=15).contains(&digits) || !phone.chars().all(written) {
            return invalid_field("phones", "must be phone numbers");
        }
    }
    card.emails
        .iter()
        .try_for_each(|email| check_length("emails", email, 320))?;
    check_optional_length("organization", card.organization.as_deref(), 200)
}

fn check_reaction(emoji: Option<&str>, target: Option<&str>) -> ValidationResult {
    match target {
        Some(id) => check_provider_id("target", id)?,
        None => return invalid_field("target", "must be the message that is reacted to"),
    }
    // A joined emoji has about a dozen characters. A keycap emoji begins with a digit, so only letters and spaces reveal
    // a word.
    let emoji = emoji.unwrap_or("👍");
    let word = |c: char| c.is_alphabetic() || c.is_whitespace() || c.is_control();
    if emoji.is_empty() || emoji.chars().count() > 16 || emoji.is_ascii() || emoji.chars().any(word) {
        return invalid_field("emoji", "must be one emoji, or absent to take a reaction back");
    }
    Ok(())
}

fn check_menu_text(
    header: Option<&str>,
    body: &str,
    footer: Option<&str>,
    content: &Content,
) -> ValidationResult {
    check_optional_length("header", header, TITLE_MAX)?;
    check_length("body", body, TEXT_MAX)?;
    check_optional_length("footer", footer, TITLE_MAX)?;
    // Every provider can send the whole menu as one text, so the menu must fit into a text.
    if content.render_fallback_text().chars().count() > TEXT_MAX {
        return invalid_field(
            "content",
            format!("has more than {TEXT_MAX} characters when written out"),
        );
    }
    Ok(())
}

fn check_buttons(menu_: &Buttons) -> ValidationResult {
    let all = &menu_.buttons;
    check_count("buttons", all.len(), 1, 3)?;
    let mut ids = Vec::new();
    for button in all {
        check_length("title", &button.title, TITLE_MAX)?;
        match &button.does {
            ButtonKind::Reply { id } => {
                check_length("id", id, CHOICE_ID_MAX)?;
                ids.push(id.as_str());
                continue;
            }
            ButtonKind::Url { url } if !is_public_https_url(url) => {
                return invalid_field("url", "must be an https URL");
            }
            ButtonKind::Url { .. } => {}
            ButtonKind::Call { phone } => check_length("phone", phone, 20)?,
            ButtonKind::Copy { code } => check_length("code", code, 100)?,
        }
        if all.len() > 1 {
            return invalid_field("buttons", "must be up to three replies, or a single other one");
        }
    }
    check_distinct("ids of buttons", ids.into_iter())?;
    check_distinct(
        "titles of buttons",
        all.iter().map(|button| button.title.as_str()),
    )?;
    check_menu_text(
        menu_.header.as_deref(),
        &menu_.body,
        menu_.footer.as_deref(),
        &Content::Buttons(menu_.clone()),
    )
}

fn check_list_menu(menu_: &ListMenu) -> ValidationResult {
    check_length("button", &menu_.button, TITLE_MAX)?;
    check_count("sections", menu_.sections.len(), 1, ROWS_MAX)?;
    let untitled = |section: &ListSection| section.title.is_none();
    if menu_.sections.len() > 1 && menu_.sections.iter().any(untitled) {
        return invalid_field("sections", "must have a title each where there are several");
    }
    let rows: Vec<_> = menu_.sections.iter().flat_map(|section| &section.rows).collect();
    if menu_.sections.iter().any(|section| section.rows.is_empty()) {
        return invalid_field("rows", "must have at least 1 member in each section");
    }
    check_count("rows", rows.len(), 1, ROWS_MAX)?;
    for section in &menu_.sections {
        check_optional_length("title", section.title.as_deref(), TITLE_MAX)?;
    }
    for row in &rows {
        check_length("id", &row.id, CHOICE_ID_MAX)?;
        check_length("title", &row.title, TITLE_MAX)?;
        check_optional_length("description", row.description.as_deref(), TITLE_MAX)?;
    }
    check_distinct("ids of rows", rows.iter().map(|row| row.id.as_str()))?;
    check_menu_text(
        menu_.header.as_deref(),
        &menu_.body,
        menu_.footer.as_deref(),
        &Content::List(menu_.clone()),
    )
}

fn check_poll(question: &str, options: &[String], selectable: u32) -> ValidationResult {
    check_length("question", question, 255)?;
    check_count("options", options.len(), 2, OPTIONS_MAX)?;
    options
        .iter()
        .try_for_each(|option| check_length("options", option, 100))?;
    check_distinct("options", options.iter().map(String::as_str))?;
    if usize::try_from(selectable).is_ok_and(|selectable| selectable <= options.len()) {
        return Ok(());
    }
    invalid_field(
        "selectable",
        "must be no more than there are options (0: any number)",
    )
}

fn check_template(wanted: &MessageTemplate) -> ValidationResult {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if wanted.name.is_empty() || wanted.name.len() > 512 || !wanted.name.bytes().all(plain) {
        return invalid_field("name", "must be a template's name: small letters, digits and _");
    }
    let code = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !(2..=16).contains(&wanted.language.len()) || !wanted.language.bytes().all(code) {
        return invalid_field("language", "must be a language code such as pt_BR");
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
            return invalid_field(
                "components",
                "must be objects as Meta's, with a type such as body",
            );
        }
        let parameters = component.get("parameters");
        if parameters.is_some_and(|parameters| !parameters.is_array()) {
            return invalid_field("parameters", "must be a list");
        }
    }
    let bytes = serde_json::to_string(&wanted.components).map_or(usize::MAX, |json| json.len());
    if bytes > TEMPLATE_BYTES_MAX {
        return invalid_field(
            "components",
            format!("must not be larger than {TEMPLATE_BYTES_MAX} bytes"),
        );
    }
    Ok(())
}
