use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::event::{EventRecord, InboundJob};
use recado_domain::ids::EventId;
use recado_pipeline::ports::{
    EventChange, InboundWrite, Inbox, PortResult, RecordEventOutcome, Store, StoreInboundOutcome,
};

#[async_trait]
impl<S: Store> Inbox for FaultyPort<S> {
    async fn change_event(&self, id: &EventId, change: EventChange<'_>) -> PortResult<bool> {
        let (call, is_end) = match change {
            EventChange::SetAttempts { .. } => ("set_event_attempts", false),
            EventChange::Apply { .. } | EventChange::GiveUp { .. } => ("settle_event", true),
            EventChange::Finish(_) => ("finish_event", true),
            EventChange::Revive { .. } => ("revive_event", false),
            EventChange::Purge { .. } => ("purge_event", false),
        };
        if is_end {
            self.injector.note_handled(id);
        }
        self.around(call, self.inner.change_event(id, change)).await
    }

    async fn record_reenqueue(&self, id: &EventId, at: Timestamp) -> PortResult<Option<EventRecord>> {
        self.around("record_reenqueue", self.inner.record_reenqueue(id, at))
            .await
    }

    async fn record_event(&self, job: &InboundJob) -> PortResult<RecordEventOutcome> {
        let at = self.injector.common.simulation.elapsed_ms();
        self.injector.common.observations().receive(&job.event, at);
        let recorded = self.around("record_event", self.inner.record_event(job)).await?;
        if recorded == RecordEventOutcome::Pending && self.injector.lacks(Mutation::PendingIsNotEnqueuedAgain)
        {
            return Ok(RecordEventOutcome::Settled);
        }
        Ok(recorded)
    }

    async fn find_event(&self, id: &EventId) -> PortResult<Option<EventRecord>> {
        let found = self.around("find_event", self.inner.find_event(id)).await?;
        let forgotten = self.injector.lacks(Mutation::TurnNotSentAgain);
        Ok(found.map(|record| EventRecord {
            processed: record.processed.filter(|_| !forgotten),
            ..record
        }))
    }

    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<StoreInboundOutcome> {
        let mut conversation = write.conversation.clone();
        let stale_turn = self.injector.lacks(Mutation::LateMessagesAreOld) && self.is_late(&write).await?;
        if stale_turn || self.injector.lacks(Mutation::EveryMessageWantsAnAnswer) {
            let before = self.inner.find_conversation(&conversation.id).await?;
            if stale_turn {
                conversation.turn_upto = before.as_ref().map(|c| c.turn_upto).unwrap_or_default();
                conversation.waiting_since = before.and_then(|c| c.waiting_since);
            } else {
                conversation.turn_upto = conversation.last;
            }
        }
        let mut message = write.message.clone();
        if self.injector.lacks(Mutation::StaleReasonDropped) {
            message.unanswered = None;
        }
        if self.injector.lacks(Mutation::WebhookFilesForgotten)
            && let Some(file) = &mut message.file
        {
            file.from_webhook = false;
        }
        let changed = InboundWrite {
            conversation: &conversation,
            message: &message,
            ..write
        };
        let effect = async {
            if changed.finish.is_some() {
                self.injector.note_handled(changed.event);
            }
            let stored = self.inner.store_inbound(changed).await?;
            self.injector.note_stored(&changed, &stored);
            Ok(stored)
        };
        let stored = self.around("store_inbound", effect).await?;
        if matches!(stored, StoreInboundOutcome::AlreadyStored(_))
            && self.injector.lacks(Mutation::StoreTwice)
        {
            let _ = self
                .inner
                .commit_messages(write.conversation, std::slice::from_ref(write.message), &[])
                .await?;
            return Ok(StoreInboundOutcome::Stored);
        }
        Ok(stored)
    }
}

impl<S: Store> FaultyPort<S> {
    /// Whether a newer message of the contact, by its own clock, is stored already.
    async fn is_late(&self, write: &InboundWrite<'_>) -> PortResult<bool> {
        let history = self.inner.find_with_history(&write.conversation.id, 50).await?;
        let newer = |message: &recado_domain::message::Message| message.written_at > write.message.written_at;
        Ok(history.is_some_and(|(_, messages)| messages.iter().any(newer)))
    }
}
