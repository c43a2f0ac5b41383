//! Takes events in: records each and enqueues it in the same transaction.

use super::send::{FifoMessage, append_fifo, event_fifo_message, insert_fifo};
use crate::Embedded;
use crate::db_error::DbError;
use crate::store::EventRow;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventRecord, InboundJob};
use recado_pipeline::ports::{PortResult, RecordEventOutcome};
use rusqlite::Connection;

/// An event that came in, as it is recorded and as it is enqueued.
struct IncomingEvent {
    record: EventRow,
    message: FifoMessage,
}

impl IncomingEvent {
    fn from_job(job: &InboundJob) -> Result<Self, DbError> {
        Ok(Self {
            record: EventRow::from_record(&EventRecord::new_pending(job.clone()), None)?,
            message: event_fifo_message(job)?,
        })
    }

    fn record_and_enqueue(
        &self,
        connection: &Connection,
        now: Timestamp,
    ) -> Result<RecordEventOutcome, DbError> {
        let recorded = self.record.insert_new(connection, now)?;
        match recorded {
            // Nothing can have enqueued it before: no look for its deduplication id is needed.
            RecordEventOutcome::New => insert_fifo(connection, QueueName::Inbound, &self.message, now)?,
            RecordEventOutcome::Pending => {
                append_fifo(
                    connection,
                    QueueName::Inbound,
                    &self.message,
                    self.record.id(),
                    now,
                )?;
            }
            RecordEventOutcome::Settled => {}
        }
        Ok(recorded)
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
