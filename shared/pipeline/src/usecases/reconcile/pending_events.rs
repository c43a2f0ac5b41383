//! Enqueues pending events again that were recorded and not applied.

use crate::Deps;
use recado_domain::event::EventRecord;
use recado_domain::ids::EventId;
use recado_ports::ports::{InboundEntry, Inbox, PortResult, Queues, System};

/// Enqueues a pending event again, under another deduplication id. Returns `false` if the event is not pending any more.
pub(super) async fn reenqueue_pending_event(deps: &impl Deps, event: &EventId) -> PortResult<bool> {
    let noted = deps.store().record_reenqueue(event, deps.system().now()).await?;
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
