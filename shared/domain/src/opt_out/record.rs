//! The record of an opt-out.

use super::RecipientKey;
use crate::ids::TenantId;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The preference of one recipient of a tenant, as it was told last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptOut {
    /// Tenant.
    pub tenant: TenantId,
    /// Recipient.
    pub recipient: RecipientKey,
    /// Address for people to read. `None`: the person was erased, and only the key is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `true` if the recipient wants no messages; `false` if it wants them again.
    pub is_stopped: bool,
    /// Time at which the recipient said so.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// How it was told.
    pub source: OptOutSource,
}

/// How a preference was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptOutSource {
    /// By a message to an instance.
    Message,
    /// By WhatsApp's own switch for marketing messages.
    WhatsAppSetting,
    /// By the link of an e-mail.
    Link,
    /// By a person of the tenant, with this token.
    Person(String),
}

/// What a preference changes in the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptOutChange {
    /// This record takes the place of the earlier one.
    Store(OptOut),
    /// Nothing: a later preference is known, or there was nothing to resume.
    Nothing,
}

impl OptOut {
    /// Returns what this preference changes, where `known` is the record so far. The later preference counts; of two of the same time, the stop.
    /// An address that is known stays known.
    pub fn resolve_with_known(mut self, known: Option<&Self>) -> OptOutChange {
        let Some(known) = known else {
            return if self.is_stopped {
                OptOutChange::Store(self)
            } else {
                OptOutChange::Nothing
            };
        };
        let is_later = self.at > known.at || (self.at == known.at && self.is_stopped && !known.is_stopped);
        if !is_later {
            return OptOutChange::Nothing;
        }
        self.address = self.address.or_else(|| known.address.clone());
        OptOutChange::Store(self)
    }

    /// Returns the record without the address. The key stays, so that the preference outlives the erasure.
    #[must_use]
    pub fn without_address(self) -> Self {
        Self {
            address: None,
            ..self
        }
    }
}
