//! The row of a conversation: its record, and the columns by which lists find it.

use super::contact_words::{render_contact_words, replace_contact_words};
use super::published_events::insert_published_events;
use crate::db_error::DbResult;
use crate::sql_records::{decode_column, encode_json, execute_sql, run_sql_statement, to_sql_integer};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationLabel, ConversationMode, ConversationStatus};
use recado_domain::ids::TenantId;
use recado_domain::published_event::{ConversationFacts, derive_conversation_events};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

pub(super) fn mode_name(mode: ConversationMode) -> &'static str {
    match mode {
        ConversationMode::Ai => "ai",
        ConversationMode::Manual => "manual",
    }
}

pub(super) fn status_name(status: ConversationStatus) -> &'static str {
    match status {
        ConversationStatus::Active => "active",
        ConversationStatus::Resolved => "resolved",
    }
}

/// The condition that a conversation has a label.
pub(super) const HAS_LABEL: &str = "id IN (SELECT conversation FROM conversation_labels WHERE label = ?)";

/// The status column of a conversation that is in no list.
pub(super) const UNLISTED: &str = "unlisted";

/// The part of the stored row that a write needs.
struct StoredRow {
    rev: i64,
    is_in_same_place: bool,
    facts: ConversationFacts,
    labels: BTreeSet<ConversationLabel>,
    contact_words: String,
}

/// A row of the table of conversations.
#[derive(Debug)]
pub(crate) struct ConversationRow {
    id: String,
    thread: String,
    number: u32,
    instance: String,
    mode: &'static str,
    status: &'static str,
    epoch: i64,
    rev: i64,
    last_at: i64,
    due: Option<i64>,
    tenant: TenantId,
    kept_since: Option<i64>,
    person_since: Option<i64>,
    body: String,
    facts: ConversationFacts,
    labels: BTreeSet<ConversationLabel>,
    contact_words: String,
}

impl ConversationRow {
    pub(crate) fn from_conversation(conversation: &Conversation) -> DbResult<Self> {
        Ok(Self {
            id: conversation.id.to_string(),
            thread: conversation.id.thread_id().as_str().to_owned(),
            number: conversation.id.number_in_thread(),
            instance: conversation.instance.as_str().to_owned(),
            mode: mode_name(conversation.mode),
            status: conversation.listed_status().map_or(UNLISTED, status_name),
            epoch: to_sql_integer(conversation.epoch),
            rev: to_sql_integer(conversation.rev),
            last_at: conversation.last_message_at.as_millisecond(),
            due: conversation.answer_overdue_at().map(Timestamp::as_millisecond),
            tenant: conversation.tenant.clone(),
            kept_since: (!conversation.last.is_zero()).then(|| conversation.kept_since().as_millisecond()),
            person_since: conversation.person_owed_since().map(Timestamp::as_millisecond),
            body: encode_json(conversation)?,
            facts: ConversationFacts::from(conversation),
            labels: conversation.people.annotations.labels.clone(),
            contact_words: render_contact_words(conversation),
        })
    }

    /// Reads the stored row. `None`: it is not the one that this row was made from, whose `rev` is one lower; or there is none, and
    /// this `rev` is not 1.
    pub(super) fn check_stored(&self, db: &Connection) -> DbResult<Option<ConversationRowChange<'_>>> {
        let stored = self.select_stored(db)?;
        let rev = stored.as_ref().map_or(0, |stored| stored.rev);
        let follows = self.rev >= 1 && rev == self.rev - 1;
        Ok(follows.then_some(ConversationRowChange { row: self, stored }))
    }

    /// Inserts or replaces the row whatever is stored, and publishes what that tells.
    pub(crate) fn write_row(&self, db: &Connection, now: Timestamp) -> DbResult<()> {
        let stored = self.select_stored(db)?;
        ConversationRowChange { row: self, stored }.write_row(db, now)
    }

    /// Writes the columns by which the conversation lies at its place in lists.
    fn update_place_columns(&self, db: &Connection) -> DbResult<()> {
        let sql =
            "UPDATE conversations SET thread = ?2, number = ?3, instance = ?4, tenant = ?5, last_at = ?6,
                kept_since = ?7 WHERE id = ?1";
        let values = params![
            self.id,
            self.thread,
            self.number,
            self.instance,
            self.tenant.as_str(),
            self.last_at,
            self.kept_since
        ];
        run_sql_statement(db, sql, values)
    }

    /// Writes the rows by which lists find the conversation by its labels.
    fn replace_label_rows(&self, db: &Connection) -> DbResult<()> {
        let sql = "DELETE FROM conversation_labels WHERE conversation = ?1";
        execute_sql(db, sql, [&self.id])?;
        for label in &self.labels {
            let sql = "INSERT INTO conversation_labels (label, conversation) VALUES (?1, ?2)";
            execute_sql(db, sql, params![label.as_str(), self.id])?;
        }
        Ok(())
    }

    /// Reads what the stored row tells; `None` if there is no row yet.
    fn select_stored(&self, db: &Connection) -> DbResult<Option<StoredRow>> {
        let sql = "SELECT last_at, kept_since, tenant, instance, thread, number, body, rev FROM conversations
            WHERE id = ?1";
        let mut statement = db.prepare_cached(sql)?;
        let mut rows = statement.query([&self.id])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let conversation: Conversation = decode_column(row, 6)?;
        Ok(Some(StoredRow {
            rev: row.get(7)?,
            is_in_same_place: self.has_place_of(row)?,
            facts: ConversationFacts::from(&conversation),
            contact_words: render_contact_words(&conversation),
            labels: conversation.people.annotations.labels,
        }))
    }

    /// Returns whether the stored row is at the same place of each list.
    fn has_place_of(&self, row: &Row<'_>) -> Result<bool, rusqlite::Error> {
        Ok(row.get::<_, i64>(0)? == self.last_at
            && row.get::<_, Option<i64>>(1)? == self.kept_since
            && row.get_ref(2)?.as_str()? == self.tenant.as_str()
            && row.get_ref(3)?.as_str()? == self.instance
            && row.get_ref(4)?.as_str()? == self.thread
            && row.get::<_, u32>(5)? == self.number)
    }

    fn update_state_columns(&self, db: &Connection) -> DbResult<()> {
        let sql = "UPDATE conversations SET mode = ?2, status = ?3, epoch = ?4, rev = ?5, due = ?6, person_since = ?7, body = ?8
            WHERE id = ?1";
        let values = params![
            self.id,
            self.mode,
            self.status,
            self.epoch,
            self.rev,
            self.due,
            self.person_since,
            self.body
        ];
        run_sql_statement(db, sql, values)
    }

    fn insert_new_row(&self, db: &Connection) -> DbResult<()> {
        let sql = "INSERT INTO conversations
            (id, thread, number, instance, mode, status, epoch, rev, last_at, due, tenant, kept_since, person_since,
                body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        let values = params![
            self.id,
            self.thread,
            self.number,
            self.instance,
            self.mode,
            self.status,
            self.epoch,
            self.rev,
            self.last_at,
            self.due,
            self.tenant.as_str(),
            self.kept_since,
            self.person_since,
            self.body
        ];
        run_sql_statement(db, sql, values)
    }
}

/// A row together with the stored one that it replaces.
pub(super) struct ConversationRowChange<'a> {
    row: &'a ConversationRow,
    stored: Option<StoredRow>,
}

impl ConversationRowChange<'_> {
    /// Inserts or replaces the row, and publishes what that tells.
    ///
    /// An `UPDATE` writes each index of which it names a column, whatever the value. So the columns of the lists are named only if
    /// they change: the most changes of a conversation are those of its turn.
    pub(super) fn write_row(&self, db: &Connection, now: Timestamp) -> DbResult<()> {
        let (row, stored) = (self.row, self.stored.as_ref());
        let known = stored.map(|stored| &stored.facts);
        insert_published_events(db, &derive_conversation_events(known, &row.facts, now))?;
        if stored.map_or(!row.labels.is_empty(), |stored| stored.labels != row.labels) {
            row.replace_label_rows(db)?;
        }
        if stored.is_some_and(|stored| stored.contact_words != row.contact_words) {
            replace_contact_words(db, (&row.id, &row.tenant), &row.contact_words)?;
        }
        match stored {
            None => row.insert_new_row(db),
            Some(stored) => {
                if !stored.is_in_same_place {
                    row.update_place_columns(db)?;
                }
                row.update_state_columns(db)
            }
        }
    }
}
