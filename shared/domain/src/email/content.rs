//! One e-mail as it is given to a sender.

use super::{EmailAddress, Mailbox};
use serde::{Deserialize, Serialize};

/// Longest subject, in characters.
pub const SUBJECT_MAX: usize = 250;

/// Largest text, and largest HTML, in bytes.
pub const BODY_BYTES_MAX: usize = 256 * 1024;

/// Longest id, in bytes. Resend takes up to 256 in its header.
const ID_MAX: usize = 128;

/// Longest unsubscribe link, in bytes.
const LINK_MAX: usize = 900;

/// An e-mail to one person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Email {
    /// The id by which a repeat is recognized: 1 to 128 letters, digits, `-` and `_`. Every attempt has the same.
    pub id: String,
    /// Recipient.
    pub to: EmailAddress,
    /// Sender.
    pub from: Mailbox,
    /// Address for answers, if it is not that of the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Mailbox>,
    /// Subject, one line.
    pub subject: String,
    /// The text. Every e-mail has one, for programs that show no HTML.
    pub text: String,
    /// The same as HTML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The link that ends such e-mails with one request (RFC 8058).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsubscribe_url: Option<String>,
}

/// The reasons why an e-mail is given to no sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EmailProblem {
    /// The id has other characters, or too many.
    #[error("the id must have 1 to 128 letters, digits, `-` and `_`")]
    Id,
    /// The subject is empty, too long or not one line.
    #[error("the subject must have 1 to 250 characters on one line")]
    Subject,
    /// The text is empty or too large.
    #[error("the text must have 1 byte to 256 KB")]
    Text,
    /// The HTML is empty or too large.
    #[error("the HTML must have 1 byte to 256 KB")]
    Html,
    /// The unsubscribe link cannot stand in a header.
    #[error("the unsubscribe link must be an http:// or https:// address of at most 900 ASCII characters")]
    UnsubscribeLink,
}

impl Email {
    /// Checks what the types do not: that nothing begins another header, and that providers take the sizes.
    pub fn check_content(&self) -> Result<(), EmailProblem> {
        let is_id_character = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        if !(1..=ID_MAX).contains(&self.id.len()) || !self.id.bytes().all(is_id_character) {
            return Err(EmailProblem::Id);
        }
        let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let has_subject = (1..=SUBJECT_MAX).contains(&self.subject.trim().chars().count());
        if !has_subject || self.subject.chars().any(is_break) {
            return Err(EmailProblem::Subject);
        }
        let fits = |text: &str| !text.trim().is_empty() && text.len() <= BODY_BYTES_MAX;
        if !fits(&self.text) {
            return Err(EmailProblem::Text);
        }
        if self.html.as_deref().is_some_and(|html| !fits(html)) {
            return Err(EmailProblem::Html);
        }
        let is_link = |url: &str| {
            let is_web = url.starts_with("https://") || url.starts_with("http://");
            is_web
                && url.len() <= LINK_MAX
                && url
                    .bytes()
                    .all(|b| b.is_ascii_graphic() && !matches!(b, b'<' | b'>' | b',' | b'"'))
        };
        match &self.unsubscribe_url {
            Some(url) if !is_link(url) => Err(EmailProblem::UnsubscribeLink),
            _ => Ok(()),
        }
    }

    /// Returns the headers that tell mail programs of the unsubscribe link: `List-Unsubscribe` and `List-Unsubscribe-Post`
    /// (RFC 8058).
    pub fn unsubscribe_headers(&self) -> Vec<(&'static str, String)> {
        let Some(url) = &self.unsubscribe_url else {
            return Vec::new();
        };
        vec![
            ("List-Unsubscribe", format!("<{url}>")),
            ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
        ]
    }
}
