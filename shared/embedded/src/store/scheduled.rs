use super::conversation_row::ConversationRow;
use super::idempotency_keys::{insert_key, select_used_key};
use super::messages::MessageRow;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    decode_column, encode_json, execute_sql, keep_readable, query_one, row_exists, to_sql_integer,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::millis;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use recado_ports::ports::{CommitOutcome, IdempotencyClaim, PortResult, ScheduledMessages, WriteOutcome};
use rusqlite::{Connection, OptionalExtension, params};

/// A row of the table of scheduled messages.
pub(super) struct ScheduledRow {
    id: ScheduledId,
    rev: i64,
    due: Option<i64>,
    expires: Option<i64>,
    body: String,
}

impl ScheduledRow {
    pub(super) fn from_scheduled(scheduled: &ScheduledMessage) -> Result<Self, DbError> {
        Ok(Self {
            id: scheduled.id.clone(),
            rev: to_sql_integer(scheduled.rev),
            due: scheduled.send_due_at().map(Timestamp::as_millisecond),
            expires: scheduled.expires_at().map(Timestamp::as_millisecond),
            body: encode_json(scheduled)?,
        })
    }

    /// Returns whether the stored row is the one that this row was made from: its `rev` is one lower.
    fn follows_stored(&self, connection: &Connection) -> Result<bool, DbError> {
        let stored: Option<i64> = connection
            .prepare_cached("SELECT rev FROM scheduled WHERE id = ?1")?
            .query_row([self.id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(stored == Some(self.rev - 1))
    }

    pub(super) fn write_row(&self, connection: &Connection) -> Result<(), DbError> {
        let sql =
            "INSERT OR REPLACE INTO scheduled (id, rev, due, expires, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        execute_sql(
            connection,
            sql,
            params![self.id.as_str(), self.rev, self.due, self.expires, self.body],
        )?;
        Ok(())
    }
}

fn insert_scheduled(
    connection: &Connection,
    row: &ScheduledRow,
    message: &MessageId,
    claim: Option<&IdempotencyClaim>,
    now: Timestamp,
) -> Result<CommitOutcome, DbError> {
    if let Some(taken) = select_used_key(connection, claim, now)? {
        return Ok(CommitOutcome::KeyTaken(taken));
    }
    if row_exists(
        connection,
        "SELECT 1 FROM scheduled WHERE id = ?1",
        [row.id.as_str()],
    )? {
        return Ok(CommitOutcome::Conflict);
    }
    row.write_row(connection)?;
    insert_key(connection, claim, message)?;
    Ok(CommitOutcome::Committed)
}

fn save_scheduled_row(connection: &Connection, row: &ScheduledRow) -> Result<WriteOutcome, DbError> {
    if !row.follows_stored(connection)? {
        return Ok(WriteOutcome::Conflict);
    }
    row.write_row(connection)?;
    Ok(WriteOutcome::Written)
}

fn write_fallen_due(
    connection: &Connection,
    row: &ScheduledRow,
    conversation: &ConversationRow,
    message: &MessageRow,
    now: Timestamp,
) -> Result<WriteOutcome, DbError> {
    if !row.follows_stored(connection)? {
        return Ok(WriteOutcome::Conflict);
    }
    let (Some(conversation), Some(message)) = (
        conversation.check_stored(connection)?,
        message.check_new(connection)?,
    ) else {
        return Ok(WriteOutcome::Conflict);
    };
    row.write_row(connection)?;
    conversation.write_row(connection, now)?;
    message.write_row(connection, now)?;
    Ok(WriteOutcome::Written)
}

impl ScheduledMessages for Embedded {
    async fn put_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        key: Option<&IdempotencyClaim>,
    ) -> PortResult<CommitOutcome> {
        const WHAT: &str = "put_scheduled";
        let row = ScheduledRow::from_scheduled(scheduled).map_err(|fault| fault.into_port_error(WHAT))?;
        let (message, key, now) = (
            scheduled.id.as_message_id().clone(),
            key.cloned(),
            self.current_time(),
        );
        self.run_write(WHAT, move |c| {
            insert_scheduled(c, &row, &message, key.as_ref(), now)
        })
        .await
    }

    async fn find_scheduled(&self, id: &ScheduledId) -> PortResult<Option<ScheduledMessage>> {
        let (id, now) = (id.clone(), self.current_time().as_millisecond());
        let sql = "SELECT body FROM scheduled WHERE id = ?1 AND (expires IS NULL OR expires > ?2)";
        self.run_lookup("scheduled", move |c| query_one(c, sql, params![id.as_str(), now]))
            .await
    }

    async fn save_scheduled(&self, scheduled: &ScheduledMessage) -> PortResult<WriteOutcome> {
        const WHAT: &str = "save_scheduled";
        let row = ScheduledRow::from_scheduled(scheduled).map_err(|fault| fault.into_port_error(WHAT))?;
        self.run_write(WHAT, move |c| save_scheduled_row(c, &row)).await
    }

    async fn commit_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "fall_due";
        let row = ScheduledRow::from_scheduled(scheduled).map_err(|fault| fault.into_port_error(WHAT))?;
        let conversation =
            ConversationRow::from_conversation(conversation).map_err(|fault| fault.into_port_error(WHAT))?;
        let message = MessageRow::from_message(message).map_err(|fault| fault.into_port_error(WHAT))?;
        let now = self.current_time();
        self.run_write(WHAT, move |c| {
            write_fallen_due(c, &row, &conversation, &message, now)
        })
        .await
    }
}

impl Embedded {
    /// Lists the scheduled messages that are due at `now`, the longest due first, at most `most`. If no more are due,
    /// also returns the time of the next one. So the serving process does not have to wait for `reconcile`.
    pub async fn list_due_scheduled(
        &self,
        now: Timestamp,
        most: usize,
    ) -> PortResult<(Vec<ScheduledId>, Option<Timestamp>)> {
        let work = move |c: &Connection| {
            let mut statement = c.prepare_cached(
                "SELECT body, due FROM scheduled WHERE due IS NOT NULL ORDER BY due LIMIT ?1",
            )?;
            let mut rows = statement.query([to_sql_limit(most)])?;
            let mut due = Vec::new();
            while let Some(row) = rows.next()? {
                let at: i64 = row.get(1)?;
                if at > now.as_millisecond() {
                    return Ok((due, Some(millis::from_unix_millis(at))));
                }
                let scheduled = keep_readable("scheduled", decode_column::<ScheduledMessage>(row, 0))?;
                due.extend(scheduled.map(|scheduled| scheduled.id));
            }
            Ok((due, None))
        };
        self.run_read("scheduled_until", work).await
    }
}
