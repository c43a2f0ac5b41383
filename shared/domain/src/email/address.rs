//! Addresses of e-mail. What is accepted here stands in headers and in commands of mail servers, so it holds nothing that could
//! begin another header, another address or another command.

use crate::text_conversions::text_conversions;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest local part, in bytes (RFC 5321, 4.5.3.1.1).
const LOCAL_MAX: usize = 64;

/// Longest address, in bytes (RFC 5321, 4.5.3.1.3, without the angle brackets).
const ADDRESS_MAX: usize = 254;

/// Longest name beside an address, in characters.
const NAME_MAX: usize = 100;

/// The reasons why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text does not have the form `name@host`.
    #[error("this is not an e-mail address of the form name@host")]
    Form,
    /// The part before the `@` has characters that not every mail server takes.
    #[error(
        "the part before the @ must have 1 to 64 ASCII letters, digits and !#$%&'*+-/=?^_`{{|}}~. with single dots inside"
    )]
    LocalPart,
    /// The part after the `@` is no name of a host.
    #[error("the part after the @ is no name of a mail domain")]
    Host,
    /// The name beside the address is too long or holds control characters.
    #[error("the name beside the address must have at most 100 characters on one line")]
    Name,
}

/// An address without a name: `ana@clinic.example`. The host is in its ASCII form and in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Parses an address. A host with letters beyond ASCII becomes its ASCII form (IDNA).
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (local, host) = text.trim().rsplit_once('@').ok_or(AddressError::Form)?;
        if !is_local_part(local) {
            return Err(AddressError::LocalPart);
        }
        let host = idna::domain_to_ascii_strict(host).map_err(|_| AddressError::Host)?;
        let address = format!("{local}@{host}");
        if !is_mail_host(&host) || address.len() > ADDRESS_MAX {
            return Err(AddressError::Host);
        }
        Ok(Self(address))
    }

    /// Returns the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host, in its ASCII form.
    pub fn host(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, host)| host)
    }

    /// Returns the form under which an address is compared: whole in lower case. Mail servers that tell letters of the local part
    /// apart by case are rare, and a person who opted out means both.
    pub fn comparable(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

fn is_local_part(local: &str) -> bool {
    let fine = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&b);
    let dots = local.starts_with('.') || local.ends_with('.') || local.contains("..");
    (1..=LOCAL_MAX).contains(&local.len()) && local.bytes().all(fine) && !dots
}

/// Returns `true` for a name of at least two labels whose last is no number. An address of a network is no mail domain.
fn is_mail_host(host: &str) -> bool {
    let Some((_, top)) = host.rsplit_once('.') else {
        return false;
    };
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(is_label) && !top.bytes().all(|b| b.is_ascii_digit())
}

text_conversions!(EmailAddress(String), AddressError);

/// An address with the name that people see beside it: `Clinic <hello@clinic.example>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mailbox {
    /// The name.
    pub name: Option<String>,
    /// The address.
    pub address: EmailAddress,
}

impl Mailbox {
    /// Parses `name@host` or `Name <name@host>`; the name may stand in quotation marks.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let Some(inner) = text.strip_suffix('>') else {
            return Ok(Self {
                name: None,
                address: EmailAddress::parse(text)?,
            });
        };
        let (name, address) = inner.rsplit_once('<').ok_or(AddressError::Form)?;
        let name = name.trim();
        let name = name
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(name);
        let is_fine = name.chars().count() <= NAME_MAX && !name.chars().any(is_unfit_for_header);
        if !is_fine {
            return Err(AddressError::Name);
        }
        Ok(Self {
            name: (!name.is_empty()).then(|| name.to_owned()),
            address: EmailAddress::parse(address)?,
        })
    }
}

/// Returns `true` for a character that may not stand in a header or in a name: it could end the line or the quoted text.
fn is_unfit_for_header(c: char) -> bool {
    c.is_control() || matches!(c, '"' | '\\' | '<' | '>' | '\u{2028}' | '\u{2029}')
}

impl From<EmailAddress> for Mailbox {
    fn from(address: EmailAddress) -> Self {
        Self { name: None, address }
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "\"{name}\" <{}>", self.address),
            None => write!(f, "{}", self.address),
        }
    }
}

text_conversions!(Mailbox, AddressError);
