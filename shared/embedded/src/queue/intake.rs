//! Takes events in: records each and enqueues it in the same transaction.

use super::dead_messages::DeadLetterCopy;
use super::message_rows::{FifoMessage, MessageBody, append_fifo, insert_into_group};
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::intake_log::IncomingEvent;
use crate::job::in_savepoint;
use crate::store::{
    RecordedEvent, StoredEventState, put_newer_letter, record_given_up, select_event_state, select_instance,
};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::event::{EventState, InboundJob, JobNames};
use recado_domain::ids::{CorrelationId, EventId, InstanceId, TenantId};
use recado_ports::ports::{InstanceName, PortResult, RecordEventOutcome};
use rusqlite::Connection;

const WHAT: &str = "record_and_enqueue_events";

impl IncomingEvent {
    /// Records the event in the database, and enqueues it unless it is settled.
    pub(crate) fn record_and_enqueue(&self, db: &Connection, now: Timestamp) -> DbResult<RecordEventOutcome> {
        let queue = QueueName::Inbound;
        let recorded = self.record.insert_new(db, now)?;
        match recorded {
            // Nothing can have enqueued it before: no look for its deduplication id is needed.
            RecordedEvent::New(event) => {
                let body = MessageBody::Event(event);
                insert_into_group(db, queue, &self.group, &self.owner, &body, now)?;
            }
            RecordedEvent::Pending => {
                let message = FifoMessage {
                    group: self.group.clone(),
                    body: self.cut_out_job(),
                    owner: self.owner.clone(),
                };
                append_fifo(db, queue, &message, self.record.id(), now)?;
            }
            RecordedEvent::Settled => {}
        }
        Ok(recorded.into())
    }

    /// Keeps an event that cannot be recorded: as a dead letter of its tenant, if that can be known. The event is settled, so that
    /// its repeats are only acknowledged. A repeat of a known event is dropped: its event is cared for.
    pub(crate) fn set_aside(&self, db: &Connection, now: Timestamp, error: &DbError) -> DbResult<()> {
        let known = select_event_state(db, self.record.id(), now)?;
        if let Some(StoredEventState::Readable(_)) = known {
            tracing::error!(event_id = self.record.id(), %error, "the repeat of an event could not be enqueued");
            return Ok(());
        }
        let body = self.cut_out_job();
        let names = JobNames::cut_out(&body);
        let correlation = names.correlation.clone().unwrap_or_else(CorrelationId::unknown);
        let why = format!("it could not be recorded: {error}");
        let mut dead_letter =
            DeadLetter::from_unreadable_body(QueueName::Inbound, &body, now, why, correlation);
        (dead_letter.tenant, dead_letter.instance) = select_owner(db, &names)?;
        tracing::error!(
            dead_letter = %dead_letter.id, event_id = self.record.id(), correlation_id = %dead_letter.correlation, %error,
            "an acknowledged event could not be recorded: it is a dead letter now"
        );
        DeadLetterCopy::from_letter(&dead_letter, None)?.insert_copy(db, now)?;
        put_newer_letter(db, &dead_letter, now)?;
        let settled = in_savepoint(db, |db| record_given_up(db, self.record.id(), &body, now));
        // Without that record a repeat of the webhook becomes another dead letter of the same id.
        if let Err(error) = settled {
            tracing::warn!(%error, "no record says that the event was given up");
        }
        Ok(())
    }
}

/// Returns the tenant and the instance that the names of a job tell, as far as they are configured.
fn select_owner(db: &Connection, names: &JobNames) -> DbResult<(Option<TenantId>, Option<InstanceId>)> {
    let (Some(provider), Some(external)) = (names.provider, &names.external) else {
        return Ok((None, None));
    };
    let name = InstanceName::External(provider, external.clone());
    let found = select_instance(db, &name)?;
    Ok(found.map(|found| (found.tenant, found.id)).unzip())
}

impl Embedded {
    /// Records `events` and enqueues those that are not settled, in one transaction. In a data folder, new events go by the
    /// intake log.
    pub(crate) async fn record_and_enqueue_events(
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
        for (place, (event, known)) in incoming.into_iter().zip(known).enumerate() {
            match known {
                None => new.push((place, event)),
                Some(EventState::Pending) => pending.push((place, event)),
                Some(EventState::Applied | EventState::Dead) => {
                    outcomes[place] = RecordEventOutcome::Settled;
                }
            }
        }
        if !pending.is_empty() {
            let (places, pending): (Vec<usize>, Vec<IncomingEvent>) = pending.into_iter().unzip();
            let found = self.record_in_database(pending).await?;
            for (place, outcome) in places.into_iter().zip(found) {
                outcomes[place] = outcome;
            }
        }
        if !new.is_empty() {
            let (places, new): (Vec<usize>, Vec<IncomingEvent>) = new.into_iter().unzip();
            let appended = log.append_events(new).await;
            let appended = appended.map_err(|fault| fault.into_port_error(WHAT))?;
            for (place, _) in places.into_iter().zip(appended).filter(|(_, new)| !new) {
                outcomes[place] = RecordEventOutcome::Pending;
            }
        }
        Ok(outcomes)
    }

    async fn record_in_database(&self, incoming: Vec<IncomingEvent>) -> PortResult<Vec<RecordEventOutcome>> {
        let now = self.current_time();
        let work = move |db: &Connection| {
            incoming
                .iter()
                .map(|event| event.record_and_enqueue(db, now))
                .collect()
        };
        self.run_acknowledged_write(Some(QueueName::Inbound), WHAT, work)
            .await
    }

    /// Returns the state of each event that the database knows.
    async fn find_event_states(&self, events: &[InboundJob]) -> PortResult<Vec<Option<EventState>>> {
        let ids: Vec<EventId> = events.iter().map(|job| job.event.clone()).collect();
        let now = self.current_time();
        let work = move |db: &Connection| {
            ids.iter()
                .map(|id| {
                    let known = select_event_state(db, id.as_str(), now)?;
                    Ok(known.map(|known| match known {
                        StoredEventState::Readable(state) => state,
                        StoredEventState::UnreadablePending => EventState::Pending,
                        StoredEventState::UnreadableSettled => EventState::Applied,
                    }))
                })
                .collect()
        };
        self.run_lookup(WHAT, work).await
    }
}
