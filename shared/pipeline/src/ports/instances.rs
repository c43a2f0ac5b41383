use super::PortResult;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ConnectionUpdate, InstanceState, ParkedConversation, TrafficProfile, UnansweredAttempt,
};
use recado_domain::rate::Rate;
use std::future::Future;

/// The result of reserving a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reservation {
    /// The message may leave in this slot.
    Slot {
        /// Time of the slot.
        at: Timestamp,
        /// State of the instance after the reservation.
        state: Box<InstanceState>,
    },
    /// The instance is not open: park the conversation.
    NotOpen,
}

/// A store of the instances' run-time states and of their parked conversations.
pub trait InstanceStates: Send + Sync {
    /// Returns an instance's state by a strong read; the default state if none is stored yet.
    fn read_instance_state(&self, id: &InstanceId) -> impl Future<Output = PortResult<InstanceState>> + Send;

    /// Reserves a slot by [`Rate::reserve_slot`] in one conditional update, if the instance is open. The first
    /// reservation sets `asked_at`, so that the age of the state can be counted from there.
    fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        now: Timestamp,
    ) -> impl Future<Output = PortResult<Reservation>> + Send;

    /// Stores an observation of the connection, by [`InstanceState::apply_connection_update`]. A changed status sets
    /// `since` and sets `probes` and `timeouts` to 0; the same status again counts a probe. Returns `true` if the status
    /// changed.
    fn set_connection(
        &self,
        id: &InstanceId,
        seen: &ConnectionUpdate,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Sets `asked_at` to `now` if the instance is open and was neither asked nor confirmed since `before`. `true`: the
    /// caller asks the provider, and no other worker does.
    fn claim_connection_check(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Sets `confirmed_at` to `at` if the instance is open.
    fn confirm_connection(
        &self,
        id: &InstanceId,
        at: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Claims an automatic catch-up: sets `caught_up_at` to `now` if none was claimed since `before`. `true`: the caller
    /// makes the catch-up, and no other worker does.
    fn claim_catch_up(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Stores the progress of a catch-up: sets `catch_up_from` to `rest` (`None`: everything was read). Written only if
    /// `catch_up_from` and `since` are still as in `seen`: an instance that closed meanwhile may have missed more.
    fn record_catch_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Stores the pattern in which the instance's contacts usually write.
    fn set_traffic_profile(
        &self,
        id: &InstanceId,
        pattern: &TrafficProfile,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Counts an attempt that got no answer, by [`InstanceState::count_timeout`]. Returns the number of such attempts in
    /// a row.
    fn record_timeout(
        &self,
        id: &InstanceId,
        found: &UnansweredAttempt,
    ) -> impl Future<Output = PortResult<u32>> + Send;

    /// Clears the attempts that got no answer: sets `timeouts` to 0 and removes `timed_out`.
    fn reset_timeouts(&self, id: &InstanceId) -> impl Future<Output = PortResult<()>> + Send;

    /// Stores whether the model's key is missing or was refused. Returns `true` if the stored value changed.
    fn set_llm_needs_credentials(
        &self,
        id: &InstanceId,
        missing: bool,
    ) -> impl Future<Output = PortResult<bool>> + Send;

    /// Parks a conversation: writes its entry with a new version and keeps the `since` of the first parking.
    fn put_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists an instance's parked conversations, the longest parked first, at most `limit`.
    fn list_parked(
        &self,
        id: &InstanceId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<ParkedConversation>>> + Send;

    /// Removes a parked conversation's entry if its version is still that of `parked`. `false`: it was parked again
    /// meanwhile.
    fn remove_parked(&self, parked: &ParkedConversation) -> impl Future<Output = PortResult<bool>> + Send;
}
