use super::FaultyPort;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::event::InboundJob;
use recado_domain::ids::TokenName;
use recado_domain::instance::InFlightSend;
use recado_domain::knowledge::{NearVector, VectorIndexName, VectorKey};
use recado_domain::message::Message;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use recado_pipeline::ports::{
    AppliedMessage, CommittedReply, DeadLetterQueues, DeadQueueMessage, DeliveryLink, FileBytes, FileError,
    Files, InboundEntry, OutboundEntry, PortResult, Queues, RecordEventOutcome, StoreInboundOutcome,
    VectorStore, WriteOutcome,
};
use recado_testkit::delegate_calls;
use serde_json::Value;
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

/// How long a queue knows an id, in milliseconds.
const KNOWN_MS: i64 = 300_000;

impl<Q: Queues> FaultyPort<Q> {
    /// Whether a send job of the same conversation and ordinal is known, for a mutation.
    fn was_enqueued(&self, job: &OutboundJob) -> bool {
        let OutboundJob::Send(job) = job else { return false };
        let now = self.injector.common.simulation.elapsed_ms();
        let id = format!("{}-{}", job.conversation, job.upto);
        let mut witness = self.injector.common.witness();
        if witness.send_jobs.get(&id).is_some_and(|at| now - at < KNOWN_MS) {
            return true;
        }
        witness.send_jobs.insert(id, now);
        false
    }

    /// `call`, a transaction of records and queues, with all queues changed by it. A safeguard that is taken out is one of
    /// separate steps, so then there is none.
    fn joint<T, F>(
        &self,
        call: Option<F>,
    ) -> Option<impl Future<Output = PortResult<T>> + Send + use<Q, T, F>>
    where
        F: Future<Output = PortResult<T>> + Send,
    {
        if self.injector.common.mutation.is_some() {
            return None;
        }
        let (call, common) = (call?, self.injector.common.clone());
        Some(async move {
            for queue in QueueName::ALL {
                common.make_dirty(queue);
            }
            call.await
        })
    }

    /// A call after which a queue may hold something new.
    async fn sends(
        &self,
        queue: QueueName,
        what: &'static str,
        effect: impl Future<Output = PortResult<()>> + Send,
    ) -> PortResult<()> {
        let marked = async {
            self.injector.common.make_dirty(queue);
            effect.await
        };
        self.around(what, marked).await
    }
}

impl<Q: Queues> Queues for FaultyPort<Q> {
    delegate_calls! {
        renew_payload(key: &str) -> bool;
        find_payload(key: &str) -> Option<Value>;
        delete_payload(key: &str) -> ();
        delete_inbound(groups: &BTreeSet<String>) -> ();
    }

    /// Notes which files of webhooks may not be stored: their provider gives them.
    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        let common = &self.injector.common;
        let is_first = common.witness().unkept_files.insert(key.to_owned());
        self.around("put_payload", self.inner.put_payload(key, payload))
            .await?;
        if is_first {
            common.witness().unkept_files.remove(key);
        }
        Ok(())
    }

    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        let effect = async {
            self.inner.enqueue_inbound(events).await?;
            let at = self.injector.common.simulation.elapsed_ms();
            for event in events {
                self.injector.common.witness().enqueue(&event.job.event, at);
            }
            Ok(())
        };
        self.sends(QueueName::Inbound, "send_inbound", effect).await
    }

    fn record_and_enqueue(
        &self,
        events: &[InboundJob],
    ) -> Option<impl Future<Output = PortResult<Vec<RecordEventOutcome>>> + Send> {
        // Only where two steps are needed can a pending event be one that was never enqueued.
        if self.injector.lacks(Mutation::PendingIsNotEnqueuedAgain) {
            return None;
        }
        let both = self.inner.record_and_enqueue(events)?;
        let at = self.injector.common.simulation.elapsed_ms();
        for job in events {
            self.injector.common.witness().receive(&job.event, at);
        }
        Some(async move {
            let effect = async {
                self.injector.common.make_dirty(QueueName::Inbound);
                let recorded = both.await?;
                let at = self.injector.common.simulation.elapsed_ms();
                for (job, found) in events.iter().zip(&recorded) {
                    if *found != RecordEventOutcome::Settled {
                        self.injector.common.witness().enqueue(&job.event, at);
                    }
                }
                Ok(recorded)
            };
            self.around("record_and_enqueue", effect).await
        })
    }

    fn store_and_finish(
        &self,
        applied: &AppliedMessage<'_>,
    ) -> Option<impl Future<Output = PortResult<StoreInboundOutcome>> + Send> {
        let all = self.joint(self.inner.store_and_finish(applied))?;
        Some(async move {
            let effect = async {
                self.injector.note_handled(applied.write.event);
                let stored = all.await?;
                self.injector.note_stored(&applied.write, &stored);
                Ok(stored)
            };
            self.around("store_and_finish", effect).await
        })
    }

    fn commit_and_enqueue(
        &self,
        reply: &CommittedReply<'_>,
    ) -> Option<impl Future<Output = PortResult<WriteOutcome>> + Send> {
        let all = self.joint(self.inner.commit_and_enqueue(reply))?;
        let parts = reply.parts.to_vec();
        Some(async move {
            let effect = async {
                let written = all.await?;
                if written == WriteOutcome::Written {
                    self.injector.note_commit(&parts);
                }
                Ok(written)
            };
            self.around("commit_and_enqueue", effect).await
        })
    }

    fn settle_and_acknowledge(
        &self,
        message: &Message,
        landed: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
    ) -> Option<impl Future<Output = PortResult<WriteOutcome>> + Send> {
        let both = self.joint(self.inner.settle_and_acknowledge(message, landed, link))?;
        let effect = self.injector.note_write(both, message);
        Some(self.around("settle_and_acknowledge", effect))
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        if self.injector.lacks(Mutation::ReturnNotTimed) && matches!(job, TurnsJob::AgentReturn(_)) {
            return Ok(());
        }
        if self.injector.lacks(Mutation::NotReadOn) && self.injector.function == "deferred-reply" {
            return Ok(());
        }
        self.sends(
            QueueName::Turns,
            "send_turn",
            self.inner.enqueue_turns_job(job, delay),
        )
        .await
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        let common = &self.injector.common;
        common.note(|| format!("a job waits for {at}"));
        self.sends(
            QueueName::Turns,
            "schedule_turn",
            self.inner.schedule_turns_job(job, at),
        )
        .await
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        let share_one_id = self.injector.lacks(Mutation::SendJobsShareOneId);
        let mut entries = entries.to_vec();
        entries.retain(|entry| !(share_one_id && self.was_enqueued(&entry.job)));
        if entries.is_empty() {
            return Ok(());
        }
        self.sends(
            QueueName::Outbound,
            "enqueue_outbound",
            self.inner.enqueue_outbound(&entries),
        )
        .await
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        self.sends(
            dead_letter.queue,
            "send_dead",
            self.inner.enqueue_dead_copy(dead_letter),
        )
        .await
    }
}

impl<Q: Files> Files for FaultyPort<Q> {
    delegate_calls! {
        open_file(key: &str) -> Option<FileBytes>;
        delete_file(key: &str) -> ();
    }

    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        let put = async {
            let put = self.inner.put_file(key, mime_type, bytes).await;
            Ok(put)
        };
        self.around("put_file", put).await?
    }
}

impl<Q: VectorStore> VectorStore for FaultyPort<Q> {
    fn has_vector_store(&self) -> bool {
        self.inner.has_vector_store()
    }

    delegate_calls! {
        put_vectors(index: &VectorIndexName, vectors: &[(VectorKey, Vec<f32>)]) -> ();
        find_nearest(index: &VectorIndexName, question: &[f32], limit: usize) -> Vec<NearVector>;
        delete_vectors(index: &VectorIndexName, keys: &[VectorKey]) -> ();
        delete_vector_index(index: &VectorIndexName) -> ();
    }
}

impl<Q: DeadLetterQueues> DeadLetterQueues for FaultyPort<Q> {
    delegate_calls! {
        receive_dead_messages(queue: QueueName) -> Vec<DeadQueueMessage>;
        remove_dead_message(copy: &DeadQueueMessage) -> ();
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        let marked = async {
            self.injector.common.make_dirty(dead_letter.queue);
            self.inner.enqueue_redrive(dead_letter, by, deduplication).await
        };
        self.around("send_redrive", marked).await
    }
}
