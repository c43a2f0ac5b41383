//! Enqueues pending events again that were recorded and not applied.

use crate::Deps;
use crate::steps::give_up::give_up_unreadable_event;
use recado_domain::event::EventRecord;
use recado_domain::ids::EventId;
use recado_ports::ports::{InboundEntry, PortError, PortResult};

/// Enqueues a pending event again, under another deduplication id. Returns `false` if the event is not pending any more, or was given
/// up because its record cannot be read.
pub(super) async fn reenqueue_pending_event(deps: &Deps, event: &EventId) -> PortResult<bool> {
    let noted = deps.store().record_reenqueue(event, deps.system().now()).await;
    let noted = match noted {
        Err(error) if !error.is_retryable() => {
            let given_up = Box::pin(give_up_if_unreadable(deps, event, error)).await;
            return given_up.map(|()| false);
        }
        noted => noted?,
    };
    let Some(EventRecord {
        job, again: count, ..
    }) = noted
    else {
        return Ok(false);
    };
    if count >= 3 {
        tracing::error!(event_id = %event, correlation_id = %job.correlation, count, "event stays pending");
    }
    let deduplication = format!("{event}-{count}");
    deps.queues()
        .enqueue_inbound(&[InboundEntry { job, deduplication }])
        .await?;
    Ok(true)
}

/// Gives an event up whose record cannot be read: no pass would ever do more with it. If it can be read, `error` has another cause
/// and is returned.
async fn give_up_if_unreadable(deps: &Deps, event: &EventId, error: PortError) -> PortResult<()> {
    match deps.store().find_event(event).await {
        Err(unread) if !unread.is_retryable() => give_up_unreadable_event(deps, event).await,
        _ => Err(error),
    }
}
