//! What the ports note of a write, for the checks and the trace.

use super::FaultInjector;
use crate::executor::START_MS;
use recado_domain::effects::Journal;
use recado_domain::ids::EventId;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::usage::usage_of_reply;
use recado_pipeline::ports::{InboundWrite, PortResult, StoreInboundOutcome, WriteOutcome};

impl FaultInjector {
    /// Notes what became of an inbound message.
    pub fn note_stored(&self, write: &InboundWrite<'_>, stored: &StoreInboundOutcome) {
        let is_new = matches!(stored, StoreInboundOutcome::Stored);
        // Also what a store wrote before and did not answer.
        if is_new || matches!(stored, StoreInboundOutcome::AlreadyStored(_)) {
            let at = self.common.simulation.elapsed_ms();
            self.common.observations().store(write.event, at);
        }
        if is_new {
            let (id, content) = (write.message.message_id(), &write.message.content);
            self.common.note(|| format!("{id} is {content:?}"));
        }
    }

    /// Whoever handles an event has it from the queue.
    pub fn note_handled(&self, event: &EventId) {
        let at = self.common.simulation.elapsed_ms();
        self.common.observations().enqueue(event, at);
    }

    /// Notes that messages were committed.
    pub fn note_commit(&self, messages: &[Message]) {
        let at = self.common.simulation.elapsed_ms();
        for message in messages {
            self.common.observations().commit(message, at);
            let out = message.out.as_ref();
            let is_claimed = out.is_some_and(|out| matches!(out.state, OutboxState::Sending { .. }));
            if is_claimed {
                self.note_claim(message);
            }
        }
    }

    /// Notes messages that were found: their commit took effect, whether it was answered or not, and that of a first attempt, too.
    pub fn note_found(&self, messages: &[Message]) {
        let at = self.common.simulation.elapsed_ms();
        for message in messages {
            let mut observations = self.common.observations();
            observations.commit(message, at);
            let Some(out) = &message.out else { continue };
            if let OutboxState::Sending { claimed_at, .. } = out.state {
                let _number = observations.claim(message, claimed_at.as_millisecond() - START_MS);
            }
        }
    }

    /// Notes that the newest effect of a journal began.
    pub fn note_begun_effect(&self, journal: &Journal) {
        let at = self.common.simulation.elapsed_ms();
        if let Some(entry) = journal.find_entry(journal.last) {
            let mut observations = self.common.observations();
            observations.begun_effects.entry(entry.id.clone()).or_insert(at);
        }
    }

    /// A mutation keeps what this reply used out of the sums.
    pub fn note_uncounted(&self, parts: &[Message]) {
        self.common.observations().uncounted.extend(usage_of_reply(parts));
    }

    /// What `write` writes of `message` is how its attempt ended.
    pub async fn note_write(
        &self,
        write: impl Future<Output = PortResult<WriteOutcome>>,
        message: &Message,
    ) -> PortResult<WriteOutcome> {
        self.common.observations().begin_write(&message.message_id());
        let written = write.await?;
        self.common.observations().end_write(&message.message_id());
        let state = message.out.as_ref().map(|out| out.state.as_str());
        self.common
            .note(|| format!("{} written as {state:?}: {written:?}", message.message_id()));
        if written == WriteOutcome::Written {
            self.note_written(message);
            let now = self.common.simulation.now();
            if message.out.as_ref().is_some_and(|out| out.is_held_back(now)) {
                self.common.observations().held.insert(message.message_id());
            }
        }
        Ok(written)
    }
}
