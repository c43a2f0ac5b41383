use super::PortResult;
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use std::future::Future;

/// What became of accepted messages.
pub trait Deliveries: Send + Sync {
    /// One conditional upsert: the time of this status, by [`Delivery::record_status`]; the best of all is the record's. A repeated
    /// one is no error. The record expires at `expires`.
    fn record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// A delivery's record, read strongly; an expired one is absent.
    fn find_delivery(&self, key: &DeliveryKey) -> impl Future<Output = PortResult<Option<Delivery>>> + Send;

    /// Many records at once, in the order of `keys`, which may repeat one another.
    fn find_deliveries(
        &self,
        keys: &[DeliveryKey],
    ) -> impl Future<Output = PortResult<Vec<Option<Delivery>>>> + Send;
}
