//! Through whom a number is connected, and what the rules ask of whoever that is.
//!
//! Providers are named, not listed: who there is, the edge says (`recado-whatsapp`), and adding one changes nothing here.

use crate::ids::IdError;
use crate::outgoing::TEXT_MAX;
use crate::rate::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest name, in bytes.
const LENGTH_MAX: usize = 16;

const KIND: &str = "provider";

/// A provider's name, as in routes, records and secrets: `evolution`, `360dialog`. 1 to 16 small letters, digits and dashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Provider {
    /// Filled up with zeros, so that equal names are equal and stand in their order.
    bytes: [u8; LENGTH_MAX],
}

impl Provider {
    /// A name that is written in the code: `const EVOLUTION: Provider = Provider::named("evolution")` does not compile if it
    /// is no name. What comes from outside goes through [`Provider::parse`].
    ///
    /// # Panics
    ///
    /// If `name` is no name.
    pub const fn from_static(name: &'static str) -> Self {
        match Self::parse_bytes(name.as_bytes()) {
            Ok(provider) => provider,
            Err(_) => panic!("no name of a provider"),
        }
    }

    /// Checks `text`. That there is such a provider is not said by that.
    pub const fn parse(text: &str) -> Result<Self, IdError> {
        Self::parse_bytes(text.as_bytes())
    }

    const fn parse_bytes(text: &[u8]) -> Result<Self, IdError> {
        if text.is_empty() {
            return Err(IdError::Empty { kind: KIND });
        }
        if text.len() > LENGTH_MAX {
            return Err(IdError::TooLong {
                kind: KIND,
                max: LENGTH_MAX,
            });
        }
        let mut bytes = [0; LENGTH_MAX];
        let mut at = 0;
        while at < text.len() {
            if !matches!(text[at], b'a'..=b'z' | b'0'..=b'9' | b'-') {
                return Err(IdError::Malformed { kind: KIND });
            }
            bytes[at] = text[at];
            at += 1;
        }
        Ok(Self { bytes })
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let length = self.bytes.iter().position(|byte| *byte == 0);
        let name = &self.bytes[..length.unwrap_or(LENGTH_MAX)];
        // Letters, digits and dashes, as both constructors saw to.
        std::str::from_utf8(name).unwrap_or_default()
    }
}

impl TryFrom<String> for Provider {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(&text)
    }
}

impl From<Provider> for String {
    fn from(provider: Provider) -> Self {
        provider.as_str().to_owned()
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Provider({self})")
    }
}

/// What the rules ask of a provider. Its module says it, once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderCapabilities {
    /// How its webhooks write whom a message is from, and so how we write to whom one goes.
    pub address_format: AddressFormat,
    /// Whether Meta's 24 hours hold: outside of them nothing but templates is sent.
    pub has_service_window: bool,
    /// Whether statuses bring back the id that we gave a message; else they bring the provider's.
    pub echoes_our_id: bool,
    /// Whether it is a linked phone, whose connection can be lost without a word. Its state grows stale, and is asked for.
    pub is_linked_device: bool,
    /// Whether it can be asked for messages of which no webhook came.
    pub has_history: bool,
    /// The longest text that one message holds, in UTF-16 code units.
    pub text_max: usize,
    /// How fast an instance sends that has no rate of its own; the installation's setting, if none.
    pub rate: Option<Rate>,
    /// How fast one writes to one contact, if that is limited.
    pub pair_rate: Option<Rate>,
}

impl ProviderCapabilities {
    /// Of a linked phone.
    pub const LINKED_DEVICE: Self = Self {
        address_format: AddressFormat::Jids,
        has_service_window: false,
        echoes_our_id: false,
        is_linked_device: true,
        has_history: false,
        text_max: TEXT_MAX,
        rate: None,
        pair_rate: None,
    };

    /// Of a provider with Meta's Cloud API behind it.
    pub const CLOUD_API: Self = Self {
        address_format: AddressFormat::Numbers,
        has_service_window: true,
        echoes_our_id: true,
        is_linked_device: false,
        has_history: false,
        text_max: TEXT_MAX,
        rate: Some(Rate::META),
        pair_rate: Some(Rate::META_PAIR),
    };
}

/// How a provider writes people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressFormat {
    /// `5511999998888@s.whatsapp.net`, and `…@lid` where WhatsApp hides the number.
    Jids,
    /// `5511999998888`, and a business-scoped user id (`BR.134…`) where WhatsApp hides the number.
    Numbers,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_itself_in_records_and_in_order() {
        let (a, b) = (
            Provider::from_static("360dialog"),
            Provider::from_static("aws-social"),
        );
        assert_eq!(
            (a.as_str(), b.to_string()),
            ("360dialog", "aws-social".to_owned())
        );
        assert!(a < b && Provider::from_static("a") < Provider::from_static("a-b"));
        let written = serde_json::to_string(&a).unwrap();
        assert_eq!(written, "\"360dialog\"");
        assert_eq!(serde_json::from_str::<Provider>(&written).unwrap(), a);
        assert_eq!(
            Provider::from_static("sixteen-letters-").as_str(),
            "sixteen-letters-"
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "Evolution", "a b", "a/b", "sixteen-letters-x", "é", "a\0"] {
            assert!(Provider::parse(text).is_err(), "{text}");
            let written = serde_json::to_string(text).unwrap();
            assert!(serde_json::from_str::<Provider>(&written).is_err(), "{text}");
        }
    }
}
