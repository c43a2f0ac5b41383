use super::PortResult;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ConnectionUpdate, InstanceState, ParkedConversation, TrafficProfile, UnansweredAttempt,
};
use recado_domain::rate::Rate;
use std::future::Future;

/// What reserving a slot found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reservation {
    /// The message may leave.
    Slot {
        /// When.
        at: Timestamp,
        /// The instance's state after it, which comes with the answer.
        state: Box<InstanceState>,
    },
    /// The instance is not open: park.
    NotOpen,
}

/// Run-time state of instances, and what waits for them.
pub trait InstanceStates: Send + Sync {
    /// The state, read strongly; the default for one that has none yet.
    fn read_instance_state(&self, id: &InstanceId) -> impl Future<Output = PortResult<InstanceState>> + Send;

    /// Reserves a slot by [`Rate::reserve_slot`] in one conditional update, on condition that the instance is open. The
    /// first one sets `asked_at`, so that there is something for the state to grow old from.
    fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<Reservation>> + Send;

    /// Takes in what was seen of the connection, by [`InstanceState::apply_connection_update`]: a change sets `since`, and `probes` and
    /// `timeouts` to 0; the same again counts a probe. Returns whether it was another one before.
    fn set_connection(
        &self,
        id: &InstanceId,
        seen: &ConnectionUpdate,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Sets `asked_at` to `now`, on condition that the instance is open and neither asked for nor confirmed since
    /// `before`. Whoever is told `true` asks the provider, and nobody else does.
    fn claim_connection_check(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Sets `confirmed_at`, on condition that the instance is open.
    fn confirm_connection(
        &self,
        id: &InstanceId,
        at: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Claims a catch-up by itself: sets `caught_up_at`, on condition that none was claimed since `before`. Whoever is
    /// told `true` does it, and nobody else.
    fn claim_catch_up(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Notes that what was missed was fetched: `catch_up_from` becomes `rest`, on condition that it and `since` are as
    /// `seen`: what closed meanwhile may have missed more.
    fn record_catch_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Keeps how its contacts usually write.
    fn set_traffic_profile(
        &self,
        id: &InstanceId,
        pattern: &TrafficProfile,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Counts an attempt that got no answer, by [`InstanceState::count_timeout`]; returns how many in a row.
    fn record_timeout(
        &self,
        id: &InstanceId,
        found: &UnansweredAttempt,
    ) -> impl Future<Output = PortResult<u32>> + Send;

    /// Forgets the attempts that got no answer: `timeouts` is 0, and `timed_out` nothing.
    fn reset_timeouts(&self, id: &InstanceId) -> impl Future<Output = PortResult<()>> + Send;

    /// Notes whether the model's key is missing or was refused. Returns whether that changed.
    fn set_llm_needs_credentials(
        &self,
        id: &InstanceId,
        missing: bool,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Parks a conversation: a new version, the first `since` kept.
    fn put_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<()>> + Send;

    /// An instance's parked conversations, the longest parked first, at most `limit`.
    fn list_parked(
        &self,
        id: &InstanceId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<ParkedConversation>>> + Send;

    /// Removes a parked entry if its version is still the one seen. `false` if it was parked again meanwhile.
    fn remove_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<bool>> + Send;
}
