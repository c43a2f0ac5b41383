//! The details of a status: the message's price, and the reasons why it failed.

use crate::country::Country;
use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The details that a provider gives with a status. They hold no personal data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusDetail {
    /// The price of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// The conversation that the message was charged with, if the provider charges by conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ChargedConversation>,
    /// The reasons why the message failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
}

/// The price category of a message, in the provider's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pricing {
    /// `true` if the message is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billable: Option<bool>,
    /// Pricing model: `PMP` (by message) or `CBP` (by conversation, before 2025-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Pricing type: `regular`, `free_customer_service`, `free_entry_point` …
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Pricing category: `marketing`, `utility`, `authentication`, `service` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// Country of the recipient, by its two characters. Recado reads it from the recipient of the status.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "BR"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<Country>,
}

/// A conversation as Meta charges it. It is not a conversation of Recado's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargedConversation {
    /// Meta's id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The reason why the conversation was opened: `service`, `marketing`, `referral_conversion` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Time at which the conversation ends.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// An error of a failed message, without personal data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct StatusError {
    /// The provider's error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// The meaning of the code.
    pub title: String,
    /// Further details from the provider, with personal data masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl StatusDetail {
    /// Returns `true` if there are no details.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Replaces details with those that a later status gives. Details that the later status leaves out stay as they
    /// were, because Meta prices `sent` and one of `delivered` and `read`, not all of them.
    pub fn merge_later_detail(&mut self, later: &Self) {
        if let Some(later) = &later.pricing {
            let known = self.pricing.as_ref().and_then(|pricing| pricing.country);
            self.pricing = Some(Pricing {
                country: later.country.or(known),
                ..later.clone()
            });
        }
        if later.conversation.is_some() {
            self.conversation.clone_from(&later.conversation);
        }
        if !later.errors.is_empty() {
            self.errors.clone_from(&later.errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_status_leaves_out_stays() {
        let priced = StatusDetail {
            pricing: Some(Pricing {
                category: Some("utility".to_owned()),
                country: Country::parse("BR"),
                ..Pricing::default()
            }),
            ..StatusDetail::default()
        };
        let failed = StatusDetail {
            errors: vec![StatusError {
                code: Some(131_026),
                title: "undeliverable".to_owned(),
                details: None,
            }],
            ..StatusDetail::default()
        };
        let mut known = priced.clone();
        known.merge_later_detail(&StatusDetail::default());
        assert_eq!(known, priced);
        known.merge_later_detail(&failed);
        known.merge_later_detail(&StatusDetail {
            pricing: Some(Pricing {
                country: None,
                ..priced.pricing.clone().unwrap()
            }),
            ..StatusDetail::default()
        });
        assert_eq!((known.pricing, known.errors), (priced.pricing, failed.errors));
    }
}
