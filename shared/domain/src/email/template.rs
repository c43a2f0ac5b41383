//! The content of an e-mail that a template gives, and how values are written into it.

use super::content::SUBJECT_MAX;

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

/// Escapes a text for HTML, in a text and in a quoted attribute.
pub(crate) fn escape_for_html(text: &str) -> String {
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

/// Writes a text on one line: each break of a line is a space.
pub(crate) fn replace_line_breaks(text: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let joined: String = text.chars().map(|c| if is_break(c) { ' ' } else { c }).collect();
    joined.trim().to_owned()
}

/// Cuts a subject that is too long.
pub(crate) fn shorten_subject(subject: &str) -> String {
    subject.chars().take(SUBJECT_MAX).collect()
}
