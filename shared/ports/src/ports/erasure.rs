use super::PortResult;
use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventRecord;
use recado_domain::ids::InstanceId;
use recado_domain::instance::InFlightSend;
use std::collections::BTreeSet;
use std::future::Future;

/// A store whose records of a person can be found and erased. Each deletion of a record that does not exist succeeds.
pub trait ErasableRecords: Send + Sync {
    /// Lists the pending events of these FIFO groups, all of them. The index may be some seconds old.
    fn list_pending_events(
        &self,
        groups: &BTreeSet<String>,
    ) -> impl Future<Output = PortResult<Vec<EventRecord>>> + Send;

    /// Deletes delivery records and notes that they were erased. Until `expires` a status of them is ignored.
    fn erase_deliveries(
        &self,
        keys: &[DeliveryKey],
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Writes `erased` in the place of the note of the same attempt on this instance, if that note still exists.
    fn replace_in_flight(
        &self,
        instance: &InstanceId,
        erased: &InFlightSend,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Overwrites deleted records in the files of the store, so that nothing of them can be read there. A store without
    /// files of its own has nothing to do.
    fn overwrite_deleted(&self) -> impl Future<Output = PortResult<()>> + Send;
}
