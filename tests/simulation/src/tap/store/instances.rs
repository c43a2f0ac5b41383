use super::Tap;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Connection, InstanceState, NoAnswer, Parked, Pattern, Sighting};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{Instances, PortResult, Reservation, Store};
use std::sync::atomic::Ordering;

impl<S: Store> Instances for Tap<S> {
    async fn instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let mut state = self
            .hand
            .call("instance_state", self.inner.instance_state(id))
            .await?;
        if self.hand.lacks(Mutation::NoLookAfterParking) && self.hand.parked.load(Ordering::Relaxed) {
            state.connection = Connection::Closed;
        }
        Ok(state)
    }

    async fn reserve(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        let effect = async {
            let reservation = self.inner.reserve(id, rate, now).await?;
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

    async fn set_connection(&self, id: &InstanceId, seen: &Sighting) -> PortResult<bool> {
        let effect = async {
            let changed = self.inner.set_connection(id, seen).await?;
            let at_ms = self.hand.common.simulation.elapsed_ms();
            let is_open = seen.connection == Connection::Open;
            let connections = &mut self.hand.common.witness().connections;
            connections.push((id.clone(), at_ms, is_open));
            Ok(changed)
        };
        self.hand.call("set_connection", effect).await
    }

    async fn claim_question(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        let effect = self.inner.claim_question(id, now, before);
        self.hand.call("claim_question", effect).await
    }

    async fn confirm(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        self.hand.call("confirm", self.inner.confirm(id, at)).await
    }

    async fn claim_catch_up(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        let effect = self.inner.claim_catch_up(id, now, before);
        self.hand.call("claim_catch_up", effect).await
    }

    async fn caught_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> PortResult<()> {
        self.hand
            .call("caught_up", self.inner.caught_up(id, seen, rest))
            .await
    }

    async fn set_pattern(&self, id: &InstanceId, pattern: &Pattern) -> PortResult<()> {
        self.hand
            .call("set_pattern", self.inner.set_pattern(id, pattern))
            .await
    }

    async fn note_timeout(&self, id: &InstanceId, found: &NoAnswer) -> PortResult<u32> {
        self.hand
            .call("note_timeout", self.inner.note_timeout(id, found))
            .await
    }

    async fn forget_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        self.hand
            .call("forget_timeouts", self.inner.forget_timeouts(id))
            .await
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        let effect = self.inner.set_llm_needs_credentials(id, missing);
        self.hand.call("set_llm_needs_credentials", effect).await
    }

    async fn park(&self, parked: &Parked) -> PortResult<()> {
        self.hand
            .common
            .note(|| format!("{} is to be parked: {parked:?}", parked.conversation));
        let done = self.hand.call("park", self.inner.park(parked)).await;
        self.hand.parked.store(true, Ordering::Relaxed);
        done
    }

    async fn parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<Parked>> {
        self.hand.call("parked", self.inner.parked(id, limit)).await
    }

    async fn unpark(&self, parked: &Parked) -> PortResult<bool> {
        let mut seen = parked.clone();
        if self.hand.lacks(Mutation::UnparkAnyVersion) {
            let now = self.inner.parked(&parked.instance, usize::from(u16::MAX)).await?;
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
        self.hand.call("unpark", self.inner.unpark(&seen)).await
    }
}
