use super::Tap;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, InstanceState, ParkedConversation, TrafficProfile, UnansweredAttempt,
};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{InstanceStates, PortResult, Reservation, Store};
use std::sync::atomic::Ordering;

impl<S: Store> InstanceStates for Tap<S> {
    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let mut state = self
            .hand
            .call("instance_state", self.inner.read_instance_state(id))
            .await?;
        if self.hand.lacks(Mutation::NoLookAfterParking) && self.hand.parked.load(Ordering::Relaxed) {
            state.connection = ConnectionStatus::Closed;
        }
        Ok(state)
    }

    async fn reserve_slot(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        let effect = async {
            let reservation = self.inner.reserve_slot(id, rate, now).await?;
            if let Reservation::Slot { at, .. } = &reservation {
                let at_ms = self.hand.common.simulation.elapsed_ms();
                let slot = (id.clone(), at.as_millisecond());
                self.hand.common.witness().reserved.entry(slot).or_insert(at_ms);
            }
            Ok(reservation)
        };
        let reservation = self.hand.call("reserve", effect).await?;
        match reservation {
            Reservation::Slot { state, .. } if self.hand.lacks(Mutation::NoRate) => {
                Ok(Reservation::Slot { at: now, state })
            }
            reservation => Ok(reservation),
        }
    }

    async fn set_connection(&self, id: &InstanceId, seen: &ConnectionUpdate) -> PortResult<bool> {
        let effect = async {
            let changed = self.inner.set_connection(id, seen).await?;
            let at_ms = self.hand.common.simulation.elapsed_ms();
            let is_open = seen.connection == ConnectionStatus::Open;
            let connections = &mut self.hand.common.witness().connections;
            connections.push((id.clone(), at_ms, is_open));
            Ok(changed)
        };
        self.hand.call("set_connection", effect).await
    }

    async fn claim_connection_check(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> PortResult<bool> {
        let effect = self.inner.claim_connection_check(id, now, before);
        self.hand.call("claim_question", effect).await
    }

    async fn confirm_connection(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        self.hand
            .call("confirm", self.inner.confirm_connection(id, at))
            .await
    }

    async fn claim_catch_up(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        let effect = self.inner.claim_catch_up(id, now, before);
        self.hand.call("claim_catch_up", effect).await
    }

    async fn record_catch_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> PortResult<()> {
        self.hand
            .call("caught_up", self.inner.record_catch_up(id, seen, rest))
            .await
    }

    async fn set_traffic_profile(&self, id: &InstanceId, pattern: &TrafficProfile) -> PortResult<()> {
        self.hand
            .call("set_pattern", self.inner.set_traffic_profile(id, pattern))
            .await
    }

    async fn record_timeout(&self, id: &InstanceId, found: &UnansweredAttempt) -> PortResult<u32> {
        self.hand
            .call("note_timeout", self.inner.record_timeout(id, found))
            .await
    }

    async fn reset_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        self.hand
            .call("forget_timeouts", self.inner.reset_timeouts(id))
            .await
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        let effect = self.inner.set_llm_needs_credentials(id, missing);
        self.hand.call("set_llm_needs_credentials", effect).await
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        self.hand
            .common
            .note(|| format!("{} is to be parked: {parked:?}", parked.conversation));
        let done = self.hand.call("park", self.inner.put_parked(parked)).await;
        self.hand.parked.store(true, Ordering::Relaxed);
        done
    }

    async fn list_parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<ParkedConversation>> {
        self.hand.call("parked", self.inner.list_parked(id, limit)).await
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        let mut seen = parked.clone();
        if self.hand.lacks(Mutation::UnparkAnyVersion) {
            let now = self
                .inner
                .list_parked(&parked.instance, usize::from(u16::MAX))
                .await?;
            if let Some(entry) = now
                .into_iter()
                .find(|entry| entry.conversation == parked.conversation)
            {
                seen = entry;
            }
        }
        let conversation = &parked.conversation;
        self.hand
            .common
            .note(|| format!("{conversation} is to be unparked"));
        self.hand.call("unpark", self.inner.remove_parked(&seen)).await
    }
}
