use super::PortResult;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Connection, InstanceState, Parked};
use recado_domain::rate::Rate;
use std::future::Future;

/// What reserving a slot found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// The message may leave then.
    Slot(Timestamp),
    /// The instance is not open: park.
    NotOpen,
}

/// Run-time state of instances, and what waits for them.
pub trait Instances: Send + Sync {
    /// The state, read strongly; the default for one that has none yet.
    fn instance_state(&self, id: &InstanceId) -> impl Future<Output = PortResult<InstanceState>> + Send;

    /// Reserves a slot by [`Rate::reserve`] in one conditional update, on condition that the instance is open.
    fn reserve(
        &self,
        id: &InstanceId,
        rate: Rate,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<Reservation>> + Send;

    /// Sets the connection. `probe_at`: when to ask again. Returns whether it was another one before. A change sets
    /// `since`, and `probes` and `timeouts` to 0; the same again counts a probe.
    fn set_connection(
        &self,
        id: &InstanceId,
        connection: Connection,
        now: Timestamp,
        probe_at: Option<Timestamp>,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Counts a time-out (`true`) or forgets them (`false`); returns how many in a row.
    fn note_timeout(&self, id: &InstanceId, timed_out: bool) -> impl Future<Output = PortResult<u32>> + Send;

    /// Notes whether the model's key is missing or was refused. Returns whether that changed.
    fn set_llm_needs_credentials(
        &self,
        id: &InstanceId,
        missing: bool,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Parks a conversation: a new version, the first `since` kept.
    fn park(&self, parked: &Parked) -> impl Future<Output = PortResult<()>> + Send;

    /// An instance's parked conversations, the longest parked first, at most `limit`.
    fn parked(&self, id: &InstanceId, limit: usize) -> impl Future<Output = PortResult<Vec<Parked>>> + Send;

    /// Removes a parked entry if its version is still the one seen. `false` if it was parked again meanwhile.
    fn unpark(&self, parked: &Parked) -> impl Future<Output = PortResult<bool>> + Send;
}
