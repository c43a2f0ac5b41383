use super::PortResult;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::instance::{ChangedInstance, InstanceChange, InstanceState, ParkedConversation};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use std::collections::HashMap;
use std::sync::Arc;

/// The names of an instance. A store finds its configuration by either.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum InstanceName {
    /// The id of the instance.
    Id(InstanceId),
    /// The name of the instance at its provider.
    External(Provider, ExternalId),
}

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

/// The turn in which a message takes its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotTurn {
    /// The message takes the next free slot.
    Next,
    /// The message lets others go before it. It has taken no place behind them yet.
    Yielding,
    /// The message lets others go before it, and it took a place behind them before.
    YieldingAgain,
}

/// A store of the instances: their configurations, their run-time states, and the conversations whose messages wait for them.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Returns the instance with its tenant, its agent and the functions that the agent may call. `None`: no such instance is configured.
    /// A store keeps configurations in memory, since every webhook and every step of a message asks for one: the answer may be as old as
    /// [`crate::settings::Settings::config_ttl`], but not older than what the same store wrote.
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>>;

    /// Returns an instance's state by a strong read; the default state if none is stored yet.
    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState>;

    /// Returns the stored states of these instances, for monitors and checks of many instances: in few requests, and maybe
    /// some seconds old. An instance without a stored state is left out.
    async fn read_instance_states(
        &self,
        ids: &[InstanceId],
    ) -> PortResult<HashMap<InstanceId, InstanceState>>;

    /// Reserves a slot in one conditional update, if the instance is open: by [`Rate::reserve_slot`] for the next place in the queue,
    /// by [`InstanceState::reserve_yielding`] behind others. The first reservation sets `asked_at`, so that the age of the state can be
    /// counted from there.
    async fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        turn: SlotTurn,
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
