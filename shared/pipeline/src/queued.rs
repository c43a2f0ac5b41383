//! What every worker does with a queue message around its own work: reads it first, answers the queue last.

use crate::World;
use crate::dead::keep_unreadable;
use crate::ports::{Ambient, Enqueue, Inbox, PortError, PortResult, Queues};
use crate::settings::Visibility;
use crate::verdict::Verdict;
use recado_domain::backoff::Backoff;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::InboundJob;
use serde::de::DeserializeOwned;

/// From so many receives on a kick is sent anew and the old one acknowledged: waiting must never bring one to the number
/// at which its queue gives it up.
pub(crate) const RECEIVES_HALF: u32 = Visibility::RECEIVES_MAX / 2;

/// Enqueues an event anew that its queue has handed out too often. `false` if it is not pending: then there is nothing
/// that could come back often.
pub(crate) async fn renew_event<W: World>(world: &W, job: &InboundJob) -> PortResult<bool> {
    let count = world
        .store()
        .note_again(&job.event, world.ambient().now())
        .await?;
    if count == 0 {
        return Ok(false);
    }
    tracing::warn!(count, "an event that came back often is enqueued anew");
    let deduplication = format!("{}-{count}", job.event);
    let job = job.clone();
    world
        .queues()
        .send_inbound(&[Enqueue { job, deduplication }])
        .await?;
    Ok(true)
}

/// Reads a queue message. One that cannot be read never will be: it is kept as a dead letter, and the verdict on it is
/// the error.
pub(crate) async fn read<T: DeserializeOwned, W: World>(
    world: &W,
    queue: QueueName,
    body: &str,
) -> Result<T, Verdict> {
    match serde_json::from_str(body) {
        Ok(kick) => Ok(kick),
        Err(error) => {
            let kept = keep_unreadable(world, queue, body, &error).await;
            Err(kept.map_or(Verdict::SOON, |()| Verdict::Done))
        }
    }
}

/// The answer to the queue. A store or queue that failed brings the message back, after the backoff for the number of
/// times that it was received.
pub(crate) fn verdict<W: World>(
    world: &W,
    worked: PortResult<Verdict>,
    backoff: &Backoff,
    receives: u32,
) -> Verdict {
    worked.unwrap_or_else(|error| {
        let after = backoff.wait(receives, world.ambient().random());
        tracing::warn!(error = %chain(&error), ?after, "not finished yet");
        Verdict::ComeBack { after }
    })
}

/// An error with its causes, in one line. What could not be read is not shown: parsers repeat values.
pub(crate) fn chain(error: &PortError) -> String {
    let mut text = error.to_string();
    let mut cause = if error.retryable() {
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
        assert_eq!(chain(&outage), "the queue is unavailable: connection refused");
        let unreadable = PortError::invalid("the table", "invalid type: string \"Maria\"");
        assert!(!chain(&unreadable).contains("Maria"));
    }
}
