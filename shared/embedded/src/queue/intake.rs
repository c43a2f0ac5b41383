//! Takes events in: records each and enqueues it in the same transaction.

use super::TenantKey;
use super::send::{MessageBody, append_fifo, event_fifo_message, insert_into_group};
use crate::Embedded;
use crate::db_error::DbError;
use crate::store::{EventRow, RecordedEvent};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventRecord, InboundJob};
use recado_pipeline::ports::{PortResult, RecordEventOutcome};
use rusqlite::Connection;

/// An event that came in, as it is recorded. Its record is also the body of its queue message.
struct IncomingEvent {
    job: InboundJob,
    record: EventRow,
    owner: TenantKey,
}

impl IncomingEvent {
    fn from_job(job: &InboundJob) -> Result<Self, DbError> {
        let record = EventRecord::new_pending(job.clone());
        Ok(Self {
            owner: TenantKey::for_event(job),
            record: EventRow::from_record(&record, None)?,
            job: record.job,
        })
    }

    fn record_and_enqueue(
        &self,
        connection: &Connection,
        now: Timestamp,
    ) -> Result<RecordEventOutcome, DbError> {
        let queue = QueueName::Inbound;
        let recorded = self.record.insert_new(connection, now)?;
        match recorded {
            // Nothing can have enqueued it before: no look for its deduplication id is needed.
            RecordedEvent::New(event) => {
                let body = MessageBody::Event(event);
                insert_into_group(connection, queue, &self.job.group, &self.owner, &body, now)?;
            }
            RecordedEvent::Pending => {
                let message = event_fifo_message(&self.job)?;
                append_fifo(connection, queue, &message, self.record.id(), now)?;
            }
            RecordedEvent::Settled => {}
        }
        Ok(recorded.into())
    }
}

impl Embedded {
    /// Records `events` and enqueues those that are not settled, in one transaction.
    pub(super) async fn record_and_enqueue_events(
        &self,
        events: &[InboundJob],
    ) -> PortResult<Vec<RecordEventOutcome>> {
        const WHAT: &str = "record_and_enqueue";
        let incoming: Vec<IncomingEvent> = events
            .iter()
            .map(IncomingEvent::from_job)
            .collect::<Result<_, _>>()
            .map_err(|fault: DbError| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        let work = move |c: &Connection| {
            incoming
                .iter()
                .map(|event| event.record_and_enqueue(c, now))
                .collect()
        };
        self.run_acknowledged_write(Some(QueueName::Inbound), WHAT, work)
            .await
    }
}
