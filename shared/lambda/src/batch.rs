//! One batch of queue messages: groups side by side, a group's messages one after the other, and an answer that names
//! exactly the messages that are to come back.

use crate::event::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsRecord};
use futures::FutureExt;
use futures::future::join_all;
use jiff::Timestamp;
use recado_pipeline::Verdict;
use std::collections::HashSet;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// The longest that SQS hides a message: 12 hours from its receipt.
const HIDDEN_MAX: Duration = Duration::from_secs(12 * 3600);

/// A queue message, as a handler sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct BatchMessage {
    /// What was sent, as it came: whether it can be read is the handler's to find out.
    pub body: String,
    /// How often the queue has handed it out, this time included.
    pub receives: u32,
    /// When the function's time runs out.
    pub deadline: Option<Timestamp>,
}

impl std::fmt::Debug for BatchMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Received")
            .field("receives", &self.receives)
            .finish_non_exhaustive()
    }
}

/// Where it is said when a message shall come back.
pub trait MessageVisibility {
    /// Why it could not be said.
    type Error: std::error::Error;

    /// Makes the message of this receipt come back after `seconds` (0: at once).
    fn change_visibility(
        &self,
        receipt: &str,
        seconds: u32,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// How a message's turn ended, if not well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageReturn {
    /// It comes back after so many seconds.
    After(u32),
    /// It panicked, and comes back when the queue's own time-out ends.
    Panicked,
}

/// Handles a batch. Of a `fifo` queue, messages of one group are handled in order, and after the first that comes back
/// the rest of the group comes back untouched and at the same time; of a standard queue, each is on its own. A panic is
/// a failure of its message alone.
pub async fn run_batch<V, F, H>(
    event: SqsEvent,
    fifo: bool,
    visibility: &V,
    deadline: Option<Timestamp>,
    handle: H,
) -> SqsBatchResponse
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
    build_response(order, &back.into_iter().flatten().collect())
}

/// The messages that come back, in the order of the batch, each once.
fn build_response(order: Vec<String>, back: &HashSet<String>) -> SqsBatchResponse {
    let mut named = HashSet::new();
    let comes_back = |id: &String| back.contains(id) && named.insert(id.clone());
    let failures = order.into_iter().filter(comes_back);
    SqsBatchResponse {
        batch_item_failures: failures
            .map(|item_identifier| BatchItemFailure { item_identifier })
            .collect(),
    }
}

/// The batch by group, each in its order. A standard queue's messages are groups of one, whatever group they name:
/// there it is only a hint of whose they are.
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

/// The ids of the messages of the group that come back.
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
    // Nothing of a message's handling outlives its panic but what the records hold, and those are written whole.
    match AssertUnwindSafe(async { handle(received).await })
        .catch_unwind()
        .await
    {
        Ok(Verdict::Done) => None,
        Ok(Verdict::Retry { after }) => Some(MessageReturn::After(whole_seconds(after))),
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
        // It comes back all the same, when the queue's own time-out ends.
        tracing::warn!(queue_message_id = %record.message_id, seconds, %error, "the visibility was not changed");
    }
}

/// A wait as SQS takes it: whole seconds, never shorter than asked for.
fn whole_seconds(after: Duration) -> u32 {
    let after = after.min(HIDDEN_MAX);
    let whole = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    u32::try_from(whole).unwrap_or_default()
}

#[cfg(test)]
mod tests;
