//! Handling of one batch of queue messages. Groups run side by side and the messages of a group one after the other. The
//! response names exactly the messages that are to come back.

use crate::emf::write_metrics;
use crate::event::{BatchItemFailure, BatchResponse, SqsEvent, SqsRecord};
use crate::telemetry::flush_traces;
use futures::FutureExt;
use futures::future::join_all;
use jiff::Timestamp;
use recado_pipeline::Verdict;
use std::collections::HashSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// Longest time for which SQS hides a message: 12 hours from its receipt.
const HIDDEN_MAX: Duration = Duration::from_secs(12 * 3600);

/// A queue message as a handler receives it.
#[derive(Clone, PartialEq, Eq)]
pub struct BatchMessage {
    /// Body of the message, unchanged. The handler has to find out if it can be read.
    pub body: String,
    /// Number of times that the queue has delivered the message, this time included.
    pub receives: u32,
    /// Time at which the function's invocation ends; `None` if there is no limit.
    pub deadline: Option<Timestamp>,
}

impl std::fmt::Debug for BatchMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Received")
            .field("receives", &self.receives)
            .finish_non_exhaustive()
    }
}

/// Access to the visibility of queue messages: it decides when a message comes back.
pub trait MessageVisibility {
    /// The error for a visibility that could not be changed.
    type Error: std::error::Error;

    /// Makes the message with this receipt handle come back after `seconds`; 0 means at once.
    fn change_visibility(
        &self,
        receipt: &str,
        seconds: u32,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// The way in which a message comes back to its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageReturn {
    /// The message comes back after this number of seconds.
    After(u32),
    /// The handler panicked. The message comes back when the queue's own visibility time-out ends.
    Panicked,
}

/// Handles a batch of queue messages and returns those that come back. In a `fifo` queue, the messages of a group are
/// handled in order; after the first one that comes back, the rest of its group comes back unhandled, after the same
/// wait. In a standard queue, each message is handled on its own. A panic counts as a failure of the message that was
/// being handled. At the end, the metrics that are due are written and the spans of the
/// batch posted.
pub async fn run_batch<V, F, H>(
    event: SqsEvent,
    fifo: bool,
    visibility: &V,
    deadline: Option<Timestamp>,
    handle: H,
) -> BatchResponse
where
    V: MessageVisibility,
    F: Future<Output = Verdict>,
    H: Fn(BatchMessage) -> F,
{
    let order: Vec<String> = event
        .records
        .iter()
        .map(|record| record.message_id.clone())
        .collect();
    let groups = group_records(event.records, fifo).into_iter();
    let back = join_all(groups.map(|group| run_group(group, visibility, deadline, &handle))).await;
    write_metrics();
    flush_traces().await;
    build_response(order, &back.into_iter().flatten().collect())
}

/// Builds the response: the messages that come back, in the order of the batch, each one once.
fn build_response(order: Vec<String>, back: &HashSet<String>) -> BatchResponse {
    let mut named = HashSet::new();
    let comes_back = |id: &String| back.contains(id) && named.insert(id.clone());
    let failures = order.into_iter().filter(comes_back);
    BatchResponse {
        batch_item_failures: failures
            .map(|item_identifier| BatchItemFailure { item_identifier })
            .collect(),
    }
}

/// Splits the batch into groups and keeps their order. In a standard queue each message is a group of its own, because
/// the group id is only a hint of the tenant there.
fn group_records(records: Vec<SqsRecord>, fifo: bool) -> Vec<Vec<SqsRecord>> {
    let mut groups: Vec<Vec<SqsRecord>> = Vec::new();
    for record in records {
        let same = |group: &&mut Vec<SqsRecord>| {
            group
                .first()
                .is_some_and(|first| first.attributes.message_group_id == record.attributes.message_group_id)
        };
        match groups.iter_mut().find(same).filter(|_| fifo) {
            Some(group) => group.push(record),
            None => groups.push(vec![record]),
        }
    }
    groups
}

/// Handles the messages of a group in order and returns the ids of those that come back.
async fn run_group<V, F, H>(
    group: Vec<SqsRecord>,
    visibility: &V,
    deadline: Option<Timestamp>,
    handle: &H,
) -> Vec<String>
where
    V: MessageVisibility,
    F: Future<Output = Verdict>,
    H: Fn(BatchMessage) -> F,
{
    let mut setback = None;
    let mut back = Vec::new();
    for record in group {
        if setback.is_none() {
            setback = handle_record(&record, deadline, handle).await;
        }
        if let Some(setback) = setback {
            if let MessageReturn::After(seconds) = setback {
                postpone_record(&record, visibility, seconds).await;
            }
            back.push(record.message_id);
        }
    }
    back
}

async fn handle_record<F, H>(
    record: &SqsRecord,
    deadline: Option<Timestamp>,
    handle: &H,
) -> Option<MessageReturn>
where
    F: Future<Output = Verdict>,
    H: Fn(BatchMessage) -> F,
{
    let received = BatchMessage {
        body: record.body.clone(),
        receives: record.receive_count(),
        deadline,
    };
    // Unwind safety: after a panic, only stored records remain of the handling, and every record is written completely.
    match AssertUnwindSafe(async { handle(received).await })
        .catch_unwind()
        .await
    {
        Ok(Verdict::Done) => None,
        Ok(Verdict::Retry { after }) => Some(MessageReturn::After(whole_seconds(after.unsigned_abs()))),
        Err(_panic) => {
            tracing::error!(queue_message_id = %record.message_id, "handling a queue message panicked");
            Some(MessageReturn::Panicked)
        }
    }
}

async fn postpone_record<V: MessageVisibility>(record: &SqsRecord, visibility: &V, seconds: u32) {
    if let Err(error) = visibility
        .change_visibility(&record.receipt_handle, seconds)
        .await
    {
        // The message still comes back, when the queue's own visibility time-out ends.
        tracing::warn!(queue_message_id = %record.message_id, seconds, %error, "the visibility was not changed");
    }
}

/// Returns a wait in whole seconds, as SQS takes it: rounded up, at most [`HIDDEN_MAX`].
fn whole_seconds(after: Duration) -> u32 {
    let after = after.min(HIDDEN_MAX);
    let whole = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    u32::try_from(whole).unwrap_or_default()
}

#[cfg(test)]
mod tests;
