mod event_row;

use super::conversation_row::ConversationRow;
use super::dead_letters::replace_letter;
use super::messages::MessageRow;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::keep_readable;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventPayload, EventRecord, EventState, FollowUpJob, InboundJob, MessagePosition};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_ports::ports::{
    EventChange, EventFinish, InboundWrite, Inbox, PortResult, RecordEventOutcome, StoreInboundOutcome,
};
use rusqlite::Connection;
use serde::de::IgnoredAny;
use serde_json::Value;

pub(crate) use event_row::{
    EventRow, RecordedEvent, StoredEventState, cut_out_job, record_given_up, select_event_state,
};
use event_row::{select_event, settle_record, settle_unreadable};

pub(super) fn upsert_event(
    db: &Connection,
    record: &EventRecord,
    expires: Option<Timestamp>,
) -> DbResult<()> {
    EventRow::from_record(record, expires)?.write_row(db)
}

/// The rows that are written when an inbound message is stored.
pub(crate) struct InboundRows {
    event: EventId,
    conversation: ConversationRow,
    message: MessageRow,
    stored: MessagePosition,
    finish: Option<EventFinish>,
}

impl InboundRows {
    pub(crate) fn from_write(write: &InboundWrite<'_>) -> DbResult<Self> {
        Ok(Self {
            event: write.event.clone(),
            conversation: ConversationRow::from_conversation(write.conversation)?,
            message: MessageRow::from_message(write.message)?,
            stored: MessagePosition {
                conversation: write.message.conversation.clone(),
                ordinal: write.message.ordinal,
            },
            finish: write.finish.copied(),
        })
    }

    /// Writes the message with its event and conversation.
    pub(crate) fn write_rows(&self, db: &Connection, now: Timestamp) -> DbResult<StoreInboundOutcome> {
        let id = self.event.as_str();
        // The body, which nobody needs once the event is applied, is not read.
        let found = if self.finish.is_some() {
            let found = select_event::<IgnoredAny>(db, id, now)?;
            found.map(|event| event.with_payload(EventPayload::Inline(Value::Null)))
        } else {
            select_event(db, id, now)?
        };
        let Some(mut event) = found else {
            return Ok(StoreInboundOutcome::Conflict);
        };
        if let Some(stored) = event.stored {
            return Ok(StoreInboundOutcome::AlreadyStored(stored));
        }
        if event.state != EventState::Pending {
            return Ok(StoreInboundOutcome::Conflict);
        }
        let checked = (self.conversation.check_stored(db)?, self.message.check_new(db)?);
        let (Some(conversation), Some(message)) = checked else {
            return Ok(StoreInboundOutcome::Conflict);
        };
        event.stored = Some(self.stored.clone());
        if let Some(finish) = &self.finish {
            finish_record(&mut event, finish);
        }
        upsert_event(db, &event, self.finish.map(|finish| finish.expires))?;
        conversation.write_row(db, now)?;
        message.write_row(db, now)?;
        Ok(StoreInboundOutcome::Stored)
    }
}

/// Changes the event if it is in `state`. Returns its new record. `None` if it is in another state or does not exist.
fn update_event_in_state(
    db: &Connection,
    id: &EventId,
    state: EventState,
    now: Timestamp,
    expires: Option<Timestamp>,
    transition: impl FnOnce(&mut EventRecord),
) -> DbResult<Option<EventRecord>> {
    let Some(mut record) =
        select_event::<EventPayload>(db, id.as_str(), now)?.filter(|record| record.state == state)
    else {
        return Ok(None);
    };
    transition(&mut record);
    upsert_event(db, &record, expires)?;
    Ok(Some(record))
}

fn revive_record(record: &mut EventRecord) {
    record.state = EventState::Pending;
    record.attempts = 0;
    record.reason = None;
    record.settled_at = None;
}

fn finish_record(record: &mut EventRecord, finish: &EventFinish) {
    settle_record(record, None, finish.at);
    record.reason = finish.reason;
    record.processed = Some(finish.processed);
}

impl Embedded {
    /// Marks a pending event as applied, or with a dead letter as dead.
    async fn settle_pending_event(
        &self,
        id: &EventId,
        dead_letter: Option<&DeadLetter>,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<bool> {
        let (id, dead_letter, now) = (id.clone(), dead_letter.cloned(), self.current_time());
        let reason = dead_letter.as_ref().map(|dead_letter| dead_letter.reason);
        let kept_until = reason.is_none().then_some(expires);
        let work = move |db: &Connection| {
            let settle = |record: &mut EventRecord| settle_record(record, reason, at);
            let settled = update_event_in_state(db, &id, EventState::Pending, now, kept_until, settle);
            let is_settled = match keep_readable("events", settled)? {
                Some(record) => record.is_some(),
                None => settle_unreadable(db, &id, reason, (at, expires))?,
            };
            if let Some(dead_letter) = dead_letter.as_ref().filter(|_| is_settled) {
                replace_letter(db, dead_letter, now)?;
            }
            Ok(is_settled)
        };
        self.run_write("settle_event", work).await
    }

    async fn finish_pending_event(&self, id: &EventId, finish: &EventFinish) -> PortResult<bool> {
        let (id, finish, now) = (id.clone(), *finish, self.current_time());
        let work = move |db: &Connection| {
            let end = |record: &mut EventRecord| finish_record(record, &finish);
            update_event_in_state(db, &id, EventState::Pending, now, Some(finish.expires), end)
        };
        let finished = self.run_write("finish_event", work).await?;
        if finish.reason.is_some() || finish.processed.enqueued == FollowUpJob::Ignored {
            self.note_left_out();
        }
        Ok(finished.is_some())
    }

    async fn set_attempts(&self, id: &EventId, seen: u32, attempts: u32) -> PortResult<bool> {
        let (id, now) = (id.clone(), self.current_time());
        let work = move |db: &Connection| {
            let known = select_event::<IgnoredAny>(db, id.as_str(), now)?;
            let is_as_read = known.is_some_and(|record| record.attempts == seen);
            let set = |record: &mut EventRecord| record.attempts = attempts;
            Ok(is_as_read && update_event_in_state(db, &id, EventState::Pending, now, None, set)?.is_some())
        };
        self.run_write("set_attempts", work).await
    }

    /// Changes a dead event if it was dead-lettered at `failed_at`. Returns whether it was changed.
    async fn change_dead_event(
        &self,
        what: &'static str,
        id: &EventId,
        failed_at: Timestamp,
        expires: Option<Timestamp>,
        change: impl Fn(&mut EventRecord) + Send + 'static,
    ) -> PortResult<bool> {
        let (id, now) = (id.clone(), self.current_time());
        let work = move |db: &Connection| {
            let known = select_event::<IgnoredAny>(db, id.as_str(), now)?;
            if known.and_then(|record| record.failed_at()) != Some(failed_at) {
                return Ok(false);
            }
            Ok(update_event_in_state(db, &id, EventState::Dead, now, expires, &change)?.is_some())
        };
        self.run_write(what, work).await
    }
}

#[async_trait]
impl Inbox for Embedded {
    async fn record_event(&self, job: &InboundJob) -> PortResult<RecordEventOutcome> {
        const WHAT: &str = "record_event";
        let new = EventRow::from_record(&EventRecord::new_pending(job.with_borrowed_payload()), None)
            .map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        self.run_write(WHAT, move |db| new.insert_new(db, now).map(Into::into))
            .await
    }

    async fn find_event(&self, id: &EventId) -> PortResult<Option<EventRecord>> {
        let now = self.current_time();
        let find = async || {
            let id = id.clone();
            self.run_lookup("event", move |db| select_event(db, id.as_str(), now))
                .await
        };
        let was_waiting = self.has_waiting_intake();
        let found = find().await?;
        if found.is_some() || !was_waiting {
            return Ok(found);
        }
        self.wait_for_intake("event").await?;
        find().await
    }

    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<StoreInboundOutcome> {
        const WHAT: &str = "store_inbound";
        let rows = InboundRows::from_write(&write).map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        self.run_write(WHAT, move |db| rows.write_rows(db, now)).await
    }

    async fn change_event(&self, id: &EventId, change: EventChange<'_>) -> PortResult<bool> {
        match change {
            EventChange::SetAttempts { seen, attempts } => self.set_attempts(id, seen, attempts).await,
            EventChange::Apply { at, expires } => self.settle_pending_event(id, None, at, expires).await,
            EventChange::Finish(finish) => self.finish_pending_event(id, finish).await,
            EventChange::GiveUp { dead_letter, expires } => {
                self.settle_pending_event(id, Some(dead_letter), dead_letter.at, expires)
                    .await
            }
            EventChange::Revive { failed_at } => {
                self.change_dead_event("revive_event", id, failed_at, None, revive_record)
                    .await
            }
            EventChange::Purge {
                failed_at,
                at,
                expires,
            } => {
                let purge = move |record: &mut EventRecord| {
                    settle_record(record, None, at);
                    record.reason = Some(Reason::Purged);
                };
                self.change_dead_event("purge_event", id, failed_at, Some(expires), purge)
                    .await
            }
        }
    }

    async fn record_reenqueue(&self, id: &EventId, at: Timestamp) -> PortResult<Option<EventRecord>> {
        let (id, now) = (id.clone(), self.current_time());
        let note = move |record: &mut EventRecord| {
            record.again = record.again.saturating_add(1);
            record.again_at = Some(at);
        };
        let work =
            move |db: &Connection| update_event_in_state(db, &id, EventState::Pending, now, None, note);
        self.run_write("note_again", work).await
    }
}
