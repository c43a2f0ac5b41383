use super::conversations::ConversationRow;
use super::messages::MessageRow;
use crate::Embedded;
use crate::fault::Fault;
use crate::payloads::file_of;
use crate::record::{encode, execute, one};
use jiff::Timestamp;
use recado_domain::event::{EventRecord, EventState, InboundJob, Payload, Processed, StoredAs};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{InboundStored, InboundWrite, Inbox, PortResult, Recorded};
use rusqlite::{Connection, params};
use serde_json::Value;

/// The event's record, unless it expired.
fn event(connection: &Connection, id: &EventId, now: Timestamp) -> Result<Option<EventRecord>, Fault> {
    let sql = "SELECT body FROM events WHERE id = ?1 AND (expires IS NULL OR expires > ?2)";
    one(connection, sql, params![id.as_str(), now.as_millisecond()])
}

/// Only applied events have an `expires`: what is owed or dead stays.
fn put(connection: &Connection, record: &EventRecord, expires: Option<Timestamp>) -> Result<(), Fault> {
    let payload = match &record.job.payload {
        Payload::Stored(key) => Some(file_of(key)),
        Payload::Inline(_) => None,
    };
    let sql = "INSERT OR REPLACE INTO events (id, due, expires, payload, body, correlation)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (due, expires) = (
        record.due().map(Timestamp::as_millisecond),
        expires.map(Timestamp::as_millisecond),
    );
    let (id, correlation) = (record.job.event.as_str(), record.job.correlation.as_str());
    let values = params![id, due, expires, payload, encode(record)?, correlation];
    execute(connection, sql, values)?;
    Ok(())
}

fn record(connection: &Connection, new: &EventRecord, now: Timestamp) -> Result<Recorded, Fault> {
    match event(connection, &new.job.event, now)?.map(|known| known.state) {
        Some(EventState::Pending) => Ok(Recorded::Pending),
        Some(EventState::Applied | EventState::Dead) => Ok(Recorded::Settled),
        None => put(connection, new, None).map(|()| Recorded::New),
    }
}

fn store(
    connection: &Connection,
    id: &EventId,
    conversation: &ConversationRow,
    message: &MessageRow,
    stored: StoredAs,
    now: Timestamp,
) -> Result<InboundStored, Fault> {
    let Some(mut event) = event(connection, id, now)? else {
        return Ok(InboundStored::Conflict);
    };
    if let Some(stored) = event.stored {
        return Ok(InboundStored::Already(stored));
    }
    if event.state != EventState::Pending
        || !conversation.follows(connection)?
        || !message.is_new(connection)?
    {
        return Ok(InboundStored::Conflict);
    }
    event.stored = Some(stored);
    put(connection, &event, None)?;
    conversation.put(connection)?;
    message.put(connection)?;
    Ok(InboundStored::Yes)
}

/// Changes the event if it is in `state`; returns its record as it is then.
fn change(
    connection: &Connection,
    id: &EventId,
    state: EventState,
    now: Timestamp,
    expires: Option<Timestamp>,
    transition: impl FnOnce(&mut EventRecord),
) -> Result<Option<EventRecord>, Fault> {
    let Some(mut record) = event(connection, id, now)?.filter(|record| record.state == state) else {
        return Ok(None);
    };
    transition(&mut record);
    put(connection, &record, expires)?;
    Ok(Some(record))
}

/// Changes a dead event if it died at `died`.
fn of_death(
    connection: &Connection,
    id: &EventId,
    died: Timestamp,
    now: Timestamp,
    expires: Option<Timestamp>,
    transition: impl FnOnce(&mut EventRecord),
) -> Result<bool, Fault> {
    if event(connection, id, now)?.and_then(|record| record.died()) != Some(died) {
        return Ok(false);
    }
    Ok(change(connection, id, EventState::Dead, now, expires, transition)?.is_some())
}

fn settle(record: &mut EventRecord, reason: Option<Reason>, at: Timestamp) {
    record.reason = reason;
    record.settled_at = Some(at);
    if reason.is_some() {
        record.state = EventState::Dead;
    } else {
        record.state = EventState::Applied;
        record.job.payload = Payload::Inline(Value::Null);
    }
}

impl Inbox for Embedded {
    async fn record_event(&self, job: &InboundJob) -> PortResult<Recorded> {
        let (new, now) = (EventRecord::pending(job.clone()), self.now());
        self.write("record_event", move |c| record(c, &new, now)).await
    }

    async fn event(&self, id: &EventId) -> PortResult<Option<EventRecord>> {
        let (id, now) = (id.clone(), self.now());
        self.read("event", move |c| event(c, &id, now)).await
    }

    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<InboundStored> {
        const WHAT: &str = "store_inbound";
        let conversation = ConversationRow::of(write.conversation).map_err(|fault| fault.during(WHAT))?;
        let message = MessageRow::of(write.message).map_err(|fault| fault.during(WHAT))?;
        let stored = StoredAs {
            conversation: write.message.conversation.clone(),
            ordinal: write.message.ordinal,
        };
        let (id, now) = (write.event.clone(), self.now());
        self.write(WHAT, move |c| store(c, &id, &conversation, &message, stored, now))
            .await
    }

    async fn settle_event(
        &self,
        id: &EventId,
        reason: Option<Reason>,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<()> {
        let (id, now) = (id.clone(), self.now());
        let expires = reason.is_none().then_some(expires);
        let work = move |c: &Connection| {
            change(c, &id, EventState::Pending, now, expires, |record| {
                settle(record, reason, at);
            })
        };
        self.write("settle_event", work).await.map(drop)
    }

    async fn finish_event(
        &self,
        id: &EventId,
        processed: &Processed,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<()> {
        let (id, processed, now) = (id.clone(), *processed, self.now());
        let finish = move |record: &mut EventRecord| {
            settle(record, None, at);
            record.processed = Some(processed);
        };
        let work = move |c: &Connection| change(c, &id, EventState::Pending, now, Some(expires), finish);
        self.write("finish_event", work).await.map(drop)
    }

    async fn set_attempts(&self, id: &EventId, seen: u32, attempts: u32) -> PortResult<bool> {
        let (id, now) = (id.clone(), self.now());
        let work = move |c: &Connection| {
            let is_as_read = event(c, &id, now)?.is_some_and(|record| record.attempts == seen);
            let set = |record: &mut EventRecord| record.attempts = attempts;
            Ok(is_as_read && change(c, &id, EventState::Pending, now, None, set)?.is_some())
        };
        self.write("set_attempts", work).await
    }

    async fn revive_event(&self, id: &EventId, died: Timestamp) -> PortResult<bool> {
        let (id, now) = (id.clone(), self.now());
        let revive = |record: &mut EventRecord| {
            record.state = EventState::Pending;
            record.attempts = 0;
            record.reason = None;
            record.settled_at = None;
        };
        let work = move |c: &Connection| of_death(c, &id, died, now, None, revive);
        self.write("revive_event", work).await
    }

    async fn purge_event(
        &self,
        id: &EventId,
        died: Timestamp,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<bool> {
        let (id, now) = (id.clone(), self.now());
        let purge = move |record: &mut EventRecord| {
            settle(record, None, at);
            record.reason = Some(Reason::Purged);
        };
        let work = move |c: &Connection| of_death(c, &id, died, now, Some(expires), purge);
        self.write("purge_event", work).await
    }

    async fn note_again(&self, id: &EventId, at: Timestamp) -> PortResult<u32> {
        let (id, now) = (id.clone(), self.now());
        let note = move |record: &mut EventRecord| {
            record.again = record.again.saturating_add(1);
            record.again_at = Some(at);
        };
        let work = move |c: &Connection| change(c, &id, EventState::Pending, now, None, note);
        Ok(self
            .write("note_again", work)
            .await?
            .map_or(0, |record| record.again))
    }
}
