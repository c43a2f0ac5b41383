use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ChangedInstance, InstanceChange, InstanceState, ParkedConversation};
use recado_domain::rate::Rate;
use std::collections::HashMap;

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
    /// The next slot is too far ahead for a message that lets others go before it. It asks again at this time.
    Place(Timestamp),
    /// The instance is not open: park the conversation.
    NotOpen,
}

/// A store of the instances' run-time states, and of the conversations whose messages wait for their instance.
#[async_trait]
pub trait InstanceStates: Send + Sync {
    /// Returns an instance's state by a strong read; the default state if none is stored yet.
    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState>;

    /// Returns the stored states of these instances, for monitors and checks of many instances: in few requests, and maybe
    /// some seconds old. An instance without a stored state is left out.
    async fn read_instance_states(
        &self,
        ids: &[InstanceId],
    ) -> PortResult<HashMap<InstanceId, InstanceState>>;

    /// Reserves a slot by [`Rate::reserve_slot`] in one conditional update, if the instance is open. The first
    /// reservation sets `asked_at`, so that the age of the state can be counted from there.
    async fn reserve_slot(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation>;

    /// Reserves a slot, or takes a place, by [`InstanceState::reserve_yielding`] in one conditional update, if the instance is
    /// open.
    async fn reserve_yielding_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        holds_place: bool,
        now: Timestamp,
    ) -> PortResult<Reservation>;

    /// Changes the stored state by [`InstanceState::apply_change`]. Nothing is written if the state stays the same.
    /// `seen` is the state as the caller read it, or the default state: a store may need no read if nobody changed the
    /// state since.
    async fn change_instance_state(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        change: &InstanceChange,
    ) -> PortResult<ChangedInstance>;

    /// Parks a conversation: writes its entry with a new version and keeps the `since` of the first parking.
    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()>;

    /// Lists an instance's parked conversations, the longest parked first, at most `limit`.
    async fn list_parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<ParkedConversation>>;

    /// Removes a parked conversation's entry if its version is still that of `parked`. `false`: it was parked again
    /// meanwhile.
    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool>;
}
