//! Reads queue messages and decides the verdicts on them, for all workers.

use crate::Deps;
use crate::steps::give_up::dead_letter_unreadable;
use crate::steps::verdict::Verdict;
use recado_domain::backoff::Backoff;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventRecord, InboundJob};
use recado_ports::ports::{InboundEntry, PortError, PortResult};
use recado_ports::settings::VisibilityTimeouts;
use serde::de::DeserializeOwned;

/// Number of receives from which a message is replaced by a new queue message with the same job. So waiting never
/// brings a message to the number of receives at which its queue dead-letters it.
pub const REQUEUE_AFTER_RECEIVES: u32 = VisibilityTimeouts::RECEIVES_MAX / 2;

/// Enqueues an event again that its queue has delivered too often. Returns `false` if the event is not pending: then
/// nothing is left to be enqueued.
pub async fn reenqueue_event(deps: &Deps, job: &InboundJob) -> PortResult<bool> {
    let noted = deps
        .store()
        .record_reenqueue(&job.event, deps.system().now())
        .await?;
    let Some(EventRecord { again: count, .. }) = noted else {
        return Ok(false);
    };
    tracing::warn!(count, "an event that came back often is enqueued anew");
    let deduplication = format!("{}-{count}", job.event);
    let job = job.clone();
    deps.queues()
        .enqueue_inbound(&[InboundEntry { job, deduplication }])
        .await?;
    Ok(true)
}

/// Parses a queue message. A message that cannot be parsed now never will be: it is kept as a dead letter, and the
/// error is the verdict on it.
pub async fn parse_queue_message<T: DeserializeOwned>(
    deps: &Deps,
    queue: QueueName,
    body: &str,
) -> Result<T, Verdict> {
    match serde_json::from_str(body) {
        Ok(job) => Ok(job),
        Err(error) => {
            let kept = dead_letter_unreadable(deps, queue, body, &error).await;
            Err(kept.map_or(Verdict::RETRY_SOON, |()| Verdict::Done))
        }
    }
}

/// Decides the verdict on a queue message. If a store or queue failed, the message is retried after the backoff for the
/// number of its receives.
pub fn decide_verdict(deps: &Deps, worked: PortResult<Verdict>, backoff: &Backoff, receives: u32) -> Verdict {
    worked.unwrap_or_else(|error| {
        let after = backoff.delay_for_attempt(receives, deps.system().random_u64());
        tracing::warn!(error = %format_error_chain(&error), ?after, "not finished yet");
        Verdict::Retry { after }
    })
}

/// Formats an error with its causes in one line. The causes of unreadable data are not shown, because parsers repeat
/// values.
pub fn format_error_chain(error: &PortError) -> String {
    let mut text = error.to_string();
    let mut cause = if error.is_retryable() {
        std::error::Error::source(error)
    } else {
        None
    };
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_outage_is_told_and_that_of_unreadable_data_is_not() {
        let outage = PortError::unavailable("the queue", "connection refused");
        assert_eq!(
            format_error_chain(&outage),
            "the queue is unavailable: connection refused"
        );
        let unreadable = PortError::invalid("the table", "invalid type: string \"Maria\"");
        assert!(!format_error_chain(&unreadable).contains("Maria"));
    }
}
