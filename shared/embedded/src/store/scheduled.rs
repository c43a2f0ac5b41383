use super::conversations::{ConversationRow, keep_key, used_key};
use super::messages::MessageRow;
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{decode, encode, execute, exists, integer, limit, one};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::millis;
use recado_domain::scheduled::{Scheduled, ScheduledId};
use recado_pipeline::ports::{Committed, KeyClaim, PortResult, Scheduling, Written};
use rusqlite::{Connection, OptionalExtension, params};

/// A scheduled message as it lies in its table.
struct ScheduledRow {
    id: ScheduledId,
    rev: i64,
    due: Option<i64>,
    body: String,
}

impl ScheduledRow {
    fn of(scheduled: &Scheduled) -> Result<Self, Fault> {
        Ok(Self {
            id: scheduled.id.clone(),
            rev: integer(scheduled.rev),
            due: scheduled.due().map(Timestamp::as_millisecond),
            body: encode(scheduled)?,
        })
    }

    /// Whether the stored one is the one that this was made from.
    fn follows(&self, connection: &Connection) -> Result<bool, Fault> {
        let stored: Option<i64> = connection
            .prepare_cached("SELECT rev FROM scheduled WHERE id = ?1")?
            .query_row([self.id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(stored == Some(self.rev - 1))
    }

    fn put(&self, connection: &Connection) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO scheduled (id, rev, due, body) VALUES (?1, ?2, ?3, ?4)";
        execute(
            connection,
            sql,
            params![self.id.as_str(), self.rev, self.due, self.body],
        )?;
        Ok(())
    }
}

fn put_new(
    connection: &Connection,
    row: &ScheduledRow,
    message: &MessageId,
    claim: Option<&KeyClaim>,
    now: Timestamp,
) -> Result<Committed, Fault> {
    if let Some(taken) = used_key(connection, claim, now)? {
        return Ok(Committed::KeyTaken(taken));
    }
    if exists(
        connection,
        "SELECT 1 FROM scheduled WHERE id = ?1",
        [row.id.as_str()],
    )? {
        return Ok(Committed::Conflict);
    }
    row.put(connection)?;
    keep_key(connection, claim, message)?;
    Ok(Committed::Yes)
}

fn save(connection: &Connection, row: &ScheduledRow) -> Result<Written, Fault> {
    if !row.follows(connection)? {
        return Ok(Written::Conflict);
    }
    row.put(connection)?;
    Ok(Written::Yes)
}

fn fall_due(
    connection: &Connection,
    row: &ScheduledRow,
    conversation: &ConversationRow,
    message: &MessageRow,
) -> Result<Written, Fault> {
    if !row.follows(connection)? || !conversation.follows(connection)? || !message.is_new(connection)? {
        return Ok(Written::Conflict);
    }
    row.put(connection)?;
    conversation.put(connection)?;
    message.put(connection)?;
    Ok(Written::Yes)
}

impl Scheduling for Embedded {
    async fn put_scheduled(&self, scheduled: &Scheduled, key: Option<&KeyClaim>) -> PortResult<Committed> {
        const WHAT: &str = "put_scheduled";
        let row = ScheduledRow::of(scheduled).map_err(|fault| fault.during(WHAT))?;
        let (message, key, now) = (scheduled.id.message().clone(), key.cloned(), self.now());
        self.write(WHAT, move |c| put_new(c, &row, &message, key.as_ref(), now))
            .await
    }

    async fn scheduled(&self, id: &ScheduledId) -> PortResult<Option<Scheduled>> {
        let id = id.clone();
        let sql = "SELECT body FROM scheduled WHERE id = ?1";
        self.read("scheduled", move |c| one(c, sql, [id.as_str()])).await
    }

    async fn save_scheduled(&self, scheduled: &Scheduled) -> PortResult<Written> {
        const WHAT: &str = "save_scheduled";
        let row = ScheduledRow::of(scheduled).map_err(|fault| fault.during(WHAT))?;
        self.write(WHAT, move |c| save(c, &row)).await
    }

    async fn fall_due(
        &self,
        scheduled: &Scheduled,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<Written> {
        const WHAT: &str = "fall_due";
        let row = ScheduledRow::of(scheduled).map_err(|fault| fault.during(WHAT))?;
        let conversation = ConversationRow::of(conversation).map_err(|fault| fault.during(WHAT))?;
        let message = MessageRow::of(message).map_err(|fault| fault.during(WHAT))?;
        self.write(WHAT, move |c| fall_due(c, &row, &conversation, &message))
            .await
    }
}

impl Embedded {
    /// The scheduled messages that are due at `now`, the longest due first, at most `most`; and when the next one is, if
    /// none is. So that the process that serves need not wait for `reconcile`.
    pub async fn scheduled_until(
        &self,
        now: Timestamp,
        most: usize,
    ) -> PortResult<(Vec<ScheduledId>, Option<Timestamp>)> {
        let work = move |c: &Connection| {
            let mut statement = c.prepare_cached(
                "SELECT body, due FROM scheduled WHERE due IS NOT NULL ORDER BY due LIMIT ?1",
            )?;
            let mut rows = statement.query([limit(most)])?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                let at: i64 = row.get(1)?;
                if at > now.as_millisecond() {
                    return Ok((due, Some(millis::instant(at))));
                }
                let scheduled: Scheduled = decode(&row.get::<_, String>(0)?)?;
                due.push(scheduled.id);
            }
            Ok((due, None))
        };
        self.read("scheduled_until", work).await
    }
}
