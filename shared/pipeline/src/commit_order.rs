//! The order in which a step is committed where records and queues lie apart.

use crate::Deps;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::event::InboundJob;
use recado_ports::ports::{InboundEntry, OutboundEntry, PortResult, RecordEventOutcome, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::step_commit::{ReplyWrite, SettlementWrite, StepCommit, StepJob, StepOutcome, StepRecords};

/// Number of events that are recorded at once where each is a request.
const EVENTS_AT_ONCE: usize = 16;

impl Deps {
    /// Commits a step. Where records and queues lie in one database, all of it is one transaction, with the acknowledgement
    /// ([`recado_ports::ports::Queues::commit_step`]). Elsewhere the records are written first and the jobs are enqueued after them, unless
    /// the caller takes these. If the process ends in between, the queue message comes again, and its records say which jobs must
    /// follow.
    ///
    /// # Errors
    /// If the store or a queue cannot be reached. The records may be written, and some of the jobs enqueued.
    pub async fn commit_step(&self, step: &StepCommit<'_>) -> PortResult<StepOutcome> {
        if let Some(joint) = self.queues().commit_step(step) {
            return joint.await;
        }
        let store = self.store();
        let outcome = match &step.records {
            StepRecords::Events(jobs) => StepOutcome::Recorded(self.record_then_enqueue(jobs).await?),
            StepRecords::Inbound(write) => store.store_inbound(*write).await?.into(),
            StepRecords::Reply(ReplyWrite {
                conversation,
                parts,
                beside,
            }) => WriteOutcome::from(store.commit_messages(conversation, parts, beside).await?).into(),
            StepRecords::Settlement(SettlementWrite {
                message,
                finished_send,
                link,
            }) => store
                .settle_message(message, *finished_send, *link, None)
                .await?
                .into(),
        };
        if outcome != StepOutcome::Committed {
            return Ok(outcome);
        }
        if step.takes_jobs {
            return Ok(StepOutcome::JobsLeft);
        }
        self.enqueue_step_jobs(&step.jobs).await?;
        Ok(outcome)
    }

    async fn record_then_enqueue(&self, jobs: &[InboundJob]) -> PortResult<Vec<RecordEventOutcome>> {
        let store = self.store();
        let records: Vec<_> = jobs.iter().map(|job| store.record_event(job)).collect();
        let found: Vec<RecordEventOutcome> = stream::iter(records)
            .buffered(EVENTS_AT_ONCE)
            .try_collect()
            .await?;
        let owed: Vec<InboundEntry> = jobs
            .iter()
            .zip(&found)
            .filter(|(_, found)| **found != RecordEventOutcome::Settled)
            .map(|(job, _)| InboundEntry {
                deduplication: job.event.to_string(),
                job: job.clone(),
            })
            .collect();
        if !owed.is_empty() {
            self.queues().enqueue_inbound(&owed).await?;
        }
        Ok(found)
    }

    async fn enqueue_step_jobs(&self, jobs: &[StepJob]) -> PortResult<()> {
        for job in jobs {
            match job {
                StepJob::Turns(job, delay) => self.queues().enqueue_turns_job(job, *delay).await?,
                StepJob::Outbound(job, _) => {
                    let entry = OutboundEntry {
                        job: job.clone(),
                        deduplication: generate_nonce(self.system()).to_string(),
                    };
                    self.queues().enqueue_outbound(&[entry]).await?;
                }
            }
        }
        Ok(())
    }
}
