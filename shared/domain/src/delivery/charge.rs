//! The provider's charge for a message, as the statuses of the message tell it.

use super::{Delivery, DeliveryStatus, Pricing, StatusUpdate};
use jiff::Timestamp;

/// The pricing model of charges by conversation, which ended in July 2025. They name the same charge in many messages.
const BY_CONVERSATION: &str = "CBP";

/// The pricing type of a message that is charged.
const CHARGED_TYPE: &str = "regular";

/// The category in a sum if the provider names none.
const NO_CATEGORY: &str = "other";

impl Pricing {
    /// Returns `true` if the provider charges the message by itself. The type decides where `billable` is left out.
    pub fn is_charged(&self) -> bool {
        let is_regular = || self.kind.as_deref() == Some(CHARGED_TYPE);
        self.billable.unwrap_or_else(is_regular) && self.model.as_deref() != Some(BY_CONVERSATION)
    }

    fn name_category(&self) -> &str {
        self.category.as_deref().unwrap_or(NO_CATEGORY)
    }
}

impl StatusUpdate {
    /// Returns the price category of a message that reached its contact and is charged. `sent` names a price, too, but a message
    /// is charged when it is delivered.
    pub fn charged_category(&self) -> Option<&str> {
        let has_reached = matches!(
            self.status,
            DeliveryStatus::Delivered | DeliveryStatus::Read | DeliveryStatus::Played
        );
        let pricing = self.detail.as_ref()?.pricing.as_ref()?;
        (has_reached && pricing.is_charged()).then(|| pricing.name_category())
    }
}

impl Delivery {
    /// Returns the price category of a charged message and the time at which it reached its contact. `None`: no charge is part of the
    /// sums.
    pub fn find_charge(&self) -> Option<(&str, Timestamp)> {
        let times = &self.times;
        let reached = [times.at_delivered, times.at_read, times.at_played];
        let at = reached.into_iter().flatten().min().filter(|_| self.charged)?;
        let category = self
            .detail
            .pricing
            .as_ref()
            .map_or(NO_CATEGORY, Pricing::name_category);
        Some((category, at))
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
        let regular = json!({"billable": true, "model": "PMP", "type": "regular", "category": "utility"});
        for reached in [
            DeliveryStatus::Delivered,
            DeliveryStatus::Read,
            DeliveryStatus::Played,
        ] {
            assert_eq!(status(reached, &regular).charged_category(), Some("utility"));
        }
        for open in [DeliveryStatus::Sent, DeliveryStatus::Failed] {
            assert_eq!(status(open, &regular).charged_category(), None);
        }
        let told = |pricing: Value| {
            let update = status(DeliveryStatus::Delivered, &pricing);
            update.charged_category().map(str::to_owned)
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
