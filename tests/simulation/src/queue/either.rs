//! The queues of a history as one type, so that the simulator is compiled once for both.

use super::sqs::{self, Sqs};
use super::{Dead, Got, WorkQueues};
use crate::executor::Simulation;
use async_trait::async_trait;
use futures::future::BoxFuture;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::TurnsJob;
use recado_embedded::Embedded;
use recado_pipeline::ports::{
    DeadLetterQueues, DeadQueueMessage, FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortResult,
    Queues,
};
use recado_pipeline::step_commit::{StepCommit, StepOutcome};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The queues of one history. Clones are the same queues.
#[derive(Debug, Clone)]
pub enum EitherQueues {
    /// The model of SQS.
    Sqs(Sqs),
    /// The queues of the embedded store, in one database with the records.
    Embedded(Embedded),
}

/// The right to finish a message of these queues.
#[derive(Debug, Clone)]
pub enum EitherReceipt {
    /// Of the model of SQS.
    Sqs(sqs::Receipt),
    /// Of the embedded queues.
    Embedded(recado_embedded::Receipt),
}

/// Calls the same method of the queues that there are.
macro_rules! on_each {
    ($queues:expr, $inner:ident => $call:expr) => {
        match $queues {
            EitherQueues::Sqs($inner) => $call,
            EitherQueues::Embedded($inner) => $call,
        }
    };
}

impl EitherQueues {
    /// Makes an empty model of SQS, whose standard queue delivers a message twice with this likelihood.
    pub fn on_sqs(simulation: Simulation, twice: f64) -> Self {
        Self::Sqs(Sqs::new(simulation, twice))
    }

    /// Forgets all messages of the model of SQS, as [`Sqs::lose_messages`] does. The embedded queues lie beside the records and
    /// cannot be lost alone.
    pub fn lose_messages(&self) {
        match self {
            Self::Sqs(queues) => queues.lose_messages(),
            Self::Embedded(_) => unreachable!("the embedded queues are not lost alone"),
        }
    }

    /// Returns the queues that share a database with the records.
    fn joint(&self) -> Option<&Embedded> {
        match self {
            Self::Sqs(_) => None,
            Self::Embedded(embedded) => Some(embedded),
        }
    }
}

#[async_trait]
impl Queues for EitherQueues {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        on_each!(self, queues => queues.enqueue_inbound(events).await)
    }

    fn joins_records(&self) -> bool {
        self.joint().is_some()
    }

    fn commit_step<'a>(&'a self, step: &'a StepCommit<'_>) -> Option<BoxFuture<'a, PortResult<StepOutcome>>> {
        self.joint()?.commit_step(step)
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        on_each!(self, queues => queues.enqueue_turns_job(job, delay).await)
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        on_each!(self, queues => queues.schedule_turns_job(job, at).await)
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        on_each!(self, queues => queues.enqueue_outbound(entries).await)
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        on_each!(self, queues => queues.enqueue_dead_copy(dead_letter).await)
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        on_each!(self, queues => queues.put_payload(key, payload).await)
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        on_each!(self, queues => queues.renew_payload(key).await)
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        on_each!(self, queues => queues.find_payload(key).await)
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        on_each!(self, queues => queues.delete_payload(key).await)
    }

    async fn delete_inbound(&self, groups: &BTreeSet<String>) -> PortResult<()> {
        on_each!(self, queues => queues.delete_inbound(groups).await)
    }
}

#[async_trait]
impl DeadLetterQueues for EitherQueues {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        on_each!(self, queues => queues.receive_dead_messages(queue).await)
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        on_each!(self, queues => queues.remove_dead_message(copy).await)
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        on_each!(self, queues => queues.enqueue_redrive(dead_letter, by, deduplication).await)
    }
}

#[async_trait]
impl Files for EitherQueues {
    async fn put_file(&self, key: &str, mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        on_each!(self, queues => queues.put_file(key, mime_type, bytes).await)
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        on_each!(self, queues => queues.open_file(key).await)
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        on_each!(self, queues => queues.delete_file(key).await)
    }

    async fn sign_file_url(&self, key: &str, disposition: &str) -> PortResult<Option<String>> {
        on_each!(self, queues => queues.sign_file_url(key, disposition).await)
    }
}

/// Calls a method of the queues that gave out this receipt.
macro_rules! on_receipt {
    ($queues:expr, $receipt:expr, ($inner:ident, $own:ident) => $call:expr) => {
        match ($queues, $receipt) {
            (EitherQueues::Sqs($inner), EitherReceipt::Sqs($own)) => $call,
            (EitherQueues::Embedded($inner), EitherReceipt::Embedded($own)) => $call,
            _ => unreachable!("a receipt of other queues"),
        }
    };
}

impl WorkQueues for EitherQueues {
    type Receipt = EitherReceipt;

    fn receive(&self, queue: QueueName, max: usize) -> Vec<Got<EitherReceipt>> {
        fn wrap<R>(received: Vec<Got<R>>, kind: impl Fn(R) -> EitherReceipt) -> Vec<Got<EitherReceipt>> {
            let wrap_one = |got: Got<R>| Got {
                receipt: kind(got.receipt),
                group: got.group,
                receives: got.receives,
                body: got.body,
            };
            received.into_iter().map(wrap_one).collect()
        }
        match self {
            Self::Sqs(queues) => wrap(queues.receive(queue, max), EitherReceipt::Sqs),
            Self::Embedded(queues) => wrap(WorkQueues::receive(queues, queue, max), EitherReceipt::Embedded),
        }
    }

    fn for_message(&self, receipt: &EitherReceipt) -> Self {
        match (self, receipt) {
            (Self::Embedded(queues), EitherReceipt::Embedded(own)) => {
                Self::Embedded(WorkQueues::for_message(queues, own))
            }
            _ => self.clone(),
        }
    }

    fn delete(&self, receipt: &EitherReceipt) {
        on_receipt!(self, receipt, (queues, own) => WorkQueues::delete(queues, own));
    }

    fn put_off(&self, receipt: &EitherReceipt, seconds: u64) {
        on_receipt!(self, receipt, (queues, own) => WorkQueues::put_off(queues, own, seconds));
    }

    fn next_visible(&self, queue: QueueName) -> Option<Timestamp> {
        on_each!(self, queues => WorkQueues::next_visible(queues, queue))
    }

    fn dead(&self) -> Vec<Dead> {
        on_each!(self, queues => WorkQueues::dead(queues))
    }

    fn move_back(&self, dead: &Dead) {
        on_each!(self, queues => WorkQueues::move_back(queues, dead));
    }
}
