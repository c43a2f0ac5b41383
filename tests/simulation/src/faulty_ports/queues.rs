use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::{OutboundJob, TurnsJob};
use recado_pipeline::ports::{
    DeadLetterQueues, DeadQueueMessage, FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortResult,
    Queues, RecordEventOutcome, StoreInboundOutcome, WriteOutcome,
};
use recado_pipeline::step_commit::{StepCommit, StepOutcome, StepRecords};
use serde_json::Value;
use std::collections::BTreeSet;
use std::future::Future;
use std::time::Duration;

/// How long a queue knows an id, in milliseconds.
const KNOWN_MS: i64 = 300_000;

fn to_write_outcome(outcome: &StepOutcome) -> WriteOutcome {
    match outcome {
        StepOutcome::Committed => WriteOutcome::Written,
        _ => WriteOutcome::Conflict,
    }
}

impl<Q: Queues> FaultyPort<Q> {
    /// Whether a send job of the same conversation and ordinal is known, for a mutation.
    fn was_enqueued(&self, job: &OutboundJob) -> bool {
        let OutboundJob::Send(job) = job else { return false };
        let now = self.injector.common.simulation.elapsed_ms();
        let id = format!("{}-{}", job.conversation, job.upto);
        let mut observations = self.injector.common.observations();
        if observations
            .send_jobs
            .get(&id)
            .is_some_and(|at| now - at < KNOWN_MS)
        {
            return true;
        }
        observations.send_jobs.insert(id, now);
        false
    }

    /// Notes what a commit of `records` changed. All queues may hold something new after it.
    async fn note_step(
        &self,
        records: &StepRecords<'_>,
        joint: BoxFuture<'_, PortResult<StepOutcome>>,
    ) -> PortResult<StepOutcome> {
        if let StepRecords::Inbound(write) = records {
            self.injector.note_handled(write.event);
        }
        let queues: &[QueueName] = match records {
            StepRecords::Events(_) => &[QueueName::Inbound],
            _ => &QueueName::ALL,
        };
        for queue in queues {
            self.injector.common.make_dirty(*queue);
        }
        let outcome = match records {
            StepRecords::Settlement(settled) => {
                let written = async { Ok(to_write_outcome(&joint.await?)) };
                let written = self.injector.note_write(written, settled.message).await?;
                return Ok(written.into());
            }
            _ => joint.await?,
        };
        match (records, &outcome) {
            (StepRecords::Events(events), StepOutcome::Recorded(recorded)) => {
                let at = self.injector.common.simulation.elapsed_ms();
                for (job, found) in events.iter().zip(recorded) {
                    if *found != RecordEventOutcome::Settled {
                        self.injector.common.observations().enqueue(&job.event, at);
                    }
                }
            }
            (StepRecords::Inbound(write), outcome) => {
                let stored = match outcome {
                    StepOutcome::Committed | StepOutcome::JobsLeft => StoreInboundOutcome::Stored,
                    StepOutcome::AlreadyStored(place) => StoreInboundOutcome::AlreadyStored(place.clone()),
                    StepOutcome::Conflict | StepOutcome::Recorded(_) => StoreInboundOutcome::Conflict,
                };
                self.injector.note_stored(write, &stored);
            }
            (StepRecords::Reply(reply), StepOutcome::Committed) => self.injector.note_commit(reply.parts),
            _ => {}
        }
        Ok(outcome)
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

#[async_trait]
impl<Q: Queues> Queues for FaultyPort<Q> {
    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        self.around("renew_payload", self.inner.renew_payload(key)).await
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        self.around("find_payload", self.inner.find_payload(key)).await
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.around("delete_payload", self.inner.delete_payload(key))
            .await
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        self.around("delete_inbound", self.inner.delete_inbound(groups))
            .await
    }

    /// Notes which files of webhooks may not be stored: their provider gives them.
    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        let common = &self.injector.common;
        let is_first = common.observations().unkept_files.insert(key.to_owned());
        self.around("put_payload", self.inner.put_payload(key, payload))
            .await?;
        if is_first {
            common.observations().unkept_files.remove(key);
        }
        Ok(())
    }

    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        let effect = async {
            self.inner.enqueue_inbound(events).await?;
            let at = self.injector.common.simulation.elapsed_ms();
            for event in events {
                self.injector.common.observations().enqueue(&event.job.event, at);
            }
            Ok(())
        };
        self.sends(QueueName::Inbound, "send_inbound", effect).await
    }

    fn joins_records(&self) -> bool {
        self.inner.joins_records()
    }

    fn commit_step<'a>(&'a self, step: &'a StepCommit<'_>) -> Option<BoxFuture<'a, PortResult<StepOutcome>>> {
        let is_separate = match step.records {
            // Only where two steps are needed can a pending event be one that was never enqueued.
            StepRecords::Events(_) => self.injector.lacks(Mutation::PendingIsNotEnqueuedAgain),
            // A safeguard that is taken out is one of separate steps.
            _ => self.injector.common.mutation.is_some(),
        };
        if is_separate {
            return None;
        }
        let joint = self.inner.commit_step(step)?;
        if let StepRecords::Events(events) = step.records {
            let at = self.injector.common.simulation.elapsed_ms();
            for job in events {
                self.injector.common.observations().receive(&job.event, at);
            }
        }
        let name = step.records.name();
        Some(Box::pin(async move {
            self.around(name, self.note_step(&step.records, joint)).await
        }))
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

#[async_trait]
impl<Q: Files> Files for FaultyPort<Q> {
    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        self.around("open_file", self.inner.open_file(key)).await
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.around("delete_file", self.inner.delete_file(key)).await
    }

    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        let put = async {
            let put = self.inner.put_file(key, mime_type, bytes).await;
            Ok(put)
        };
        self.around("put_file", put).await?
    }
}

#[async_trait]
impl<Q: DeadLetterQueues> DeadLetterQueues for FaultyPort<Q> {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        self.around("receive_dead_messages", self.inner.receive_dead_messages(queue))
            .await
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        self.around("remove_dead_message", self.inner.remove_dead_message(copy))
            .await
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
