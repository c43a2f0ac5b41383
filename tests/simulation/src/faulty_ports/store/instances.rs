use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ChangedInstance, ConnectionStatus, DownloadBlock, InstanceChange, InstanceState, ParkedConversation,
};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{InstanceName, Instances, PortResult, Reservation, SlotTurn, Store};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[async_trait]
impl<S: Store> Instances for FaultyPort<S> {
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        let (is_by_external, call) = match name {
            InstanceName::External(..) => (true, "find_instance_config"),
            InstanceName::Id(_) => (false, "bound_by_id"),
        };
        let found = self.inner.read_instance_config(name);
        let mut bound = self.around(call, found).await?;
        if let Some(bound) = &mut bound {
            let bound = Arc::make_mut(bound);
            if is_by_external {
                self.change_config_of_external(bound);
            } else {
                self.change_config_of_id(bound);
            }
        }
        Ok(bound)
    }

    async fn read_instance_states(
        &self,
        ids: &[InstanceId],
    ) -> PortResult<HashMap<InstanceId, InstanceState>> {
        self.around("read_instance_states", self.inner.read_instance_states(ids))
            .await
    }

    async fn list_parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<ParkedConversation>> {
        self.around("list_parked", self.inner.list_parked(id, limit))
            .await
    }

    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let mut state = self
            .around("instance_state", self.inner.read_instance_state(id))
            .await?;
        if self.injector.lacks(Mutation::NoLookAfterParking) && self.injector.parked.load(Ordering::Relaxed) {
            state.connection = ConnectionStatus::Closed;
        }
        if self.injector.lacks(Mutation::DownloadBlockIgnored) {
            state.downloads = DownloadBlock::default();
        }
        Ok(state)
    }

    async fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        turn: SlotTurn,
        now: Timestamp,
    ) -> PortResult<Reservation> {
        if turn != SlotTurn::Next {
            let reserves = self.inner.reserve_slot(id, rate, turn, now);
            return self.around("reserve_yielding_slot", reserves).await;
        }
        let effect = async {
            let reservation = self.inner.reserve_slot(id, rate, turn, now).await?;
            if let Reservation::Slot { at, .. } = &reservation {
                let at_ms = self.injector.common.simulation.elapsed_ms();
                let slot = (id.clone(), at.as_millisecond());
                self.injector
                    .common
                    .observations()
                    .reserved
                    .entry(slot)
                    .or_insert(at_ms);
            }
            Ok(reservation)
        };
        let reservation = self.around("reserve", effect).await?;
        match reservation {
            Reservation::Slot { state, .. } if self.injector.lacks(Mutation::NoRate) => {
                Ok(Reservation::Slot { at: now, state })
            }
            reservation => Ok(reservation),
        }
    }

    async fn change_instance_state(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        change: &InstanceChange,
    ) -> PortResult<ChangedInstance> {
        let effect = async {
            let mut changed = self.inner.change_instance_state(id, seen, change).await?;
            if self.injector.lacks(Mutation::PeopleUncounted)
                && matches!(change, InstanceChange::ReservePeople { .. })
            {
                changed.done = true;
            }
            if let InstanceChange::Connection(update) = change {
                let at_ms = self.injector.common.simulation.elapsed_ms();
                let is_open = update.connection == ConnectionStatus::Open;
                let connections = &mut self.injector.common.observations().connections;
                connections.push((id.clone(), at_ms, is_open));
            }
            Ok(changed)
        };
        let mut changed = self.around("change_instance_state", effect).await?;
        if self.injector.lacks(Mutation::OpeningIsHerd)
            && let Some(queue) = &mut changed.state.opening
        {
            queue.last_at = queue.opens_at;
        }
        Ok(changed)
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        self.injector
            .common
            .note(|| format!("{} is to be parked: {parked:?}", parked.conversation));
        let done = self.around("park", self.inner.put_parked(parked)).await;
        self.injector.parked.store(true, Ordering::Relaxed);
        done
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        let mut seen = parked.clone();
        if self.injector.lacks(Mutation::UnparkAnyVersion) {
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
        self.injector
            .common
            .note(|| format!("{conversation} is to be unparked"));
        self.around("unpark", self.inner.remove_parked(&seen)).await
    }
}
