//! Templates of e-mails: texts with `{{names}}` in place of which values are put.

use super::content::SUBJECT_MAX;
use std::collections::BTreeMap;

/// The template of an e-mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmailTemplate<'a> {
    /// Subject.
    pub subject: &'a str,
    /// Text.
    pub text: &'a str,
    /// HTML.
    pub html: Option<&'a str>,
}

/// An e-mail's content with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedEmail {
    /// Subject, one line.
    pub subject: String,
    /// Text.
    pub text: String,
    /// HTML, in which no value is markup.
    pub html: Option<String>,
}

/// The reasons why a template cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A name has no value.
    #[error("the template names `{0}`, which has no value")]
    MissingValue(String),
    /// A place is opened and not closed, or its name has other characters.
    #[error(
        "a place for a value is written {{{{name}}}} or {{{{name|words}}}}, its name with 1 to 64 letters, digits, `_`, `-` and `.`"
    )]
    Place,
}

impl EmailTemplate<'_> {
    /// Puts values into the template, or the words of a place for one that has none. In the HTML they are escaped, and in the subject each break of a line is a space.
    pub fn render(&self, values: &BTreeMap<String, String>) -> Result<RenderedEmail, TemplateError> {
        let html = self
            .html
            .map(|html| put_values_in_places(html, values, escape_for_html));
        Ok(RenderedEmail {
            subject: shorten_subject(&put_values_in_places(self.subject, values, replace_line_breaks)?),
            text: put_values_in_places(self.text, values, str::to_owned)?,
            html: html.transpose()?,
        })
    }
}

/// Puts values in the places of a text, each as `write` writes it. A value is never searched for places.
fn put_values_in_places(
    template: &str,
    values: &BTreeMap<String, String>,
    write: fn(&str) -> String,
) -> Result<String, TemplateError> {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").ok_or(TemplateError::Place)?;
        let (name, instead) = match name.split_once('|') {
            Some((name, instead)) => (name.trim(), Some(instead.trim())),
            None => (name.trim(), None),
        };
        if !is_name_of_value(name) {
            return Err(TemplateError::Place);
        }
        let value = values.get(name).map(String::as_str).or(instead);
        let value = value.ok_or_else(|| TemplateError::MissingValue(name.to_owned()))?;
        filled.push_str(before);
        filled.push_str(&write(value));
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_name_of_value(name: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    (1..=64).contains(&name.len()) && name.bytes().all(fine)
}

/// Escapes a text for HTML, in a text and in a quoted attribute.
fn escape_for_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn replace_line_breaks(text: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let joined: String = text.chars().map(|c| if is_break(c) { ' ' } else { c }).collect();
    joined.trim().to_owned()
}

fn shorten_subject(subject: &str) -> String {
    subject.chars().take(SUBJECT_MAX).collect()
}
