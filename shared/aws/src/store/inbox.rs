use super::DynamoStore;
use super::conversations::follows;
use super::expression::{Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::Key;
use super::records;
use super::transaction::Action;
use aws_sdk_dynamodb::types::ReturnValue;
use jiff::Timestamp;
use recado_domain::event::{EventRecord, EventState, InboundJob, Processed, StoredAs};
use recado_domain::ids::EventId;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{Ambient, InboundStored, InboundWrite, Inbox, PortError, PortResult, Recorded};

/// The condition that an event is in this state.
fn is(state: &str) -> Expression {
    Expression::new("#state = :is").text(":is", state)
}

const PENDING: &str = "pending";

/// What a refused recording found. Whatever cannot be read counts as owed: enqueueing it again is harmless.
fn recorded(found: Option<&Item>) -> Recorded {
    match found.and_then(|item| item::string(item, "state")) {
        Some(PENDING) | None => Recorded::Pending,
        Some(_) => Recorded::Settled,
    }
}

/// Where a refused write's event has its message, if it has one.
fn stored(what: &'static str, found: Option<&Item>) -> PortResult<Option<StoredAs>> {
    let record = found.map(|item| records::read_event(what, item)).transpose()?;
    Ok(record.and_then(|record| record.stored))
}

/// What settling an event changes, however it ended.
fn settled(at: Timestamp) -> Change {
    Change::default()
        .set("settled_at", number(at.as_millisecond()))
        .remove(&["open_shard", "open_due"])
}

/// What applying an event changes.
fn applied(what: &'static str, at: Timestamp, expires: Timestamp) -> PortResult<Change> {
    Ok(settled(at)
        .set("state", item::part(what, &EventState::Applied)?)
        .set("ttl", number(expires.as_second()))
        .remove(&["payload"]))
}

impl<A: Ambient> DynamoStore<A> {
    /// Reads an event, lets `change` say what becomes of it, and writes that on condition that it is still in `state`
    /// and has been enqueued as often as was read. `None` if it is not in that state.
    async fn change_event(
        &self,
        what: &'static str,
        id: &EventId,
        state: EventState,
        change: impl Fn(&mut EventRecord) -> Change + Send + Sync,
    ) -> PortResult<Option<EventRecord>> {
        for round in 0..super::table::ROUNDS {
            let Some(found) = self.table.get(what, Key::event(id)).await? else {
                return Ok(None);
            };
            let mut record = records::read_event(what, &found)?;
            if record.state != state {
                return Ok(None);
            }
            let seen = Expression::new("#state = :was AND #again = :seen")
                .with(":was", item::part(what, &record.state)?)
                .number(":seen", record.again);
            let change = change(&mut record);
            let change = match record.due() {
                Some(due) => change
                    .set("open_shard", text(Key::event(id).shard()))
                    .set("open_due", number(due.as_millisecond())),
                None => change.remove(&["open_shard", "open_due"]),
            };
            let is_this = |found: &Item| records::read_event(what, found).is_ok_and(|found| found == record);
            let key = Key::event(id);
            let changed = self
                .table
                .update_known(what, key, &change, Some(seen), ReturnValue::None, is_this);
            match changed.await? {
                Ok(_) => return Ok(Some(record)),
                Err(_) => self.table.pause(round).await,
            }
        }
        Err(PortError::unavailable(what, "others keep changing the event"))
    }
}

impl<A: Ambient> DynamoStore<A> {
    /// The event's record, if it is dead of the death at `died`.
    async fn of_death(
        &self,
        what: &'static str,
        id: &EventId,
        died: Timestamp,
    ) -> PortResult<Option<EventRecord>> {
        let found = self.table.get(what, Key::event(id)).await?;
        let record = found.map(|item| records::read_event(what, &item)).transpose()?;
        Ok(record.filter(|record| record.died() == Some(died)))
    }

    /// Changes an event on condition that it is dead of the death at `died`.
    async fn change_death(
        &self,
        what: &'static str,
        id: &EventId,
        died: Timestamp,
        change: &Change,
        is_this: impl Fn(&Item) -> bool + Send,
    ) -> PortResult<bool> {
        let dead = Expression::new("#state = :is AND #settled_at = :died")
            .with(":is", item::part(what, &EventState::Dead)?)
            .number(":died", died.as_millisecond());
        let key = Key::event(id);
        let changed = self
            .table
            .update_known(what, key, change, Some(dead), ReturnValue::None, is_this);
        Ok(changed.await?.is_ok())
    }
}

impl<A: Ambient> DynamoStore<A> {
    /// Changes a pending event to what it ends as. Refused: it is settled already, which is as good.
    async fn settle(&self, what: &'static str, id: &EventId, change: &Change) -> PortResult<()> {
        let _settled = self
            .table
            .update(what, Key::event(id), change, Some(is(PENDING)), ReturnValue::None)
            .await?;
        Ok(())
    }
}

impl<A: Ambient> Inbox for DynamoStore<A> {
    async fn record_event(&self, job: &InboundJob) -> PortResult<Recorded> {
        const WHAT: &str = "recording an event";
        let item = records::event(WHAT, &EventRecord::pending(job.clone()))?;
        // Expiry removes records hours late; one that has expired counts as gone.
        let new = Expression::new("attribute_not_exists(#pk) OR (#state <> :pending AND #ttl < :seconds)")
            .text(":pending", PENDING)
            .number(":seconds", job.received_at.as_second());
        Ok(match self.table.put(WHAT, item, Some(new)).await? {
            Ok(()) => Recorded::New,
            Err(refused) => recorded(refused.0.as_ref()),
        })
    }

    async fn event(&self, id: &EventId) -> PortResult<Option<EventRecord>> {
        const WHAT: &str = "reading an event";
        let found = self.table.get(WHAT, Key::event(id)).await?;
        found
            .and_then(|item| item::unexpired(item, self.table.ambient.now()))
            .map(|item| records::read_event(WHAT, &item))
            .transpose()
    }

    async fn store_inbound(&self, write: InboundWrite<'_>) -> PortResult<InboundStored> {
        const WHAT: &str = "storing an inbound message";
        let place = StoredAs {
            conversation: write.conversation.id.clone(),
            ordinal: write.message.ordinal,
        };
        let owed = Expression::new("#state = :is AND attribute_not_exists(#stored)").text(":is", PENDING);
        let note = Change::default().set("stored", item::part(WHAT, &place)?);
        let actions = vec![
            Action::Update(Key::event(write.event), note, Some(owed)),
            Action::Put(
                records::conversation(WHAT, write.conversation)?,
                Some(follows(write.conversation)),
            ),
            Action::Put(records::message(WHAT, write.message)?, None),
        ];
        let Err(refusals) = self.table.transact(WHAT, actions).await? else {
            return Ok(InboundStored::Yes);
        };
        let found = refusals.of(0).and_then(|refused| refused.0.as_ref());
        Ok(stored(WHAT, found)?.map_or(InboundStored::Conflict, InboundStored::Already))
    }

    async fn settle_event(
        &self,
        id: &EventId,
        reason: Option<Reason>,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<()> {
        const WHAT: &str = "settling an event";
        let change = match reason {
            None => applied(WHAT, at, expires)?,
            Some(reason) => settled(at)
                .set("state", item::part(WHAT, &EventState::Dead)?)
                .set("reason", item::part(WHAT, &reason)?),
        };
        self.settle(WHAT, id, &change).await
    }

    async fn finish_event(
        &self,
        id: &EventId,
        processed: &Processed,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<()> {
        const WHAT: &str = "finishing an event";
        let change = applied(WHAT, at, expires)?.set("processed", item::part(WHAT, processed)?);
        self.settle(WHAT, id, &change).await
    }

    async fn set_attempts(&self, id: &EventId, seen: u32, attempts: u32) -> PortResult<bool> {
        const WHAT: &str = "setting an event's attempts";
        let change = Change::default().set("attempts", number(attempts));
        let as_read = is(PENDING).and(Expression::new("#attempts = :seen").number(":seen", seen));
        // Two workers that set the same at once may both be told so after a repeated request: it is one attempt more
        // that ends with a report, not one that is lost.
        let is_this = |found: &Item| {
            item::string(found, "state") == Some(PENDING)
                && item::whole(found, "attempts") == Some(i64::from(attempts))
        };
        let key = Key::event(id);
        let set = self
            .table
            .update_known(WHAT, key, &change, Some(as_read), ReturnValue::None, is_this);
        Ok(set.await?.is_ok())
    }

    async fn revive_event(&self, id: &EventId, died: Timestamp) -> PortResult<bool> {
        const WHAT: &str = "reviving an event";
        let Some(record) = self.of_death(WHAT, id, died).await? else {
            return Ok(false);
        };
        let pending = EventRecord {
            state: EventState::Pending,
            ..record
        };
        let change = Change::default()
            .set("state", text(PENDING))
            .set("attempts", number(0))
            .remove(&["reason", "settled_at", "ttl"]);
        let change = match pending.due() {
            Some(due) => change
                .set("open_shard", text(Key::event(id).shard()))
                .set("open_due", number(due.as_millisecond())),
            None => change,
        };
        // Nobody else makes a dead event pending but who undoes this death.
        let is_this = |found: &Item| item::string(found, "state") == Some(PENDING);
        self.change_death(WHAT, id, died, &change, is_this).await
    }

    async fn purge_event(
        &self,
        id: &EventId,
        died: Timestamp,
        at: Timestamp,
        expires: Timestamp,
    ) -> PortResult<bool> {
        const WHAT: &str = "settling a dead event for good";
        let change = Change::default()
            .set("state", item::part(WHAT, &EventState::Applied)?)
            .set("reason", item::part(WHAT, &Reason::Purged)?)
            .set("settled_at", number(at.as_millisecond()))
            .set("ttl", number(expires.as_second()))
            .remove(&["payload", "open_shard", "open_due"]);
        let settled_at = at.as_millisecond();
        let is_this = |found: &Item| item::whole(found, "settled_at") == Some(settled_at);
        self.change_death(WHAT, id, died, &change, is_this).await
    }

    async fn note_again(&self, id: &EventId, at: Timestamp) -> PortResult<u32> {
        let note = |record: &mut EventRecord| {
            record.again = record.again.saturating_add(1);
            record.again_at = Some(at);
            Change::default()
                .set("again", number(record.again))
                .set("again_at", number(at.as_millisecond()))
        };
        let noted = self
            .change_event("noting an event enqueued again", id, EventState::Pending, note)
            .await?;
        Ok(noted.map_or(0, |record| record.again))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_recording_tells_what_is_owed_from_what_is_settled() {
        let found = |state: &str| Item::from([("state".to_owned(), text(state))]);
        assert_eq!(recorded(Some(&found("pending"))), Recorded::Pending);
        assert_eq!(recorded(Some(&found("applied"))), Recorded::Settled);
        assert_eq!(recorded(Some(&found("dead"))), Recorded::Settled);
        assert_eq!(recorded(None), Recorded::Pending);
    }
}
