use super::message_words::{render_searched_text, replace_indexed_words};
use super::published_events::insert_published_events;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{encode_json, query_one, row_exists, run_sql_statement, to_sql_integer};
use jiff::Timestamp;
use recado_domain::ids::{ConversationId, Ordinal};
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::published_event::{MessageFacts, derive_message_events};
use recado_ports::ports::RECORD_BYTES_MAX;
use rusqlite::{Connection, params};

/// A row of the table of messages. Unlike on AWS, an open message has no separate copy.
#[derive(Debug)]
pub(crate) struct MessageRow {
    conversation: String,
    ordinal: i64,
    rev: i64,
    open: bool,
    due: Option<i64>,
    body: String,
    correlation: String,
    facts: MessageFacts,
    words: String,
}

impl MessageRow {
    pub(crate) fn from_message(message: &Message) -> DbResult<Self> {
        let out = message.out.as_ref();
        // A dead message counts as open until its dead letter exists.
        let open = out.is_some_and(|out| {
            out.state.is_open() || (matches!(out.state, OutboxState::Dead { .. }) && !out.copied)
        });
        let body = encode_json(message)?;
        if body.len() > RECORD_BYTES_MAX {
            return Err(DbError::TooLarge(body.len()));
        }
        Ok(Self {
            conversation: message.conversation.to_string(),
            ordinal: to_sql_integer(message.ordinal.0),
            rev: out.map_or(0, |out| to_sql_integer(out.rev)),
            open,
            due: message
                .overdue_at()
                .or_else(|| message.file_due_at())
                .map(Timestamp::as_millisecond),
            body,
            correlation: message.correlation.to_string(),
            facts: MessageFacts::from(message),
            words: render_searched_text(message),
        })
    }

    /// Checks that no message is stored at this place yet. `None`: there is one.
    pub(super) fn check_new(&self, db: &Connection) -> DbResult<Option<MessageChange<'_>>> {
        let sql = "SELECT 1 FROM messages WHERE conversation = ?1 AND ordinal = ?2";
        let is_known = row_exists(db, sql, params![self.conversation, self.ordinal])?;
        Ok((!is_known).then_some(MessageChange {
            row: self,
            stored: None,
        }))
    }

    /// Reads the stored row. `None`: it is not the one that this row was made from, whose `rev` is one lower, and which is open if
    /// `open` is `true`, else closed.
    pub(super) fn check_stored(&self, db: &Connection, open: bool) -> DbResult<Option<MessageChange<'_>>> {
        let sql =
            "SELECT body FROM messages WHERE conversation = ?1 AND ordinal = ?2 AND rev = ?3 AND open = ?4";
        let values = params![self.conversation, self.ordinal, self.rev - 1, open];
        let stored = query_one(db, sql, values)?;
        Ok(stored.map(|stored| MessageChange {
            row: self,
            stored: Some(stored),
        }))
    }

    /// Returns whether a message is stored at this place that does not go out, as this one does not.
    pub(super) fn is_inbound_row(&self, db: &Connection) -> DbResult<bool> {
        let sql = "SELECT 1 FROM messages WHERE conversation = ?1 AND ordinal = ?2 AND rev = 0";
        Ok(self.rev == 0 && row_exists(db, sql, params![self.conversation, self.ordinal])?)
    }

    /// Returns the message that is stored at this place.
    pub(super) fn select_stored(&self, db: &Connection) -> DbResult<Option<Message>> {
        let sql = "SELECT body FROM messages WHERE conversation = ?1 AND ordinal = ?2";
        query_one(db, sql, params![self.conversation, self.ordinal])
    }

    /// Inserts or replaces the row whatever is stored, and publishes what that tells.
    pub(crate) fn write_row(&self, db: &Connection, now: Timestamp) -> DbResult<()> {
        let stored = self.select_stored(db)?;
        MessageChange { row: self, stored }.write_row(db, now)
    }

    /// Replaces what changes of a stored row. (An insert that turns into an update would write the page of the numbers given once.)
    fn update_stored_row(&self, db: &Connection) -> DbResult<()> {
        let sql = "UPDATE messages SET rev = ?3, open = ?4, due = ?5, body = ?6 WHERE conversation = ?1 AND ordinal = ?2";
        let values = params![
            self.conversation,
            self.ordinal,
            self.rev,
            self.open,
            self.due,
            self.body
        ];
        run_sql_statement(db, sql, values)
    }

    fn insert_new_row(&self, db: &Connection) -> DbResult<()> {
        let sql = "INSERT INTO messages (conversation, ordinal, rev, open, due, body, correlation)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let values = params![
            self.conversation,
            self.ordinal,
            self.rev,
            self.open,
            self.due,
            self.body,
            self.correlation
        ];
        run_sql_statement(db, sql, values)
    }
}

/// A row together with the stored message that it replaces.
pub(super) struct MessageChange<'a> {
    row: &'a MessageRow,
    stored: Option<Message>,
}

impl MessageChange<'_> {
    /// Inserts or replaces the row, and publishes what that tells.
    pub(super) fn write_row(&self, db: &Connection, now: Timestamp) -> DbResult<()> {
        let (row, stored) = (self.row, self.stored.as_ref());
        if stored.is_some_and(|stored| render_searched_text(stored) != row.words) {
            replace_indexed_words(db, (&row.conversation, row.ordinal), &row.words)?;
        }
        let known = stored.map(MessageFacts::from);
        let events = derive_message_events(known.as_ref(), &row.facts, now);
        insert_published_events(db, &events)?;
        if stored.is_some() {
            row.update_stored_row(db)
        } else {
            row.insert_new_row(db)
        }
    }
}

/// Reads one message.
pub(super) fn select_message(
    db: &Connection,
    conversation: &ConversationId,
    ordinal: Ordinal,
) -> DbResult<Option<Message>> {
    let sql = "SELECT body FROM messages WHERE conversation = ?1 AND ordinal = ?2";
    let values = params![conversation.to_string(), to_sql_integer(ordinal.0)];
    query_one(db, sql, values)
}
