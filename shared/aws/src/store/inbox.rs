use super::DynamoStore;
use super::conversations::{begin_retention, put_conversation};
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::records;
use super::table::RETRIES_MAX;
use super::transaction::TransactionAction;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventRecord, EventState, InboundJob, MessagePosition};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_ports::ports::{
    EventChange, EventFinish, InboundWrite, Inbox, PortError, PortResult, RecordEventOutcome,
    StoreInboundOutcome, System,
};
use recado_ports::records::dead_letters::{build_index_key, build_replacement};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Table;

/// Returns the condition that an event is in this state.
fn is_in_state(state: &str) -> Expression {
    Expression::new("#state = :is").with_text(":is", state)
}

const PENDING: &str = "pending";
const APPLIED: &str = "applied";

/// Returns the outcome of a refused write of a new event. An item that cannot be read counts as pending: to enqueue its
/// event again does no harm.
fn recording_outcome(found: Option<&Item>) -> RecordEventOutcome {
    match found.and_then(|item| item::get_string(item, "state")) {
        Some(PENDING) | None => RecordEventOutcome::Pending,
        Some(_) => RecordEventOutcome::Settled,
    }
}

/// Returns the place of the message that the found event was stored as. `None` if it has no message yet.
fn parse_stored_as(what: &'static str, found: Option<&Item>) -> PortResult<Option<MessagePosition>> {
    let record = found
        .map(|item| records::parse_event_record(what, item))
        .transpose()?;
    Ok(record.and_then(|record| record.stored))
}

/// Returns the changes that every settled event has in common.
fn settled_change(at: Timestamp) -> UpdateChange {
    UpdateChange::default()
        .set_value("settled_at", number_attribute(at.as_millisecond()))
        .remove_attributes(&["open_shard", "open_due"])
}

/// Returns the changes that mark an event as applied.
fn applied_change(what: &'static str, at: Timestamp, expires: Timestamp) -> PortResult<UpdateChange> {
    Ok(settled_change(at)
        .set_value("state", item::encode_part(what, &EventState::Applied)?)
        .set_value("ttl", number_attribute(expires.as_second()))
        .remove_attributes(&["payload"]))
}

/// Returns the changes that mark an event as applied and tell how.
fn finished_change(what: &'static str, finish: &EventFinish) -> PortResult<UpdateChange> {
    let processed = item::encode_part(what, &finish.processed)?;
    let change = applied_change(what, finish.at, finish.expires)?.set_value("processed", processed);
    Ok(match finish.reason {
        None => change,
        Some(reason) => change.set_value("reason", item::encode_part(what, &reason)?),
    })
}

impl<A: System> DynamoStore<A> {
    /// Changes the item of an event under a condition. Returns whether it was changed; `is_this` recognizes that.
    async fn change_event_item(
        &self,
        what: &'static str,
        id: &EventId,
        change: &UpdateChange,
        condition: Expression,
        is_this: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<bool> {
        let key = TableKey::for_event(id);
        let changed = self
            .table
            .update_record_once(what, key, change, condition, is_this);
        Ok(changed.await?.is_ok())
    }

    /// Changes an event on condition that it was dead-lettered at `failed_at`. Returns whether it was changed.
    async fn update_dead_event(
        &self,
        what: &'static str,
        id: &EventId,
        failed_at: Timestamp,
        change: &UpdateChange,
        is_this: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<bool> {
        let dead = Expression::new("#state = :is AND #settled_at = :failed_at")
            .with_value(":is", item::encode_part(what, &EventState::Dead)?)
            .with_number(":failed_at", failed_at.as_millisecond());
        self.change_event_item(what, id, change, dead, is_this).await
    }

    /// Changes a pending event to an applied one, at `at`. `false`: the event is not pending.
    async fn apply_pending_event(
        &self,
        what: &'static str,
        id: &EventId,
        at: Timestamp,
        change: &UpdateChange,
    ) -> PortResult<bool> {
        let (pending, settled_at) = (is_in_state(PENDING), at.as_millisecond());
        let is_this = |found: &Item| {
            item::get_string(found, "state") == Some(APPLIED)
                && item::get_integer(found, "settled_at") == Some(settled_at)
        };
        self.change_event_item(what, id, change, pending, is_this).await
    }

    /// Marks a pending event as dead, and stores the dead letter of its failure.
    async fn give_up_pending_event(&self, id: &EventId, dead_letter: &DeadLetter) -> PortResult<bool> {
        const WHAT: &str = "settling an event";
        let change = settled_change(dead_letter.at)
            .set_value("state", item::encode_part(WHAT, &EventState::Dead)?)
            .set_value("reason", item::encode_part(WHAT, &dead_letter.reason)?);
        let index_key = build_index_key(&dead_letter.id);
        retry_lost_write(PortError::contended(WHAT), (), |()| async {
            let known = self.get(&index_key).await?;
            let writes = build_replacement(dead_letter, known.as_ref())?;
            let (key, pending) = (TableKey::for_event(id), Some(is_in_state(PENDING)));
            let end = TransactionAction::Update(key, change.clone(), pending);
            let actions = std::iter::once(end).chain(self.build_table_actions(&writes));
            let refused = self.table.run_transaction(WHAT, actions.collect()).await?.err();
            Ok(match refused {
                None => WriteAttempt::Done(true),
                Some(refused) if refused.for_action(0).is_some() => WriteAttempt::Done(false),
                Some(_) => WriteAttempt::Lost(()),
            })
        })
        .await
    }

    async fn set_attempts(&self, id: &EventId, seen: u32, attempts: u32) -> PortResult<bool> {
        const WHAT: &str = "setting an event's attempts";
        let change = UpdateChange::default().set_value("attempts", number_attribute(attempts));
        let as_read = is_in_state(PENDING)
            .and_condition(Expression::new("#attempts = :seen").with_number(":seen", seen));
        // If two workers set the same count at once, a repeated request may tell both that they succeeded. Then one
        // attempt too few is counted, which only means that one more attempt is made and reported.
        let is_this = |found: &Item| {
            item::get_string(found, "state") == Some(PENDING)
                && item::get_integer(found, "attempts") == Some(i64::from(attempts))
        };
        self.change_event_item(WHAT, id, &change, as_read, is_this).await
    }

    async fn revive_dead_event(&self, id: &EventId, failed_at: Timestamp) -> PortResult<bool> {
        const WHAT: &str = "reviving an event";
        let found = self.table.get_record(WHAT, TableKey::for_event(id)).await?;
        let record = found.map(|item| records::parse_event_record(WHAT, &item));
        let record = record.transpose()?;
        let Some(record) = record.filter(|record| record.failed_at() == Some(failed_at)) else {
            return Ok(false);
        };
        let pending = EventRecord {
            state: EventState::Pending,
            ..record
        };
        let change = UpdateChange::default()
            .set_value("state", text_attribute(PENDING))
            .set_value("attempts", number_attribute(0))
            .remove_attributes(&["reason", "settled_at", "ttl"]);
        let change = change.index_open(&TableKey::for_event(id), pending.overdue_at());
        // Only a redrive of this failure makes the dead event pending again.
        let is_this = |found: &Item| item::get_string(found, "state") == Some(PENDING);
        self.update_dead_event(WHAT, id, failed_at, &change, is_this)
            .await
    }

    async fn purge_dead_event(
        &self,
        id: &EventId,
        failed_at: Timestamp,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<bool> {
        const WHAT: &str = "settling a dead event for good";
        let reason = item::encode_part(WHAT, &Reason::Purged)?;
        let change = applied_change(WHAT, at, expires)?.set_value("reason", reason);
        let settled_at = at.as_millisecond();
        let is_this = |found: &Item| item::get_integer(found, "settled_at") == Some(settled_at);
        self.update_dead_event(WHAT, id, failed_at, &change, is_this)
            .await
    }
}

#[async_trait]
impl<A: System> Inbox for DynamoStore<A> {
    async fn record_event(&self, job: &InboundJob) -> PortResult<RecordEventOutcome> {
        const WHAT: &str = "recording an event";
        let item = records::event_item(WHAT, &EventRecord::new_pending(job.clone()))?;
        // `DynamoDB` removes expired records hours late, so an expired one counts as gone.
        let new = Expression::new("attribute_not_exists(#pk) OR (#state <> :pending AND #ttl < :seconds)")
            .with_text(":pending", PENDING)
            .with_number(":seconds", job.received_at.as_second());
        Ok(match self.table.put_record(WHAT, item, Some(new)).await? {
            Ok(()) => RecordEventOutcome::New,
            Err(refused) => recording_outcome(refused.0.as_ref()),
        })
    }

    async fn find_event(&self, id: &EventId) -> PortResult<Option<EventRecord>> {
        const WHAT: &str = "reading an event";
        let found = self.table.get_record(WHAT, TableKey::for_event(id)).await?;
        found
            .and_then(|item| item::unexpired(item, self.table.system.now()))
            .map(|item| records::parse_event_record(WHAT, &item))
            .transpose()
    }

    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<StoreInboundOutcome> {
        const WHAT: &str = "storing an inbound message";
        let place = MessagePosition {
            conversation: write.conversation.id.clone(),
            ordinal: write.message.ordinal,
        };
        let owed =
            Expression::new("#state = :is AND attribute_not_exists(#stored)").with_text(":is", PENDING);
        let end = match write.finish {
            None => UpdateChange::default(),
            Some(finish) => finished_change(WHAT, finish)?,
        };
        let note = end.set_value("stored", item::encode_part(WHAT, &place)?);
        let mut actions = vec![
            TransactionAction::Update(TableKey::for_event(write.event), note, Some(owed)),
            put_conversation(WHAT, write.conversation)?,
            TransactionAction::put(records::message_item(WHAT, write.message)?),
        ];
        actions.extend(begin_retention(write.conversation));
        let Err(refusals) = self.table.run_transaction(WHAT, actions).await? else {
            return Ok(StoreInboundOutcome::Stored);
        };
        let found = refusals.for_action(0).and_then(|refused| refused.0.as_ref());
        Ok(parse_stored_as(WHAT, found)?
            .map_or(StoreInboundOutcome::Conflict, StoreInboundOutcome::AlreadyStored))
    }

    async fn change_event(&self, id: &EventId, change: EventChange<'_>) -> PortResult<bool> {
        match change {
            EventChange::SetAttempts { seen, attempts } => self.set_attempts(id, seen, attempts).await,
            EventChange::Apply { at, expires } => {
                const WHAT: &str = "settling an event";
                self.apply_pending_event(WHAT, id, at, &applied_change(WHAT, at, expires)?)
                    .await
            }
            EventChange::Finish(finish) => {
                const WHAT: &str = "finishing an event";
                self.apply_pending_event(WHAT, id, finish.at, &finished_change(WHAT, finish)?)
                    .await
            }
            EventChange::GiveUp { dead_letter, .. } => self.give_up_pending_event(id, dead_letter).await,
            EventChange::Revive { failed_at } => self.revive_dead_event(id, failed_at).await,
            EventChange::Purge {
                failed_at,
                at,
                expires,
            } => self.purge_dead_event(id, failed_at, at, expires).await,
        }
    }

    /// Notes that a pending event is enqueued again, on condition that it was enqueued as often as was read. If that fails, all is tried
    /// again.
    async fn record_reenqueue(&self, id: &EventId, at: Timestamp) -> PortResult<Option<EventRecord>> {
        const WHAT: &str = "noting an event enqueued again";
        for round in 0..RETRIES_MAX {
            let key = TableKey::for_event(id);
            let Some(found) = self.table.get_record(WHAT, key.clone()).await? else {
                return Ok(None);
            };
            let mut record = records::parse_event_record(WHAT, &found)?;
            if record.state != EventState::Pending {
                return Ok(None);
            }
            let seen = Expression::new("#again = :seen").with_number(":seen", record.again);
            let seen = is_in_state(PENDING).and_condition(seen);
            record.again = record.again.saturating_add(1);
            record.again_at = Some(at);
            let change = UpdateChange::default()
                .set_value("again", number_attribute(record.again))
                .set_value("again_at", number_attribute(at.as_millisecond()))
                .index_open(&key, record.overdue_at());
            let is_this =
                |found: &Item| records::parse_event_record(WHAT, found).is_ok_and(|found| found == record);
            let changed = self.table.update_record_once(WHAT, key, &change, seen, is_this);
            match changed.await? {
                Ok(()) => return Ok(Some(record)),
                Err(_) => self.table.wait_before_retry(round).await,
            }
        }
        Err(PortError::unavailable(WHAT, "others keep changing the event"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_recording_tells_what_is_owed_from_what_is_settled() {
        let found = |state: &str| Item::from([("state".to_owned(), text_attribute(state))]);
        assert_eq!(
            recording_outcome(Some(&found("pending"))),
            RecordEventOutcome::Pending
        );
        assert_eq!(
            recording_outcome(Some(&found("applied"))),
            RecordEventOutcome::Settled
        );
        assert_eq!(
            recording_outcome(Some(&found("dead"))),
            RecordEventOutcome::Settled
        );
        assert_eq!(recording_outcome(None), RecordEventOutcome::Pending);
    }
}
