//! Takes events in: records each and enqueues it in the same transaction.

use super::TenantKey;
use super::send::{MessageBody, append_fifo, event_fifo_message, insert_into_group};
use crate::Embedded;
use crate::db_error::DbError;
use crate::store::{EventRow, RecordedEvent, select_event};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::event::{EventRecord, EventState, InboundJob};
use recado_domain::ids::EventId;
use recado_ports::ports::{PortResult, RecordEventOutcome};
use rusqlite::{Connection, Row};
use serde::de::IgnoredAny;

const WHAT: &str = "record_and_enqueue";

/// An event that came in, as it is recorded. Its record is also the body of its queue message.
#[derive(Debug)]
pub(crate) struct IncomingEvent {
    record: EventRow,
    group: String,
    owner: TenantKey,
}

impl IncomingEvent {
    pub(crate) fn from_job(job: &InboundJob) -> Result<Self, DbError> {
        let record = EventRecord::new_pending(job.with_borrowed_payload());
        Ok(Self {
            owner: TenantKey::for_event(job),
            record: EventRow::from_record(&record, None)?,
            group: record.job.group,
        })
    }

    /// Reads an event from the intake log.
    pub(crate) fn from_log_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            record: EventRow::from_log_row(row)?,
            group: row.get("grp")?,
            owner: TenantKey::from_column(row.get("owner")?),
        })
    }

    /// Returns the id of the event.
    pub(crate) fn id(&self) -> &str {
        self.record.id()
    }

    /// Appends the event to the intake log. Returns `false` if it is in the log already.
    pub(crate) fn append_to_log(&self, connection: &Connection) -> Result<bool, DbError> {
        self.record
            .append_to_log(connection, &self.group, self.owner.as_str())
    }

    /// Records the event in the database, and enqueues it unless it is settled.
    pub(crate) fn record_and_enqueue(
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
                insert_into_group(connection, queue, &self.group, &self.owner, &body, now)?;
            }
            RecordedEvent::Pending => {
                let message = event_fifo_message(&self.record.decode_record()?.job)?;
                append_fifo(connection, queue, &message, self.record.id(), now)?;
            }
            RecordedEvent::Settled => {}
        }
        Ok(recorded.into())
    }
}

impl Embedded {
    /// Records `events` and enqueues those that are not settled, in one transaction. In a data folder, new events go by the
    /// intake log.
    pub(super) async fn record_and_enqueue_events(
        &self,
        events: &[InboundJob],
    ) -> PortResult<Vec<RecordEventOutcome>> {
        let incoming: Vec<IncomingEvent> = events
            .iter()
            .map(IncomingEvent::from_job)
            .collect::<Result<_, _>>()
            .map_err(|fault: DbError| fault.into_port_error(WHAT))?;
        let Some(log) = self.intake_log() else {
            return self.record_in_database(incoming).await;
        };
        let may_be_known = events.iter().any(|job| log.may_know(&job.event));
        let known = if may_be_known {
            self.find_event_states(events).await?
        } else {
            vec![None; events.len()]
        };
        let mut outcomes = vec![RecordEventOutcome::New; incoming.len()];
        let (mut new, mut pending) = (Vec::new(), Vec::new());
        let (mut new_places, mut pending_places) = (Vec::new(), Vec::new());
        for (place, (event, known)) in incoming.into_iter().zip(known).enumerate() {
            match known {
                None => {
                    new.push(event);
                    new_places.push(place);
                }
                Some(EventState::Pending) => {
                    pending.push(event);
                    pending_places.push(place);
                }
                Some(EventState::Applied | EventState::Dead) => {
                    outcomes[place] = RecordEventOutcome::Settled;
                }
            }
        }
        if !pending.is_empty() {
            let found = self.record_in_database(pending).await?;
            for (place, outcome) in pending_places.into_iter().zip(found) {
                outcomes[place] = outcome;
            }
        }
        if !new.is_empty() {
            let appended = log.append_events(new).await;
            let appended = appended.map_err(|fault| fault.into_port_error(WHAT))?;
            for (place, _) in new_places.into_iter().zip(appended).filter(|(_, new)| !new) {
                outcomes[place] = RecordEventOutcome::Pending;
            }
        }
        Ok(outcomes)
    }

    async fn record_in_database(&self, incoming: Vec<IncomingEvent>) -> PortResult<Vec<RecordEventOutcome>> {
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

    /// Returns the state of each event that the database knows.
    async fn find_event_states(&self, events: &[InboundJob]) -> PortResult<Vec<Option<EventState>>> {
        let ids: Vec<EventId> = events.iter().map(|job| job.event.clone()).collect();
        let now = self.current_time();
        let work = move |c: &Connection| {
            ids.iter()
                .map(|id| Ok(select_event::<IgnoredAny>(c, id.as_str(), now)?.map(|known| known.state)))
                .collect()
        };
        self.run_lookup(WHAT, work).await
    }
}
