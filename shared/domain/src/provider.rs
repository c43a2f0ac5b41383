//! Providers and their capabilities, as far as the domain rules depend on them.
//!
//! This crate has no list of providers. The crate `recado-whatsapp` defines them, and adding a provider changes nothing
//! here.

use crate::ids::IdError;
use crate::outgoing::TEXT_MAX;
use crate::rate::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Largest length of a name, in bytes.
const LENGTH_MAX: usize = 16;

const KIND: &str = "provider";

/// A provider's name in routes, records and secrets, such as `evolution` or `360dialog`: 1 to 16 small letters, digits
/// and dashes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Provider {
    /// The name, filled up with zeros, so that comparing the bytes compares the names.
    bytes: [u8; LENGTH_MAX],
}

impl Provider {
    /// Creates a provider's name that is written in the code, as in
    /// `const EVOLUTION: Provider = Provider::from_static("evolution")`. There, an invalid name is a compile error. Names
    /// from outside are read with [`Provider::parse`].
    ///
    /// # Panics
    ///
    /// If `name` is not a valid name.
    pub const fn from_static(name: &'static str) -> Self {
        match Self::parse_bytes(name.as_bytes()) {
            Ok(provider) => provider,
            Err(_) => panic!("no name of a provider"),
        }
    }

    /// Checks that `text` has the form of a name. Success does not mean that such a provider exists.
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

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        let length = self.bytes.iter().position(|byte| *byte == 0);
        let name = &self.bytes[..length.unwrap_or(LENGTH_MAX)];
        // The bytes are letters, digits and dashes: both constructors check this.
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

/// The capabilities of a provider that the domain rules depend on. Each provider's module defines them once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProviderCapabilities {
    /// Format of contacts' addresses in the provider's webhooks and requests.
    pub address_format: AddressFormat,
    /// `true` if Meta's 24-hour service window applies: outside the window only templates are sent.
    pub has_service_window: bool,
    /// `true` if statuses carry the id that Recado gave the message; `false` if they carry the provider's id.
    pub echoes_our_id: bool,
    /// `true` if the provider is a linked phone, which can lose its connection without a report. The stored connection
    /// state then becomes outdated, and Recado asks for it.
    pub is_linked_device: bool,
    /// `true` if the provider can list past messages, so that messages whose webhooks were lost can be found.
    pub has_history: bool,
    /// Largest length of a text in one message, in UTF-16 code units.
    pub text_max: usize,
    /// Rate of an instance that configures no rate; `None`: the installation's setting.
    pub rate: Option<Rate>,
    /// Rate of messages from one instance to one contact; `None`: not limited.
    pub pair_rate: Option<Rate>,
}

impl ProviderCapabilities {
    /// Capabilities of a linked phone.
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

    /// Capabilities of a provider that uses Meta's Cloud API.
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

/// The format in which a provider writes people's addresses.
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
