//! The key of a recipient: a hash that tells nothing of the address, and so may be kept when the person was erased.

use crate::contact::canonical_spelling;
use crate::email::EmailAddress;
use crate::hexadecimal::is_hexadecimal;
use crate::identity::IdentityKey;
use crate::ids::TenantId;
use crate::text_conversions::text_conversions;
use serde::{Deserialize, Serialize};

/// An address by which a person is written to, of any channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecipientAddress<'a> {
    /// A phone number or another address of WhatsApp, as contacts have it.
    WhatsApp(&'a str),
    /// An address of e-mail.
    Email(&'a EmailAddress),
}

/// The key of a recipient of one tenant: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RecipientKey(String);

/// The text is no key of a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key of a recipient has 32 hexadecimal digits")]
pub struct RecipientKeyError;

impl RecipientKey {
    /// Length of the key's bytes.
    pub(super) const BYTES: usize = 16;

    /// Parses a key.
    pub fn parse(text: &str) -> Result<Self, RecipientKeyError> {
        let is_key = is_hexadecimal(text, 2 * Self::BYTES);
        is_key.then(|| Self(text.to_owned())).ok_or(RecipientKeyError)
    }

    /// Returns the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_conversions!(RecipientKey(String), RecipientKeyError);

impl IdentityKey {
    /// Derives the key of a recipient of a tenant. A number with two spellings has the same key in both, and so has an address of
    /// e-mail in capitals.
    pub fn derive_recipient_key(&self, tenant: &TenantId, address: RecipientAddress<'_>) -> RecipientKey {
        let (channel, address) = match address {
            RecipientAddress::WhatsApp(address) => {
                // Providers write a number with this ending or without.
                let number = address
                    .trim()
                    .trim_end_matches("@s.whatsapp.net")
                    .trim_start_matches('+');
                ("whatsapp", canonical_spelling(number).into_owned())
            }
            RecipientAddress::Email(address) => ("email", address.comparable()),
        };
        RecipientKey(self.compute_digest(&["recipient", tenant.as_str(), channel, &address]))
    }
}
