//! Content in words: what a model and an operator read, and what it degrades to where a provider has no such thing.

use super::{
    ButtonKind, Buttons, ContactCard, Content, ListMenu, Location, Media, Order, SystemNote, Template,
};

impl Content {
    /// What a model and an operator read.
    pub fn as_text(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Media(media) => media.as_text(),
            Self::Location(place) => place.as_text(),
            Self::Contacts { contacts } => {
                let cards: Vec<String> = contacts.iter().map(ContactCard::as_text).collect();
                labelled("contacts", &cards.join("; "))
            }
            Self::Choice {
                title, description, ..
            } => match description {
                Some(description) => format!("{title} ({description})"),
                None => title.clone(),
            },
            Self::Form { name, title, answers } => form(name.as_deref().or(title.as_deref()), answers),
            Self::Reaction {
                emoji: Some(emoji), ..
            } => labelled("reaction", emoji),
            Self::Reaction { emoji: None, .. } => "[reaction removed]".to_owned(),
            Self::Poll {
                question, options, ..
            } => labelled("poll", &format!("{question}: {}", options.join(" / "))),
            Self::PollVote { options, .. } if options.is_empty() => "[poll vote]".to_owned(),
            Self::PollVote { options, .. } => labelled("poll vote", &options.join(" / ")),
            Self::Order(order) => order.as_text(),
            Self::Edit { content, .. } => labelled("edited", &content.as_text()),
            Self::Deletion { .. } => "[message deleted]".to_owned(),
            Self::Welcome => "[opened the chat]".to_owned(),
            Self::System { what, text } => labelled(what.words(), text.as_deref().unwrap_or_default()),
            Self::Buttons(buttons) => buttons.as_text(),
            Self::List(menu) => menu.as_text(),
            Self::Template(template) => template.as_text(),
            Self::Unsupported { kind, .. } => format!("[{kind}]"),
        }
    }
}

fn labelled(label: &str, text: &str) -> String {
    format!("[{label}] {text}").trim_end().to_owned()
}

fn form(name: Option<&str>, answers: &serde_json::Value) -> String {
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
    labelled(&label, &text)
}

impl SystemNote {
    fn words(self) -> &'static str {
        match self {
            Self::NumberChanged => "changed number",
            Self::UserIdChanged => "changed user id",
            Self::IdentityChanged => "new security code",
            Self::MarketingStopped => "wants no marketing messages",
            Self::MarketingResumed => "wants marketing messages again",
            Self::DisappearingChanged => "disappearing messages changed",
            Self::Other => "system",
        }
    }
}

impl Media {
    fn as_text(&self) -> String {
        let name = self
            .file_name
            .as_deref()
            .map(|name| format!(" {name}"))
            .unwrap_or_default();
        let label = format!("{}{name}", self.media.as_str());
        labelled(&label, self.caption.as_deref().unwrap_or_default())
    }
}

impl Location {
    fn as_text(&self) -> String {
        let what: Vec<&str> = [&self.name, &self.address, &self.url]
            .into_iter()
            .filter_map(Option::as_deref)
            .collect();
        let label = format!("location {},{}", self.latitude, self.longitude);
        labelled(&label, &what.join(", "))
    }
}

impl ContactCard {
    fn as_text(&self) -> String {
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
    fn as_text(&self) -> String {
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
        labelled(&format!("order of {}", self.count), &text.join(" | "))
    }
}

impl Buttons {
    fn as_text(&self) -> String {
        let buttons = self.buttons.iter().enumerate().map(|(at, button)| {
            let number = at + 1;
            match &button.does {
                ButtonKind::Reply { .. } => format!("{number}. {}", button.title),
                ButtonKind::Url { url } => format!("{}: {url}", button.title),
                ButtonKind::Call { phone } => format!("{}: {phone}", button.title),
                ButtonKind::Copy { code } => format!("{}: {code}", button.title),
            }
        });
        menu(
            self.header.as_deref(),
            &self.body,
            buttons,
            self.footer.as_deref(),
        )
    }
}

impl ListMenu {
    fn as_text(&self) -> String {
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
        menu(
            self.header.as_deref(),
            &self.body,
            lines.into_iter(),
            self.footer.as_deref(),
        )
    }
}

fn menu(
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

impl Template {
    fn as_text(&self) -> String {
        let values: Vec<&str> = self
            .components
            .iter()
            .filter_map(|component| component.get("parameters")?.as_array())
            .flatten()
            .filter_map(|parameter| parameter.get("text")?.as_str())
            .collect();
        labelled(&format!("template {}", self.name), &values.join(", "))
    }
}
