//! The provider's charge for a message, as the statuses of the message tell it.

use super::{Delivery, DeliveryStatus, Pricing, StatusUpdate};
use crate::country::Country;
use jiff::Timestamp;

/// The pricing model of charges by conversation, which ended in July 2025. They name the same charge in many messages.
const BY_CONVERSATION: &str = "CBP";

/// The pricing type of a message that is charged.
const CHARGED_TYPE: &str = "regular";

/// The category in a sum if the provider names none.
const NO_CATEGORY: &str = "other";

/// The charge for one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageCharge<'a> {
    /// The price category, in the provider's words.
    pub category: &'a str,
    /// Country of the recipient, where it is known.
    pub country: Option<Country>,
    /// Time at which the message reached its contact.
    pub at: Timestamp,
}

impl Pricing {
    /// Returns `true` if the provider charges the message by itself. The type decides where `billable` is left out.
    pub fn is_charged(&self) -> bool {
        let is_regular = || self.kind.as_deref() == Some(CHARGED_TYPE);
        self.billable.unwrap_or_else(is_regular) && self.model.as_deref() != Some(BY_CONVERSATION)
    }

    fn describe_charge(&self, at: Timestamp) -> MessageCharge<'_> {
        MessageCharge {
            category: self.category.as_deref().unwrap_or(NO_CATEGORY),
            country: self.country,
            at,
        }
    }
}

impl StatusUpdate {
    /// Returns the charge for a message that reached its contact. `sent` names a price, too, but a message is charged when it is
    /// delivered.
    pub fn find_charge(&self) -> Option<MessageCharge<'_>> {
        let has_reached = matches!(
            self.status,
            DeliveryStatus::Delivered | DeliveryStatus::Read | DeliveryStatus::Played
        );
        let pricing = self.detail.as_ref()?.pricing.as_ref()?;
        (has_reached && pricing.is_charged()).then(|| pricing.describe_charge(self.at))
    }
}

impl Delivery {
    /// Returns the charge for the message. `None`: no charge is part of the sums.
    pub fn find_charge(&self) -> Option<MessageCharge<'_>> {
        let times = &self.times;
        let reached = [times.at_delivered, times.at_read, times.at_played];
        let at = reached.into_iter().flatten().min().filter(|_| self.charged)?;
        let untold = MessageCharge {
            category: NO_CATEGORY,
            country: None,
            at,
        };
        let pricing = self.detail.pricing.as_ref();
        Some(pricing.map_or(untold, |pricing| pricing.describe_charge(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::{DeliveryKey, StatusDetail};
    use crate::ids::ExternalId;
    use crate::millis::from_unix_millis;
    use crate::provider::Provider;
    use serde_json::{Value, json};

    fn status(status: DeliveryStatus, pricing: &Value) -> StatusUpdate {
        let line = ExternalId::parse("line").unwrap();
        StatusUpdate {
            key: DeliveryKey::from_provider_id(Provider::Meta, &line, "wamid.A"),
            status,
            at: from_unix_millis(86_400_000),
            provider_message_id: None,
            detail: Some(Box::new(StatusDetail {
                pricing: serde_json::from_value(pricing.clone()).unwrap(),
                ..StatusDetail::default()
            })),
        }
    }

    #[test]
    fn a_message_is_charged_when_it_arrives_and_unless_it_is_free() {
        let regular = json!({"billable": true, "model": "PMP", "type": "regular", "category": "utility", "country": "BR"});
        for reached in [
            DeliveryStatus::Delivered,
            DeliveryStatus::Read,
            DeliveryStatus::Played,
        ] {
            let update = status(reached, &regular);
            let charge = update.find_charge().unwrap();
            assert_eq!(
                (charge.category, charge.country),
                ("utility", Country::parse("BR"))
            );
        }
        for open in [DeliveryStatus::Sent, DeliveryStatus::Failed] {
            assert_eq!(status(open, &regular).find_charge(), None);
        }
        let told = |pricing: Value| {
            let update = status(DeliveryStatus::Delivered, &pricing);
            update.find_charge().map(|charge| charge.category.to_owned())
        };
        let without_flag = json!({"model": "PMP", "type": "regular", "category": "marketing"});
        assert_eq!(told(without_flag).as_deref(), Some("marketing"));
        assert_eq!(told(json!({"billable": true})).as_deref(), Some("other"));
        for free in [
            json!({"billable": false, "type": "regular", "category": "service"}),
            json!({"type": "free_customer_service", "category": "service"}),
            json!({"type": "free_entry_point", "category": "marketing"}),
            json!({"billable": true, "model": "CBP", "category": "utility"}),
            json!({"category": "utility"}),
            Value::Null,
        ] {
            assert_eq!(told(free.clone()), None, "{free}");
        }
    }
}
