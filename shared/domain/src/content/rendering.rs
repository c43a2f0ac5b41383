//! Renders content as text. A model and an operator read the text, and it is sent if a provider has no such kind of
//! content.

use super::unsupported::render_unsupported;
use super::{
    ButtonKind, Buttons, ContactCard, Content, ListMenu, Location, Media, MessageTemplate, Order, SystemNote,
};
use crate::file_text::clean_file_name;

impl Content {
    /// Returns the content as text, as a model and an operator read it.
    pub fn render_text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Media(media) => media.render_text(),
            Self::Location(place) => place.render_text(),
            Self::Contacts { contacts } => {
                let cards: Vec<String> = contacts.iter().map(ContactCard::render_text).collect();
                label_text("contacts", &cards.join("; "))
            }
            Self::Choice {
                title, description, ..
            } => match description {
                Some(description) => format!("{title} ({description})"),
                None => title.clone(),
            },
            Self::Form { name, title, answers } => render_form(name.as_deref().or(title.as_deref()), answers),
            Self::Reaction {
                emoji: Some(emoji), ..
            } => label_text("reaction", emoji),
            Self::Reaction { emoji: None, .. } => "[reaction removed]".to_owned(),
            Self::Poll {
                question, options, ..
            } => label_text("poll", &format!("{question}: {}", options.join(" / "))),
            Self::PollVote { options, .. } if options.is_empty() => "[poll vote]".to_owned(),
            Self::PollVote { options, .. } => label_text("poll vote", &options.join(" / ")),
            Self::Order(order) => order.render_text(),
            Self::Edit { .. } if self.is_unreadable() => UNKNOWN_EDIT.to_owned(),
            Self::Edit { content, .. } => label_text("edited", &content.render_text()),
            Self::Deletion { .. } | Self::Removed => "[message deleted]".to_owned(),
            Self::Welcome => "[opened the chat]".to_owned(),
            Self::System { what, text } => {
                label_text(what.describe_note(), text.as_deref().unwrap_or_default())
            }
            Self::Buttons(buttons) => buttons.render_text(),
            Self::List(menu) => menu.render_text(),
            Self::Template(template) => template.render_text(),
            Self::Unsupported { kind, raw } => render_unsupported(kind, raw),
        }
    }
}

/// The text of an edit to words that only the phone shows.
pub(crate) const UNKNOWN_EDIT: &str = "[edited; the new text is not known]";

fn label_text(label: &str, text: &str) -> String {
    format!("[{label}] {text}").trim_end().to_owned()
}

fn render_form(name: Option<&str>, answers: &serde_json::Value) -> String {
    let written = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text = match answers {
        serde_json::Value::Object(fields) => {
            let lines: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}: {}", written(value)))
                .collect();
            lines.join(", ")
        }
        serde_json::Value::Null => String::new(),
        other => written(other),
    };
    let label = name.map_or_else(|| "form".to_owned(), |name| format!("form {name}"));
    label_text(&label, &text)
}

impl SystemNote {
    fn describe_note(self) -> &'static str {
        match self {
            Self::NumberChanged => "changed number",
            Self::UserIdChanged => "changed user id",
            Self::IdentityChanged => "new security code",
            Self::MarketingStopped => "wants no marketing messages",
            Self::MarketingResumed => "wants marketing messages again",
            Self::Called => "called",
            Self::DisappearingChanged => "disappearing messages changed",
            Self::Unreadable | Self::UnreadableLead => "could not be read here; the phone shows it",
            Self::Other => "system",
        }
    }
}

impl Media {
    fn render_text(&self) -> String {
        let name = self
            .file_name
            .as_deref()
            .map(|name| format!(" {}", clean_file_name(name)))
            .unwrap_or_default();
        let label = format!("{}{name}", self.media.as_str());
        label_text(&label, self.caption.as_deref().unwrap_or_default())
    }
}

impl Location {
    fn render_text(&self) -> String {
        let what: Vec<&str> = [&self.name, &self.address, &self.url]
            .into_iter()
            .filter_map(Option::as_deref)
            .collect();
        let label = format!("location {},{}", self.latitude, self.longitude);
        label_text(&label, &what.join(", "))
    }
}

impl ContactCard {
    fn render_text(&self) -> String {
        let known = [self.name.clone(), self.phones.join(", "), self.emails.join(", ")];
        let parts: Vec<String> = known
            .into_iter()
            .chain(self.organization.clone())
            .filter(|part| !part.is_empty())
            .collect();
        parts.join(", ")
    }
}

impl Order {
    fn render_text(&self) -> String {
        let lines: Vec<String> = self
            .items
            .iter()
            .map(|item| {
                let quantity = item
                    .quantity
                    .as_deref()
                    .map(|n| format!("{n} x "))
                    .unwrap_or_default();
                let price = item.price.as_deref().map(|price| {
                    let currency = item.currency.as_deref().unwrap_or_default();
                    format!(" at {price} {currency}").trim_end().to_owned()
                });
                format!("{quantity}{}{}", item.product, price.unwrap_or_default())
            })
            .collect();
        let text: Vec<String> = self
            .text
            .clone()
            .into_iter()
            .chain((!lines.is_empty()).then(|| lines.join("; ")))
            .collect();
        label_text(&format!("order of {}", self.count), &text.join(" | "))
    }
}

impl Buttons {
    fn render_text(&self) -> String {
        let buttons = self.buttons.iter().enumerate().map(|(at, button)| {
            let number = at + 1;
            match &button.does {
                ButtonKind::Reply { .. } => format!("{number}. {}", button.title),
                ButtonKind::Url { url } => format!("{}: {url}", button.title),
                ButtonKind::Call { phone } => format!("{}: {phone}", button.title),
                ButtonKind::Copy { code } => format!("{}: {code}", button.title),
            }
        });
        render_menu(
            self.header.as_deref(),
            &self.body,
            buttons,
            self.footer.as_deref(),
        )
    }
}

impl ListMenu {
    fn render_text(&self) -> String {
        let mut number = 0;
        let mut lines = Vec::new();
        for section in &self.sections {
            lines.extend(section.title.as_deref().map(|title| format!("*{title}*")));
            for row in &section.rows {
                number += 1;
                let description = row.description.as_deref().map(|text| format!(" - {text}"));
                lines.push(format!(
                    "{number}. {}{}",
                    row.title,
                    description.unwrap_or_default()
                ));
            }
        }
        render_menu(
            self.header.as_deref(),
            &self.body,
            lines.into_iter(),
            self.footer.as_deref(),
        )
    }
}

fn render_menu(
    header: Option<&str>,
    body: &str,
    lines: impl Iterator<Item = String>,
    footer: Option<&str>,
) -> String {
    let lines: Vec<String> = lines.collect();
    let parts = [
        header.map(|header| format!("*{header}*")),
        Some(body.to_owned()),
        (!lines.is_empty()).then(|| lines.join("\n")),
        footer.map(|footer| format!("_{footer}_")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join("\n\n")
}

impl MessageTemplate {
    fn render_text(&self) -> String {
        let values: Vec<&str> = self
            .components
            .iter()
            .filter_map(|component| component.get("parameters")?.as_array())
            .flatten()
            .filter_map(|parameter| parameter.get("text")?.as_str())
            .collect();
        label_text(&format!("template {}", self.name), &values.join(", "))
    }
}
