//! What a status says besides: what the message costs, and why it failed.

use crate::millis;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What a provider says with a status. No personal data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusDetail {
    /// What the message costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing: Option<Pricing>,
    /// The conversation that it was charged with, where conversations are charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ChargedConversation>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<StatusError>,
}

/// What a message costs, in the provider's words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pricing {
    /// Whether it is charged; Meta is about to leave this out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billable: Option<bool>,
    /// `PMP` (by message) or `CBP` (by conversation, before 2025-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `regular`, `free_customer_service`, `free_entry_point` …
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `marketing`, `utility`, `authentication`, `service` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
}

/// A conversation as Meta charges it: not one of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChargedConversation {
    /// Meta's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What opened it: `service`, `marketing`, `referral_conversion` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// When it ends.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
}

/// Why a message failed, without personal data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusError {
    /// The provider's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i64>,
    /// What it means.
    pub title: String,
    /// What the provider adds, masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
}

impl StatusDetail {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes in what a later status says. What that leaves out stays as it was: Meta prices `sent` and one of
    /// `delivered` and `read`, not all of them.
    pub fn merge_later_detail(&mut self, later: &Self) {
        if later.pricing.is_some() {
            self.pricing.clone_from(&later.pricing);
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
        assert_eq!((known.pricing, known.errors), (priced.pricing, failed.errors));
    }
}
