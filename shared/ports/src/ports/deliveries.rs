use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::usage::UsageSum;

/// A store of delivery records, which hold the statuses of accepted messages. After a link ([`super::DeliveryLink`]), the key
/// of the provider's id and that of Recado's own name one record, in every method here.
#[async_trait]
pub trait Deliveries: Send + Sync {
    /// Stores the time of a delivery status in one conditional upsert, by [`Delivery::record_status`]. The record's
    /// status is the best of all statuses that were stored. A repeated status is no error. A new record expires at
    /// `expires`. The time of a known one does not change: a [`super::DeliveryLink`] sets it.
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()>;

    /// Does the same with a status that tells of the provider's charge, and adds `charge` to the sums of use: both at once, or neither.
    /// Of all statuses of a message one adds its charge, also when several come at once. A repeated status adds nothing, nor does one
    /// of an erased message.
    async fn record_charged_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: &UsageSum,
    ) -> PortResult<()>;

    /// Ends the wait for the acknowledgement of a delivery: its message was accepted again, under another id. Statuses of the delivery
    /// are stored as before.
    async fn stop_awaiting(&self, key: &DeliveryKey) -> PortResult<()>;

    /// Returns a delivery record by a strong read; `None` if it does not exist or is expired.
    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>>;

    /// Returns `true` if Recado sent the message of the key `key`: its delivery is linked to the message, or the message was
    /// erased after that. A strong read.
    async fn is_sent_message(&self, key: &DeliveryKey) -> PortResult<bool>;

    /// Returns many delivery records at once, in the order of `keys`. The same key may occur more than once.
    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>>;
}
