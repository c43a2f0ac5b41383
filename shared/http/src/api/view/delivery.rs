//! The delivery of a message after the provider accepted it.

use recado_domain::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryStatus, Pricing, StatusError};
use serde::Serialize;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct DeliveryView {
    status: Option<DeliveryStatus>,
    at: Option<Timestamp>,
    sent_at: Option<Timestamp>,
    delivered_at: Option<Timestamp>,
    read_at: Option<Timestamp>,
    failed_at: Option<Timestamp>,
    /// The price of the message, in the provider's words.
    pricing: Option<Pricing>,
    conversation: Option<ChargedView>,
    errors: Vec<StatusError>,
}

/// The provider's conversation that the message was charged with.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct ChargedView {
    id: Option<String>,
    origin: Option<String>,
    expires_at: Option<Timestamp>,
}

impl DeliveryView {
    /// Returns `true` if the provider has reported no status yet.
    pub(super) fn has_no_status(&self) -> bool {
        self.status.is_none()
    }
}

impl From<&Delivery> for DeliveryView {
    fn from(delivery: &Delivery) -> Self {
        let (times, detail) = (&delivery.times, delivery.detail.clone());
        Self {
            status: delivery.status,
            at: delivery.at,
            sent_at: times.at_sent,
            delivered_at: times.at_delivered,
            read_at: times.at_read.or(times.at_played),
            failed_at: times.at_failed,
            pricing: detail.pricing,
            conversation: detail.conversation.map(|conversation| ChargedView {
                id: conversation.id,
                origin: conversation.origin,
                expires_at: conversation.expires,
            }),
            errors: detail.errors,
        }
    }
}
